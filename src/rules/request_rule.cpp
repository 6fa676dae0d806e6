#include "rules/request_rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson {
namespace {

constexpr std::string_view kGrammar =
    "write methods, a space and a URL, such as 'GET,HEAD https://example.com/path/*'";

Error bad_rule(std::string_view text, std::string_view why,
               std::string hint = std::string(kGrammar)) {
  return Error::plain(fmt::format("{} is no request rule: {}", quoted(text), why), std::move(hint));
}

Result<std::vector<std::string>> parse_methods(std::string_view text, std::string_view rule) {
  std::vector<std::string> methods;
  if (text == "*") return methods;
  for (std::string_view method : split(text, ',')) {
    if (!is_method(method))
      return bad_rule(rule, fmt::format("{} is no method", quoted(method)),
                      "methods are upper-case words with commas and no spaces, such as GET,HEAD; "
                      "* is every method");
    if (method == "CONNECT")
      return bad_rule(rule, "CONNECT has no path", "allow the host and its port instead");
    methods.emplace_back(method);
  }
  return methods;
}

// "/repos/*" in the spelling that requests are brought to; a glob that no request could match is an
// error, since it was meant to.
Result<RequestPath> parse_path_glob(std::string_view text, std::string_view rule) {
  Result<RequestPath> glob = canonical_path(text);
  if (glob) return glob;
  return bad_rule(rule, glob.error().what, "write the path in its plain spelling, such as /path/*");
}

}  // namespace

std::string_view scheme_name(Scheme scheme) { return scheme == Scheme::kHttp ? "http" : "https"; }

uint16_t default_port(Scheme scheme) { return scheme == Scheme::kHttp ? 80 : 443; }

bool is_method(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<RequestRule> parse_request_rule(std::string_view text) {
  std::string_view whole = trim(text);
  size_t space = whole.find(' ');
  if (space == whole.npos) return bad_rule(text, "it needs methods and a URL");
  RequestRule rule;
  rule.methods = TRY(parse_methods(whole.substr(0, space), text));
  std::string_view url = trim(whole.substr(space));
  if (url.starts_with("http://")) {
    rule.scheme = Scheme::kHttp;
  } else if (!url.starts_with("https://")) {
    return bad_rule(text, "its URL begins neither with https:// nor with http://");
  }
  url.remove_prefix(scheme_name(rule.scheme).size() + 3);
  size_t slash = url.find_first_of("/?#");
  if (slash == url.npos || url[slash] != '/')
    return bad_rule(text, "it has no path", "end it with /* for every path of the host");
  Result<HostPattern> host = parse_host_pattern(url.substr(0, slash), PatternUse::kAllow);
  if (!host) return bad_rule(text, host.error().what, host.error().hint);
  rule.host = std::move(host).value();
  if (rule.host.port == HostPattern::kAnyPort) rule.host.port = default_port(rule.scheme);
  rule.glob = TRY(parse_path_glob(url.substr(slash), text));
  return rule;
}

bool RequestRule::matches_method(std::string_view method) const {
  // CONNECT asks for a tunnel, in which no later request could be judged.
  if (methods.empty()) return is_method(method) && method != "CONNECT";
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

bool RequestRule::matches_path(const RequestPath& path) const {
  if (!glob_matches(glob.path, path.path)) return false;
  return !glob.has_query || (path.has_query && glob_matches(glob.query, path.query));
}

}  // namespace caisson
