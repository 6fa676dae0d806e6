#include "gateway/websocket_mask.h"

#include "base/control.h"

namespace caisson {

WebSocketMask::WebSocketMask(const Secrets& secrets)
    : message_(secrets, ResponseMask::Length::kKept),
      control_(secrets, ResponseMask::Length::kKept) {}

bool WebSocketMask::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    FrameStep step = frames_.next(bytes);
    if (!take(step, bytes.substr(0, step.used), out)) return false;
    bytes.remove_prefix(step.used);
  }
  return true;
}

bool WebSocketMask::take(const FrameStep& step, std::string_view bytes, std::string& out) {
  switch (step.part) {
    case FramePart::kHeaderBegun:
      return true;
    case FramePart::kHeader:
      if (!put_between(frames_.header(), out)) return false;
      break;
    case FramePart::kPayload:
      if (!take_payload(bytes, out)) return false;
      break;
    case FramePart::kBroken:
      // What is held with headers in it is neither a message nor a plain stream.
      if (!between_.empty()) return false;
      mask_payload(frames_.header(), out);
      return true;
    case FramePart::kNoFrame:
      mask_payload(bytes, out);
      return true;
  }
  return !step.ends_frame || end_frame(out);
}

bool WebSocketMask::take_payload(std::string_view bytes, std::string& out) {
  if (!frames_.is_control()) {
    mask_payload(bytes, out);
    return true;
  }
  std::string masked;
  control_.body(bytes, masked);
  return put_between(masked, out);
}

bool WebSocketMask::end_frame(std::string& out) {
  if (frames_.is_control()) {
    std::string masked;
    control_.finish_body(masked);
    if (!put_between(masked, out)) return false;
  }
  if (frames_.ends_message() || !control_enabled("gateway-websocket-frames")) end_message(out);
  return true;
}

void WebSocketMask::mask_payload(std::string_view bytes, std::string& out) {
  payload_in_ += bytes.size();
  if (between_.empty()) {
    size_t before = out.size();
    message_.body(bytes, out);
    payload_out_ += out.size() - before;
  } else {
    std::string masked;
    message_.body(bytes, masked);
    put_payload(masked, out);
  }
}

void WebSocketMask::end_message(std::string& out) {
  std::string masked;
  message_.finish_body(masked);
  put_payload(masked, out);
}

void WebSocketMask::put_payload(std::string_view masked, std::string& out) {
  while (!between_.empty() && between_.front().at - payload_out_ <= masked.size()) {
    const Between& next = between_.front();
    size_t before = next.at - payload_out_;
    out.append(masked, 0, before).append(next.bytes);
    masked.remove_prefix(before);
    payload_out_ += before;
    between_size_ -= next.bytes.size();
    between_.pop_front();
  }
  out.append(masked);
  payload_out_ += masked.size();
}

bool WebSocketMask::put_between(std::string_view bytes, std::string& out) {
  if (payload_in_ == payload_out_) {
    out.append(bytes);
    return true;
  }
  bool fits = between_size_ + bytes.size() <= kMostBetween;
  if (!fits && control_enabled("gateway-websocket-bound")) return false;
  between_size_ += bytes.size();
  if (between_.empty() || between_.back().at != payload_in_) between_.push_back({payload_in_, {}});
  between_.back().bytes.append(bytes);
  return true;
}

bool WebSocketMask::silence_decides() const {
  bool in_message = !frames_.lost() && control_enabled("gateway-websocket-silence");
  return !in_message && message_.holds();
}

std::string WebSocketMask::let_go() {
  std::string out;
  end_message(out);
  return out;
}

std::string WebSocketMask::finish() {
  std::string out = let_go();
  control_.finish_body(out);
  out += frames_.begun_header();
  return out;
}

}  // namespace caisson
