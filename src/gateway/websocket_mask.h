// Secrets masked in the messages of a WebSocket that a host sends to the cell.
//
// The attack: a host sends what it was told in frames of a fixed size, and a cell that chooses how
// much stands before a value has it begin in one frame and end in the next. With the header between
// them neither half is the value. So the mask is given a message's payload alone, across its
// frames. It keeps the length, and the headers stay true; those that lie behind held bytes
// (secret_stream.h) are held with them, and so are the control frames that may come between two
// frames of a message.
//
// A message's undecided end is decided by its last frame. Inside a message no silence decides:
// there a host that waits for the cell is silent for as long as the cell wants (held_tail.h).
//
// What isn't a WebSocket's stream any more is masked as a stream without messages.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "gateway/response_mask.h"
#include "gateway/websocket_frames.h"

namespace caisson {

class WebSocketMask {
 public:
  // Of headers and control frames that wait for held bytes. A host that sends single bytes needs
  // two for each byte of a value; one that sends empty frames for ever has no business here.
  static constexpr size_t kMostBetween = 16 * 1024;

  explicit WebSocketMask(const Secrets& secrets);

  // Appends what is decided. False: it can't be masked within the memory that it may take, and
  // nothing of the stream may go on.
  [[nodiscard]] bool feed(std::string_view bytes, std::string& out);
  std::string finish();  // at the stream's end: the rest of it

  bool silence_decides() const;  // what is held, with let_go()
  std::string let_go();

 private:
  struct Between {
    uint64_t at;  // so many bytes of payload come before it
    std::string bytes;
  };

  bool take(const FrameStep& step, std::string_view bytes, std::string& out);
  bool take_payload(std::string_view bytes, std::string& out);
  bool end_frame(std::string& out);
  void mask_payload(std::string_view bytes, std::string& out);
  void end_message(std::string& out);
  void put_payload(std::string_view masked, std::string& out);
  bool put_between(std::string_view bytes, std::string& out);

  WebSocketFrames frames_;
  ResponseMask message_, control_;
  uint64_t payload_in_ = 0, payload_out_ = 0;  // of data frames, since the stream began
  std::deque<Between> between_;                // what lies behind the first held byte of payload
  size_t between_size_ = 0;
};

}  // namespace caisson
