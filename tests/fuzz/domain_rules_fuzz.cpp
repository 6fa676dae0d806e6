// Hosts, patterns, request rules and paths, one per line, and the verdicts on them: the tables must
// say what a walk over all rules says, and what is taken must have one spelling.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "require.h"
#include "rules/rules.h"

namespace caisson {
namespace {

using fuzz::is_one_printable_line;
using fuzz::require_good;

constexpr uint16_t kPorts[] = {22, 80, 443, 8443};
constexpr size_t kMaxLines = 64;

void check_host(std::string_view text) {
  Result<Host> host = parse_host(text);
  if (!host) return require_good(host.error());
  REQUIRE(is_canonical(*host));
  std::string printed = host->text();
  REQUIRE(printed.size() <= kMaxHostName);
  REQUIRE(printed.find_first_of(std::string_view("\0 \t\r\n@/\\%*?#,;ABCXYZ", 18)) == printed.npos);
  Result<Host> again = parse_host(printed);
  REQUIRE(again.ok() && *again == *host);
  Result<HostPort> place = parse_host_port(printed + ":443", {});
  REQUIRE(place.ok() && place->host == *host && place->port == 443);
  if (!host->is_address()) REQUIRE(!parse_ip(text) && !host->name.ends_with('.'));
}

void check_cidr(std::string_view text) {
  Result<Cidr> range = parse_cidr(text);
  if (!range) return require_good(range.error());
  REQUIRE(range->contains(range->base) && masked(range->base, range->prefix) == range->base);
  Result<Cidr> again = parse_cidr(range->text());
  REQUIRE(again.ok() && *again == *range);
}

void check_pattern(std::string_view text) {
  Result<HostPattern> deny = parse_host_pattern(text, PatternUse::kDeny);
  Result<HostPattern> allow = parse_host_pattern(text, PatternUse::kAllow);
  if (!allow) require_good(allow.error());
  if (!deny) {
    require_good(deny.error());
    REQUIRE(!allow.ok());
    return;
  }
  Result<HostPattern> again = parse_host_pattern(deny->text(), PatternUse::kDeny);
  REQUIRE(again.ok() && *again == *deny);
  if (!allow) return;
  REQUIRE(*allow == *deny && allow->kind != HostPattern::Kind::kEverything);
  if (allow->kind == HostPattern::Kind::kBelow) {
    REQUIRE(allow->host.name.find('.') != std::string::npos);
    REQUIRE(!allow->matches_host(allow->host));
    REQUIRE(!allow->matches_host(*parse_host("127.0.0.1")));
  }
}

// Row by row over the glob: which prefixes of the text it can have eaten.
bool reference_glob(std::string_view glob, std::string_view text) {
  std::vector<bool> reach(text.size() + 1);
  reach[0] = true;
  for (char c : glob) {
    std::vector<bool> next(text.size() + 1);
    for (size_t i = 0; i <= text.size(); ++i) {
      if (c == '*')
        next[i] = reach[i] || (i > 0 && next[i - 1]);
      else
        next[i] = i > 0 && reach[i - 1] && text[i - 1] == c;
    }
    reach = std::move(next);
  }
  return reach[text.size()];
}

void check_path(std::string_view text) {
  Result<RequestPath> path = canonical_path(text);
  if (!path) return require_good(path.error());
  REQUIRE(path->path.starts_with('/') && is_one_printable_line(path->path));
  std::string closed = path->path + "/";
  for (const char* part : {"/./", "/../", "\\", "%2F", "%5C", "%00", "%2E", "?", "#"})
    REQUIRE(closed.find(part) == std::string::npos);
  REQUIRE(path->path.find("//") == std::string::npos);
  std::string printed = path->has_query ? path->path + "?" + path->query : path->path;
  Result<RequestPath> again = canonical_path(printed);
  REQUIRE(again.ok() && again->path == path->path && again->query == path->query);
}

// All rules of an input, as lists.
struct Lists {
  RuleTexts texts;
  std::vector<HostPattern> allow, deny;
  std::vector<RequestRule> requests;
  std::vector<Cidr> ranges;
  std::vector<Host> hosts;
  std::vector<std::string> targets;
};

// A line says what it is by its first letter; rules that don't parse are left out.
void take_line(std::string_view line, Lists& lists) {
  if (line.empty()) return;
  char kind = line[0];
  std::string text(line.substr(1));
  if (Result<HostPattern> p = parse_host_pattern(text, PatternUse::kAllow); kind == 'A' && p)
    lists.allow.push_back(*p), lists.texts.allow.push_back(text);
  if (Result<HostPattern> p = parse_host_pattern(text, PatternUse::kDeny); kind == 'D' && p)
    lists.deny.push_back(*p), lists.texts.deny.push_back(text);
  if (Result<RequestRule> r = parse_request_rule(text); kind == 'R' && r)
    lists.requests.push_back(*r), lists.texts.requests.push_back(text);
  if (Result<Cidr> r = parse_cidr(text); kind == 'X' && r)
    lists.ranges.push_back(*r), lists.texts.denied_addresses.push_back(text);
  if (Result<Host> h = parse_host(text); h) lists.hosts.push_back(*h);
  if (text.starts_with('/')) lists.targets.push_back(text);
}

bool denied_in(const Lists& lists, const Host& host, uint16_t port) {
  auto hits = [&](const Host& one) {
    for (const HostPattern& pattern : lists.deny)
      if (pattern.matches(one, port)) return true;
    for (const Cidr& range : lists.ranges)
      if (one.is_address() && range.contains(*one.address)) return true;
    return false;
  };
  auto inner = host.is_address() ? embedded_v4(*host.address) : std::nullopt;
  return hits(host) || (inner && hits(Host::of(*inner)));
}

bool allowed_in(const Lists& lists, const Host& host, uint16_t port) {
  auto hits = [&](const HostPattern& pattern) { return pattern.matches(host, port); };
  return std::any_of(lists.allow.begin(), lists.allow.end(), hits) ||
         std::any_of(lists.requests.begin(), lists.requests.end(),
                     [&](const RequestRule& rule) { return hits(rule.host); });
}

void require_good(const Verdict& verdict) {
  REQUIRE(!verdict.rule.empty() && !verdict.reason.empty());
  for (const std::string& text : {verdict.rule, verdict.reason, verdict.how_to_allow})
    REQUIRE(is_one_printable_line(text) && text.size() < 16'384);
  REQUIRE(verdict.allowed ? verdict.how_to_allow.empty() : true);
}

void check_request(const Lists& lists, const Rules& rules, const Host& host, uint16_t port,
                   const std::string& target) {
  Verdict verdict = rules.request(Scheme::kHttps, host, port, "GET", target);
  require_good(verdict);
  bool connects = rules.connect(host, port).allowed;
  if (!connects || !rules.has_request_rules(host, port)) {
    REQUIRE(verdict.allowed == connects);
    return;
  }
  Result<RequestPath> path = canonical_path(target);
  bool expected =
      path && std::any_of(lists.requests.begin(), lists.requests.end(), [&](auto& rule) {
        return rule.scheme == Scheme::kHttps && rule.host.matches(host, port) &&
               rule.matches_method("GET") && reference_glob(rule.glob.path, path->path) &&
               (!rule.glob.has_query ||
                (path->has_query && reference_glob(rule.glob.query, path->query)));
      });
  REQUIRE(verdict.allowed == expected);
}

void check_resolved(const Lists& lists, const Rules& rules, const Host& host, uint16_t port,
                    const Host& place) {
  Verdict verdict = rules.resolved(host, port, *place.address, {});
  require_good(verdict);
  if (!verdict.allowed || host.is_address()) return;
  REQUIRE(!denied_in(lists, place, port));
  AddressClass kind = class_of(*place.address);
  bool named = std::any_of(lists.allow.begin(), lists.allow.end(),
                           [&](auto& pattern) { return pattern.matches(place, port); });
  REQUIRE(kind == AddressClass::kGlobal || kind == AddressClass::kPrivate || named ||
          (host.name == "localhost" && kind == AddressClass::kLoopback));
}

void check_verdicts(const Lists& lists, const Rules& rules, const Host& host) {
  bool any = false;
  for (uint16_t port : kPorts) {
    Verdict verdict = rules.connect(host, port);
    require_good(verdict);
    bool denied = denied_in(lists, host, port);
    REQUIRE(verdict.allowed == (!denied && allowed_in(lists, host, port)));
    any = any || verdict.allowed;
    for (const std::string& target : lists.targets) check_request(lists, rules, host, port, target);
    for (const Host& place : lists.hosts)
      if (place.is_address()) check_resolved(lists, rules, host, port, place);
  }
  Verdict verdict = rules.resolve(host);
  require_good(verdict);
  REQUIRE(verdict.allowed || !any);
}

void check_rules(std::string_view text) {
  Lists lists;
  std::vector<std::string_view> lines = split(text, '\n');
  lines.resize(std::min(lines.size(), kMaxLines));
  for (std::string_view line : lines) take_line(line, lists);
  Result<Rules> rules = Rules::make(lists.texts);
  if (!rules) return require_good(rules.error());
  for (const Host& host : lists.hosts) check_verdicts(lists, *rules, host);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  if (size > 8192) return 0;
  std::string_view text = fuzz::as_text(data, size);
  check_host(text);
  check_cidr(text);
  check_pattern(text);
  check_path(text);
  if (Result<RequestRule> rule = parse_request_rule(text); !rule) require_good(rule.error());
  check_rules(text);
  return 0;
}
