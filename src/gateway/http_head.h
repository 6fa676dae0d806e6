// The head of an HTTP/1 message, read strictly: what two parsers could read differently is refused,
// since that is how requests are smuggled past a gateway. Pure: no sockets, no rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

inline constexpr size_t kMaxHttpHead = 64 * 1024;
inline constexpr size_t kMaxHttpFields = 256;

struct HttpField {
  std::string name, value;  // as sent, the value without the spaces around it
};

struct HttpHead {
  std::string method, target;  // of a request
  unsigned status = 0;         // of a response
  std::string reason;
  int minor = 1;  // HTTP/1.minor: 0 or 1
  std::vector<HttpField> fields;

  const std::string* find(std::string_view name) const;  // the first of that name
  size_t count(std::string_view name) const;
  // Whether a comma-separated field (or several of it) has this word; case doesn't matter.
  bool lists(std::string_view name, std::string_view word) const;
  void remove(std::string_view name);
};

bool same_text(std::string_view a, std::string_view b);  // ASCII letters alike in either case

// Where the head ends, behind its empty line; nullopt while it isn't all there. `from`: what an
// earlier call has looked at already.
std::optional<size_t> find_head_end(std::string_view bytes, size_t from = 0);

// `head` is all of it with the empty line. Refused: lines that don't end in CRLF, control bytes,
// folded lines, spaces before the colon, several Content-Length or Host, a Content-Length beside a
// Transfer-Encoding, a Transfer-Encoding that isn't "chunked".
Result<HttpHead> parse_request_head(std::string_view head);
Result<HttpHead> parse_response_head(std::string_view head);

enum class Framing { kNone, kLength, kChunked, kUntilEnd };
struct BodyFrame {
  Framing framing = Framing::kNone;
  uint64_t length = 0;
};
// Of a head that was parsed by the above.
BodyFrame request_body(const HttpHead& head);
BodyFrame response_body(const HttpHead& head, std::string_view request_method);

// Printable ASCII without spaces, not empty.
bool is_request_target(std::string_view text);

// Whether the sender of this head means to go on afterwards.
bool keeps_alive(const HttpHead& head);

}  // namespace caisson
