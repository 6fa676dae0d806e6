// An HTTP request and its answer, as values.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace caisson::http {

struct Field {
  std::string name, value;  // the value without the blanks around it
};

// Who is at the other end. A unix socket's peer is known by its uid (SO_PEERCRED); of a TCP
// connection nothing is known but that it comes from this machine.
struct Peer {
  bool is_unix = false;
  uid_t uid = 0;
};

struct Request {
  std::string method;
  std::string path;                   // as sent, without the query
  std::string query;                  // as sent, without its '?'
  std::vector<std::string> segments;  // of the path, decoded: no "/", NUL, "." or ".." in them
  int minor = 1;                      // HTTP/1.minor
  std::vector<Field> fields;
  std::string body;
  UniqueFd memory;  // the body instead, where that was asked for and it is large: a memfd
  Peer peer;

  const std::string* find(std::string_view name) const;  // the first of that name
  size_t count(std::string_view name) const;
  // Whether a comma-separated field has this word (in front of a ';', too).
  bool lists(std::string_view name, std::string_view word) const;
  // Whether the body is said to be of this type, and of no other. Not lists(): a browser takes
  // "text/plain;x=,application/json" for text/plain, which a page may send without asking first.
  bool has_type(std::string_view type) const;
  // A parameter of the query, decoded; nullopt when it is absent or not decodable.
  std::optional<std::string> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::vector<Field> fields;  // without Content-Length, Transfer-Encoding and Connection
  std::string body;
};

bool same_text(std::string_view a, std::string_view b);  // ASCII letters alike in either case

// "%41" to "A"; nullopt for a '%' without two hexadecimal digits behind it.
std::optional<std::string> percent_decode(std::string_view text);
// Everything but letters, digits and "-._~" as %XX.
std::string percent_encode(std::string_view text);

std::string_view reason_of(int status);

// {"error": {"what": …, "hint": …}}, the shape of every refusal.
Response refusal(int status, std::string_view what, std::string_view hint = {});

}  // namespace caisson::http
