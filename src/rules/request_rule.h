// Rules about single requests: "GET,HEAD https://api.github.com/repos/*", "*
// http://host:8080/v1/*".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rules/host_pattern.h"

namespace caisson {

enum class Scheme { kHttp, kHttps };
std::string_view scheme_name(Scheme scheme);  // "https"
uint16_t default_port(Scheme scheme);

// A request target with one spelling, split at the '?'.
struct RequestPath {
  std::string path;
  std::string query;  // without the '?'
  bool has_query = false;
};

// Percent-encoded letters, digits, '-', '.', '_' and '~' are decoded, other escapes get upper-case
// digits. What a server could read as another path is refused: '.' and '..' segments (also "..;x"),
// doubled slashes, encoded slashes, backslashes and control bytes, escapes of escapes, broken
// UTF-8.
Result<RequestPath> canonical_path(std::string_view target);

// '*' matches any run of characters, '/' among them; everything else matches itself.
bool glob_matches(std::string_view glob, std::string_view text);

struct RequestRule {
  std::vector<std::string> methods;  // empty: every method but CONNECT
  Scheme scheme = Scheme::kHttps;
  HostPattern host;  // with its port
  RequestPath glob;  // without a query it matches whatever the query is

  bool matches_method(std::string_view method) const;
  bool matches_path(const RequestPath& path) const;
};

Result<RequestRule> parse_request_rule(std::string_view text);

// An HTTP method: 1 to 32 upper-case letters, digits, '-' and '_'.
bool is_method(std::string_view text);

}  // namespace caisson
