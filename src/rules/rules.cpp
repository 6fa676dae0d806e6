#include "rules/rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"

namespace caisson {
namespace {

Verdict allowed_by(const std::string& rule) {
  return {true, rule, fmt::format("allowed by {}", quoted(rule)), {}};
}

std::string allow_flag(const Host& host, uint16_t port) {
  return fmt::format("--allow-domain {}", shell_quote(HostPort{host, port}.text()));
}

Verdict refused(std::string reason, std::string how_to_allow) {
  return {false, std::string(kDefaultRule), std::move(reason), std::move(how_to_allow)};
}

// 'GET https://example.com/a': the query stays away, it may hold what a log shouldn't.
std::string request_flag(Scheme scheme, const Host& host, uint16_t port, std::string_view method,
                         const RequestPath& path) {
  std::string site = port == default_port(scheme) ? host.text() : HostPort{host, port}.text();
  std::string rule = fmt::format("{} {}://{}{}", method, scheme_name(scheme), site, path.path);
  // A star that a cell sent would be a wildcard in the rule of whoever takes the advice.
  if (rule.size() > kMaxRuleText || path.path.find('*') != path.path.npos) return {};
  return fmt::format("--allow-request {}", shell_quote(rule));
}

}  // namespace

// Who wrote the rule may have said why: then that is what is told.
Verdict Rules::denied_by(const std::string& rule, const std::string& what) const {
  auto given = reasons_.find(rule);
  return {false, rule,
          given == reasons_.end() ? fmt::format("{} is denied by {}", what, quoted(rule))
                                  : given->second,
          fmt::format("take {} out of what is denied", quoted(rule)), given != reasons_.end()};
}

const std::string* Rules::denial_of(const Host& host, uint16_t port) const {
  const std::string* rule = nullptr;
  deny_.find(host, [&](const PortTable& table) { return (rule = table.find(port)) != nullptr; });
  if (!rule && host.is_address()) rule = ranges_.find(*host.address);
  if (rule || !host.is_address()) return rule;
  // A translator would take the packets to the address inside, so what denies that one counts too.
  std::optional<IpAddress> inner = embedded_v4(*host.address);
  return inner ? denial_of(Host::of(*inner), port) : nullptr;  // once: the inner one is IPv4
}

const std::string* Rules::allowance_of(const Host& host, uint16_t port) const {
  const std::string* rule = nullptr;
  allow_.find(host, [&](const PortTable& table) { return (rule = table.find(port)) != nullptr; });
  if (rule) return rule;
  requests_.find(
      host, [&](const RequestTable& table) { return (rule = table.any_of_port(port)) != nullptr; });
  return rule;
}

Verdict Rules::nothing_allows(const Host& host, uint16_t port) const {
  std::string what = HostPort{host, port}.text();
  std::string reason = fmt::format("no rule allows {}", what);
  auto speaks = [](const auto& table) { return !table.empty(); };
  if (allow_.find(host, speaks) || requests_.find(host, speaks))
    reason = fmt::format("{} is allowed, but not on port {}", host.text(), port);
  else if (!host.is_address() && allow_.has_below(host.name))
    reason += fmt::format("; *.{} does not include {} itself", host.name, host.name);
  return refused(std::move(reason), allow_flag(host, port));
}

bool Rules::empty_means_all() const {
  return !control_enabled("rules-empty-list") && allow_.empty() && requests_.empty();
}

Verdict Rules::connect(const Host& host, uint16_t port) const {
  // Another spelling would pass by a denial that a wildcard's allowance is narrowed with.
  if (!is_canonical(host)) return refused("the host name is not in its canonical spelling", {});
  if (port == 0) return refused("port 0 can't be connected to", {});
  if (const std::string* rule = denial_of(host, port))
    return denied_by(*rule, HostPort{host, port}.text());
  if (const std::string* rule = allowance_of(host, port)) return allowed_by(*rule);
  if (empty_means_all()) return allowed_by("an empty list");
  return nothing_allows(host, port);
}

Verdict Rules::resolve(const Host& name) const {
  if (!is_canonical(name)) return refused("the host name is not in its canonical spelling", {});
  // Port 0 stands for every port here: only denials without a port speak of it.
  if (const std::string* rule = denial_of(name, HostPattern::kAnyPort))
    return denied_by(*rule, name.text());
  const std::string *allowed = nullptr, *denied = nullptr;
  auto visit = [&](const auto& table) {
    for (const auto& [port, rule] : table.by_port()) {
      const std::string* denial = denial_of(name, port);
      if (!denial) allowed = &rule;
      if (allowed) return true;
      denied = denial;
    }
    return false;
  };
  if (allow_.find(name, visit) || requests_.find(name, visit)) return allowed_by(*allowed);
  if (denied) return denied_by(*denied, name.text());
  if (empty_means_all()) return allowed_by("an empty list");
  // The loopback's is the one name that no rule can have without a port.
  std::string_view port = is_loopback(name) ? ":PORT" : "";
  return refused(fmt::format("no rule allows {}", name.text()),
                 fmt::format("--allow-domain {}{}", shell_quote(name.text()), port));
}

bool Rules::has_request_rules(const Host& host, uint16_t port) const {
  bool any = false, of_port = false, opened = false;
  requests_.find(host, [&](const RequestTable& table) {
    any |= !table.empty();
    return of_port |= table.any_of_port(port) != nullptr;
  });
  if (of_port || !any) return of_port;
  // "github.com" beside "GET https://github.com/*" mustn't open http://github.com:80 to every
  // request.
  allow_.find(host,
              [&](const PortTable& table) { return opened |= table.find_exact(port) != nullptr; });
  return !opened;
}

Verdict Rules::request(Scheme scheme, const Host& host, uint16_t port, std::string_view method,
                       std::string_view path) const {
  Verdict verdict = connect(host, port);
  if (!verdict.allowed || !has_request_rules(host, port)) return verdict;
  if (!is_method(method)) return refused(fmt::format("{} is no method", quoted(method)), {});
  Result<RequestPath> target = canonical_path(path);
  if (!target) return refused(target.error().what, target.error().hint);

  const std::string* rule = nullptr;
  requests_.find(host, [&](const RequestTable& table) {
    return (rule = table.match(scheme, port, method, *target)) != nullptr;
  });
  if (rule) return allowed_by(*rule);
  return refused(
      fmt::format("no request rule of {} allows {} {}", host.text(), method, quoted(target->path)),
      request_flag(scheme, host, port, method, *target));
}

// Whether an allow rule names the place itself. Request rules don't count: by another name their
// paths would not be looked at.
bool Rules::may_resolve_to(const Host& name, const Host& place, uint16_t port) const {
  if (name.name == "localhost" && (place.address == kLoopback4 || place.address == kLoopback6))
    return true;
  return allow_.find(place, [&](const PortTable& table) { return table.find(port) != nullptr; });
}

Verdict Rules::resolved(const Host& name, uint16_t port, const IpAddress& address,
                        std::span<const IpAddress> own_addresses) const {
  Verdict verdict = connect(name, port);
  if (!verdict.allowed) return verdict;
  Host place = Host::of(address);
  std::string what = fmt::format("{}, which {} resolved to,", place.text(), name.text());
  if (name.is_address() && name != place) return refused(what + " is another address", {});
  if (name.is_address()) return verdict;
  if (const std::string* rule = denial_of(place, port)) return denied_by(*rule, what);

  AddressClass kind = class_of(*place.address);
  auto is_own = [&](const IpAddress& own) {
    IpAddress one = canonical(own);
    return one == *place.address || one == embedded_v4(*place.address);
  };
  bool own = std::any_of(own_addresses.begin(), own_addresses.end(), is_own);
  if (!own && (kind == AddressClass::kGlobal || kind == AddressClass::kPrivate)) return verdict;
  if (may_resolve_to(name, place, port)) return verdict;
  return refused(fmt::format("{} is {}", what, own ? "this host's own address" : class_name(kind)),
                 allow_flag(place, port));
}

}  // namespace caisson
