// Where messages end in a stream of them. What is undecided at the end of a message (its last bytes
// could be the beginning of a secret) needs no more bytes to be decided: the next message begins
// with a header, and no value goes on through it. Pure.
//
// (Messages of a WebSocket may be interrupted: websocket_mask.h.)
//
// Only of streams whose headers the host itself writes: a border that a cell could place would cut
// a value in two. Whatever doesn't look like such a stream has no borders from there on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson {

// As far as one message or the bytes at hand go.
struct BorderStep {
  size_t used = 0;
  bool ends_message = false;
};

// gRPC over HTTP/2: a byte of flags, four bytes of length, the message.
class GrpcBorders {
 public:
  BorderStep next(std::string_view bytes);

 private:
  std::array<unsigned char, 5> header_{};
  size_t header_got_ = 0;
  uint64_t payload_left_ = 0;
  bool lost_ = false;
};

// Feeds `bytes` to a filter message by message: `feed` takes a piece, `finish` ends a message.
// False as soon as one of them says so.
template <typename Borders, typename Feed, typename Finish>
bool feed_messages(Borders& borders, std::string_view bytes, Feed&& feed, Finish&& finish) {
  while (!bytes.empty()) {
    BorderStep step = borders.next(bytes);
    if (!feed(bytes.substr(0, step.used))) return false;
    if (step.ends_message && !finish()) return false;
    bytes.remove_prefix(step.used);
  }
  return true;
}

}  // namespace caisson
