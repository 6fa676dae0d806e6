// The head of a request, read strictly. Somebody else's parser may stand in front of this one (a
// proxy, a browser, an ssh forward): what two parsers could read differently is refused, since that
// is how one request is hidden inside another. Pure: no sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace caisson::http {

inline constexpr size_t kMaxHead = 64 * 1024;
inline constexpr size_t kMaxFields = 128;
inline constexpr size_t kMaxSegments = 128;

// Where the head ends, behind its empty line; nullopt while it isn't all there. `from`: what an
// earlier call has looked at already.
std::optional<size_t> find_head_end(std::string_view bytes, size_t from = 0);

// `head` is all of it with the empty line. Refused: lines that don't end in CRLF, control bytes,
// folded lines, blanks before a colon, several of Content-Length, Transfer-Encoding, Host,
// Authorization or Origin, a Content-Length beside a Transfer-Encoding, a Transfer-Encoding that
// isn't "chunked", a target that isn't a path. An Error's errnum is the status to answer with.
Result<Request> parse_request_head(std::string_view head);

struct BodyFrame {
  bool chunked = false;
  uint64_t length = 0;  // of a body that isn't chunked
};
// Of a head that was parsed by the above.
BodyFrame body_frame(const Request& request);

// Whether the sender means to go on afterwards.
bool keeps_alive(const Request& request);

}  // namespace caisson::http
