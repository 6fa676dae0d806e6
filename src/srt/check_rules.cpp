#include "srt/check_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/files.h"
#include "policy/units.h"
#include "rules/host_pattern.h"

namespace caisson::srt {

namespace {

const Node* at(const Node& root, std::string_view section, std::string_view key) {
  const Node* inside = root.find(section);
  return inside ? inside->find(key) : nullptr;
}

bool is_true(const Node* node) { return node && node->text == "true"; }

// A name of POSIX.
bool is_variable(const std::string& name) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         name.find_first_not_of(kLetters) == std::string::npos;
}

class CrossChecks {
 public:
  CrossChecks(const Node& root, std::vector<Problem>& problems)
      : root_(root), problems_(problems) {}

  void run() {
    files();
    network();
    const Node* credentials = root_.find("credentials");
    if (!credentials) return;
    for (const char* list : {"files", "envVars"})
      if (const Node* entries = credentials->find(list))
        for (size_t i = 0; i < entries->items.size(); ++i)
          credential(entries->items[i], fmt::format("credentials.{}[{}]", list, i));
  }

 private:
  void wrong(const Node& at, std::string path, std::string what, std::string hint = {}) {
    problems_.push_back({at.line, std::move(path), std::move(what), std::move(hint)});
  }

  // It would match nothing at all: a denial that denies nothing must not stand.
  void files() {
    for (const char* key : {"denyRead", "denyWrite"}) {
      const Node* list = at(root_, "filesystem", key);
      if (!list) continue;
      for (size_t i = 0; i < list->items.size(); ++i) {
        const Node& entry = list->items[i];
        if (entry.kind == Node::Kind::kString && has_wildcard(entry.text) &&
            entry.text.ends_with('/'))
          wrong(entry, fmt::format("filesystem.{}[{}]", key, i),
                fmt::format("{} is a pattern that ends in /", in_quotes(entry.text)),
                "leave the / at the end out");
      }
    }
  }

  void network() {
    const Node* tls = at(root_, "network", "tlsTerminate");
    if (tls && !tls->find("caCertPath") != !tls->find("caKeyPath"))
      wrong(*tls, "network.tlsTerminate", "caCertPath and caKeyPath belong together",
            "give both, or neither");
    const Node* mitm = at(root_, "network", "mitmProxy");
    if (mitm && tls) wrong(*mitm, "network.mitmProxy", "can't stand beside tlsTerminate");
    if (mitm && mitm->find("domains")->items.empty())
      wrong(*mitm, "network.mitmProxy.domains", "must name at least one host");
    const Node *reasons = at(root_, "network", "deniedDomainReasons"),
               *denied = at(root_, "network", "deniedDomains");
    if (!reasons) return;
    for (const auto& [name, reason] : reasons->members)
      if (std::ranges::none_of(denied->items,
                               [&name = name](const Node& one) { return one.text == name; }))
        wrong(reason, "network.deniedDomainReasons",
              fmt::format("{} is not an entry of deniedDomains", in_quotes(name)),
              "the same text as there");
  }

  void credential(const Node& entry, const std::string& path) {
    bool masks = entry.find("mode")->text == "mask";
    if (const Node* name = entry.find("name"); name && !is_variable(name->text))
      wrong(*name, path + ".name",
            fmt::format("{} is no name of a variable", in_quotes(name->text)));
    const Node *claims = entry.find("maskClaims"), *hosts = entry.find("injectHosts");
    if (claims && (!entry.find("decode") || claims->items.empty()))
      wrong(*claims, path + ".maskClaims", "needs \"decode\": \"jwt\" and at least one claim");
    if (hosts && hosts->items.empty())
      wrong(*hosts, path + ".injectHosts", "[] is nobody: then it is of no use",
            "leave it out for every allowed host, or use mode deny");
    for (size_t i = 0; hosts && i < hosts->items.size(); ++i)
      covered(hosts->items[i], fmt::format("{}.injectHosts[{}]", path, i));
    if (masks && !at(root_, "network", "tlsTerminate") &&
        !is_true(at(root_, "credentials", "allowPlaintextInject")))
      wrong(
          entry, path, "mode mask needs network.tlsTerminate",
          "the value can be put in only where the gateway reads the request; \"tlsTerminate\": {}");
  }

  // Who may have a secret must be a host that may be reached.
  void covered(const Node& host, const std::string& path) {
    Result<HostPattern> wanted = parse_host_pattern(host.text, PatternUse::kAllow);
    const Node* allowed = at(root_, "network", "allowedDomains");
    bool found = std::ranges::any_of(allowed->items, [&](const Node& one) {
      Result<HostPattern> rule = parse_host_pattern(one.text, PatternUse::kAllow);
      if (!rule || !wanted) return false;
      if (rule->kind == wanted->kind && rule->host == wanted->host) return true;
      if (rule->kind != HostPattern::Kind::kBelow) return false;
      return wanted->host.name.ends_with("." + rule->host.name);
    });
    if (!found)
      wrong(host, path, fmt::format("{} is not covered by allowedDomains", in_quotes(host.text)),
            "allow it there as well");
  }

  const Node& root_;
  std::vector<Problem>& problems_;
};

}  // namespace

void check_rules(const Node& root, std::vector<Problem>& problems) {
  CrossChecks(root, problems).run();
}

}  // namespace caisson::srt
