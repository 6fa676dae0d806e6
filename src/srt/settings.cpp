#include "srt/settings.h"

#include <fmt/format.h>

#include "policy/units.h"

namespace caisson::srt {

namespace {

// The tree has been held against the table: every shape is right here.
bool flag(const Node* object, std::string_view key) {
  const Node* value = object ? object->find(key) : nullptr;
  return value && value->text == "true";
}

std::string text(const Node* object, std::string_view key, std::string otherwise = {}) {
  const Node* value = object ? object->find(key) : nullptr;
  return value ? value->text : otherwise;
}

uint32_t number(const Node* object, std::string_view key, uint32_t otherwise) {
  const Node* value = object ? object->find(key) : nullptr;
  if (!value) return otherwise;
  Result<uint32_t> parsed = parse_count(value->text, 0, UINT32_MAX);
  return parsed ? *parsed : otherwise;
}

std::vector<std::string> texts(const Node* object, std::string_view key) {
  std::vector<std::string> out;
  if (const Node* list = object ? object->find(key) : nullptr)
    for (const Node& item : list->items) out.push_back(item.text);
  return out;
}

std::vector<PathEntry> paths(const Node* object, std::string_view key) {
  std::vector<PathEntry> out;
  const Node* list = object ? object->find(key) : nullptr;
  for (size_t i = 0; list && i < list->items.size(); ++i) {
    const Node& item = list->items[i];
    bool literal = item.kind == Node::Kind::kObject;
    out.push_back({literal ? item.find("path")->text : item.text, literal,
                   fmt::format("filesystem.{}[{}]", key, i)});
  }
  return out;
}

Filesystem read_filesystem(const Node* from) {
  Filesystem out;
  out.disabled = flag(from, "disabled");
  out.allow_git_config = flag(from, "allowGitConfig");
  if (text(from, "readMode") == "allowlist") out.read_mode = ReadMode::kAllowList;
  out.deny_read = paths(from, "denyRead");
  out.allow_read = paths(from, "allowRead");
  out.allow_write = paths(from, "allowWrite");
  out.deny_write = paths(from, "denyWrite");
  return out;
}

TlsEnding read_tls(const Node* from) {
  TlsEnding out;
  out.certificate_path = text(from, "caCertPath");
  out.key_path = text(from, "caKeyPath");
  out.exclude = texts(from, "excludeDomains");
  out.extra_ca_paths = texts(from, "extraCaCertPaths");
  out.max_tunnels = number(from, "maxTunnels", out.max_tunnels);
  out.handshake_ms = number(from, "handshakeTimeoutMs", out.handshake_ms);
  return out;
}

NetworkDetails read_details(const Node* from) {
  NetworkDetails out;
  out.http_proxy_port = static_cast<uint16_t>(number(from, "httpProxyPort", 0));
  out.socks_proxy_port = static_cast<uint16_t>(number(from, "socksProxyPort", 0));
  if (const Node* parent = from->find("parentProxy"))
    out.parent_proxy =
        ParentProxy{text(parent, "http"), text(parent, "https"), text(parent, "noProxy")};
  if (const Node* mitm = from->find("mitmProxy"))
    out.mitm = MitmProxy{text(mitm, "socketPath"), texts(mitm, "domains")};
  if (const Node* tls = from->find("tlsTerminate")) out.end_tls = read_tls(tls);
  out.strip_response_headers = texts(from, "stripResponseHeaders");
  out.refuse_opaque_tunnels = flag(from, "refuseOpaqueTunnels");
  out.require_host_match = flag(from, "requireHostMatch");
  return out;
}

Network read_network(const Node* from) {
  Network out;
  out.disabled = flag(from, "disabled");
  out.all_unix_sockets = flag(from, "allowAllUnixSockets");
  out.allowed = texts(from, "allowedDomains");
  out.denied = texts(from, "deniedDomains");
  out.denied_addresses = texts(from, "deniedResolvedAddresses");
  out.unix_sockets = texts(from, "allowUnixSockets");
  out.publish = texts(from, "publish");
  if (const Node* reasons = from->find("deniedDomainReasons"))
    for (const auto& [entry, reason] : reasons->members)
      out.reasons.emplace_back(entry, reason.text);
  out.details = read_details(from);
  return out;
}

NoMatch read_no_match(const Node& entry) {
  std::string word = text(&entry, "onExtractNoMatch", "warn");
  if (word == "deny") return NoMatch::kDeny;
  return word == "error" ? NoMatch::kError : NoMatch::kWarn;
}

Credential read_credential(const Node& entry, SecretSource source, std::string origin) {
  Credential out;
  out.mask = text(&entry, "mode") == "mask";
  out.origin = std::move(origin);
  out.spec.source = source;
  out.spec.from = text(&entry, source == SecretSource::kFile ? "path" : "name");
  out.spec.extract = text(&entry, "extract");
  out.spec.no_match = read_no_match(entry);
  out.spec.jwt = text(&entry, "decode") == "jwt";
  out.spec.claims = texts(&entry, "maskClaims");
  out.spec.duplicates = flag(&entry, "maskDuplicates");
  out.spec.hosts = texts(&entry, "injectHosts");
  return out;
}

void read_credentials(const Node& from, SrtSettings& out) {
  constexpr std::pair<const char*, SecretSource> kLists[] = {
      {"files", SecretSource::kFile}, {"envVars", SecretSource::kEnvironment}};
  for (const auto& [key, source] : kLists)
    if (const Node* list = from.find(key))
      for (size_t i = 0; i < list->items.size(); ++i)
        out.credentials.push_back(
            read_credential(list->items[i], source, fmt::format("credentials.{}[{}]", key, i)));
  NetworkDetails& details = out.network.details;
  details.secrets_in_clear = flag(&from, "allowPlaintextInject");
  if (const Node* pairs = from.find("awsPairs"))
    for (const Node& pair : pairs->items)
      details.aws_pairs.push_back({text(&pair, "accessKeyIdVar"), text(&pair, "secretAccessKeyVar"),
                                   text(&pair, "sessionTokenVar")});
  const Node* signing = from.find("sigv4");
  auto choice = [&](const char* key) {
    return text(signing, key) == "passthrough" ? Unsignable::kPassOn : Unsignable::kDeny;
  };
  details.aws_signing = {choice("streaming"), choice("presigned"), choice("sigv4a")};
}

SrtSettings read_tree(const Node& root) {
  SrtSettings out;
  out.filesystem = read_filesystem(root.find("filesystem"));
  out.network = read_network(root.find("network"));
  if (const Node* credentials = root.find("credentials")) read_credentials(*credentials, out);
  if (const Node* ignored = root.find("ignoreViolations"))
    for (const auto& [command, lines] : ignored->members) {
      out.ignored.push_back({command, {}});
      for (const Node& line : lines.items) out.ignored.back().lines.push_back(line.text);
    }
  if (const Node* git = root.find("git")) out.safe_directories = texts(git, "safeDirectories");
  if (const Node* limits = root.find("limits"))
    for (const auto& [name, value] : limits->members) out.limits.emplace_back(name, value.text);
  out.allow_nested = flag(&root, "allowNestedUserNamespaces");
  return out;
}

}  // namespace

Result<Reading> read_settings(std::string_view text, const std::string& file, Unknown unknown) {
  Node root = TRY(parse_json(text, file));
  Checked checked = check(root, unknown);
  Reading reading;
  reading.problems = std::move(checked.problems);
  reading.remarks = std::move(checked.remarks);
  if (reading.problems.empty()) reading.settings = read_tree(root);
  return reading;
}

Result<SrtSettings> usable(Reading reading, const std::string& file) {
  if (reading.problems.empty()) return std::move(reading.settings);
  const Problem& first = reading.problems[0];
  std::string what = problem_text(first, file);
  if (size_t more = reading.problems.size() - 1)
    what += fmt::format(" (and {} more: `srt validate` lists them)", more);
  return Error::plain(std::move(what),
                      first.hint.empty() ? "docs/srt.md has every key and its form" : first.hint);
}

}  // namespace caisson::srt
