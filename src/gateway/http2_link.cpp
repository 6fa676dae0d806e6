#include "gateway/http2_link.h"

#include <array>

#include "base/late_data.h"
#include "gateway/pump.h"

namespace caisson {
namespace {

constexpr uint32_t kMaxStreams = 100;
constexpr size_t kLittleLeft = 64 * 1024;
constexpr size_t kWriteSize = 64 * 1024;
constexpr size_t kFrameReadSize = 16 * 1024;

std::string_view text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv pair(std::string_view name, std::string_view value) {
  auto bytes = [](std::string_view part) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string lower_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// Headers in the form that nghttp2 takes; copies are made when it is called.
struct HeaderBlock {
  std::vector<std::string> names;  // reserved: the views must not move
  std::vector<nghttp2_nv> pairs;

  void add(const HttpHead& head) {
    names.reserve(head.fields.size());
    for (const HttpField& field : head.fields) {
      if (same_text(field.name, "Host")) continue;
      names.push_back(lower_name(field.name));
      pairs.push_back(pair(names.back(), field.value));
    }
  }
};

}  // namespace

Http2Link::Http2Link(Loop& loop, Stream& stream, Deadline& deadline, Role role, Listener& listener,
                     uint32_t window)
    : stream_(stream),
      deadline_(deadline),
      role_(role),
      listener_(listener),
      writable_(loop),
      writer_done_(loop),
      loop_(loop) {
  ready_late_data();
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) return;
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, headers_begin);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data_chunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_close);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_peer_max_concurrent_streams(option, kMaxStreams);
  if (role == Role::kServer)
    nghttp2_session_server_new2(&session_, callbacks, this, option);
  else
    nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  if (!session_) return;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, std::min(window, kStreamWindow)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHttpHead},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  // A server must not say anything about push.
  size_t count = role == Role::kServer ? 3 : 4;
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, count);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(window));
}

Http2Link::~Http2Link() { nghttp2_session_del(session_); }

Task<> Http2Link::run() {
  if (!session_) {
    over_ = true;
    co_return;
  }
  spawn(loop_, write_loop());
  co_await read_loop();
  over_ = true;
  wake_writer();
  stream_.socket().abort();  // the writer may be waiting for a peer that takes nothing
  co_await writer_done_.wait();
}

void Http2Link::stop() {
  if (over_ || !session_) return;
  nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
  wake_writer();
}

Task<> Http2Link::read_loop() {
  std::array<uint8_t, kFrameReadSize> buffer;
  while (!over_) {
    bool wants = nghttp2_session_want_read(session_) || nghttp2_session_want_write(session_);
    if (!wants) break;
    Moved got = co_await stream_.read(buffer);
    if (got.error || got.ended()) break;
    deadline_.after(kIdleTime);
    ssize_t used = nghttp2_session_mem_recv(session_, buffer.data(), got.bytes);
    wake_writer();
    if (used < 0) break;
  }
}

Task<> Http2Link::write_loop() {
  std::string out;
  while (!over_) {
    writable_.clear();
    const uint8_t* frame = nullptr;
    ssize_t size = 0;
    while (out.size() < kWriteSize && (size = nghttp2_session_mem_send(session_, &frame)) > 0)
      out.append(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
    if (size < 0) break;
    if (out.empty()) {
      bool wants = nghttp2_session_want_read(session_) || nghttp2_session_want_write(session_);
      if (!wants) break;
      co_await writable_.wait();
      continue;
    }
    int error = co_await stream_.write(out);
    if (error) break;
    deadline_.after(kIdleTime);
    out.clear();
    co_await take_turns(loop_);
  }
  if (!over_) stream_.socket().abort();  // wakes the reader
  writer_done_.set();
}

int Http2Link::headers_begin(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  Http2Link& link = *static_cast<Http2Link*>(self);
  Incoming& incoming = link.incoming_[frame->hd.stream_id];
  incoming.message = {};
  incoming.size = 0;
  return 0;
}

int Http2Link::header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
  static_cast<Http2Link*>(self)->take_header(frame->hd.stream_id, text(name, name_size),
                                             text(value, value_size));
  return 0;
}

void Http2Link::take_header(int32_t id, std::string_view name, std::string_view value) {
  Incoming& incoming = incoming_[id];
  HttpHead& head = incoming.message.head;
  incoming.size += name.size() + value.size() + 32;
  if (incoming.size > kMaxHttpHead || head.fields.size() >= kMaxHttpFields) {
    incoming.too_large = true;
    return;
  }
  if (name == ":method")
    head.method = value;
  else if (name == ":path")
    head.target = value;
  else if (name == ":scheme")
    incoming.message.scheme = value;
  else if (name == ":status")
    head.status = static_cast<unsigned>(std::atoi(std::string(value).c_str()));
  else if (name == ":authority")
    head.fields.push_back({"Host", std::string(value)});
  else if (!name.starts_with(':'))
    head.fields.push_back({std::string(name), std::string(value)});
}

int Http2Link::frame_received(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  Http2Link& link = *static_cast<Http2Link*>(self);
  bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
  if (frame->hd.type == NGHTTP2_HEADERS)
    link.headers_done(*frame);
  else if (frame->hd.type == NGHTTP2_DATA && ends)
    link.listener_.on_end(link, frame->hd.stream_id);
  else if (frame->hd.type == NGHTTP2_GOAWAY)
    link.listener_.on_goaway(link);
  return 0;
}

void Http2Link::headers_done(const nghttp2_frame& frame) {
  int32_t id = frame.hd.stream_id;
  Incoming& incoming = incoming_[id];
  if (incoming.too_large) return reset(id, NGHTTP2_ENHANCE_YOUR_CALM);
  Http2Message message = std::move(incoming.message);
  message.ends = frame.hd.flags & NGHTTP2_FLAG_END_STREAM;
  bool is_head = role_ == Role::kServer ? !message.head.method.empty() : message.head.status != 0;
  if (!is_head) {
    listener_.on_trailers(*this, id, std::move(message.head));
    return;
  }
  listener_.on_message(*this, id, std::move(message));
}

int Http2Link::data_chunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                          void* self) {
  Http2Link& link = *static_cast<Http2Link*>(self);
  link.listener_.on_data(link, id, text(bytes, size));
  return 0;
}

int Http2Link::stream_close(nghttp2_session*, int32_t id, uint32_t code, void* self) {
  Http2Link& link = *static_cast<Http2Link*>(self);
  link.listener_.on_close(link, id, code);
  link.outgoing_.erase(id);
  link.incoming_.erase(id);
  return 0;
}

ssize_t Http2Link::give_data(nghttp2_session*, int32_t id, uint8_t* into, size_t size,
                             uint32_t* flags, nghttp2_data_source*, void* self) {
  Http2Link& link = *static_cast<Http2Link*>(self);
  Outgoing& out = link.outgoing_[id];
  size_t given = std::min(size, out.bytes.size() - out.at);
  std::memcpy(into, out.bytes.data() + out.at, given);
  out.at += given;
  size_t left = out.bytes.size() - out.at;
  if (left == 0) {
    out.bytes.clear();
    out.at = 0;
  }
  if (left == 0 && out.ended) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (out.trailers) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      HeaderBlock block;
      block.add(*out.trailers);
      nghttp2_submit_trailer(link.session_, id, block.pairs.data(), block.pairs.size());
    }
  } else if (given == 0) {
    out.deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (left < kLittleLeft) link.listener_.on_drained(link, id);
  return static_cast<ssize_t>(given);
}

nghttp2_data_provider Http2Link::provider(int32_t) {
  return {.source = {.ptr = nullptr}, .read_callback = give_data};
}

int32_t Http2Link::request(const HttpHead& head, std::string_view scheme,
                           std::string_view authority, Body body) {
  if (over_ || !nghttp2_session_check_request_allowed(session_)) return -1;
  HeaderBlock block;
  block.pairs = {pair(":method", head.method), pair(":scheme", scheme),
                 pair(":authority", authority), pair(":path", head.target)};
  block.add(head);
  nghttp2_data_provider data = provider(0);
  int32_t id = nghttp2_submit_request(session_, nullptr, block.pairs.data(), block.pairs.size(),
                                      body == Body::kFollows ? &data : nullptr, nullptr);
  wake_writer();
  return id;
}

void Http2Link::respond(int32_t id, const HttpHead& head, Body body) {
  std::string status = std::to_string(head.status);
  HeaderBlock block;
  block.pairs = {pair(":status", status)};
  block.add(head);
  nghttp2_data_provider data = provider(id);
  nghttp2_submit_response(session_, id, block.pairs.data(), block.pairs.size(),
                          body == Body::kFollows ? &data : nullptr);
  wake_writer();
}

void Http2Link::inform(int32_t id, const HttpHead& head) {
  std::string status = std::to_string(head.status);
  HeaderBlock block;
  block.pairs = {pair(":status", status)};
  block.add(head);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, block.pairs.data(),
                         block.pairs.size(), nullptr);
  wake_writer();
}

void Http2Link::send(int32_t id, std::string_view bytes) {
  Outgoing& out = outgoing_[id];
  if (out.at > kLittleLeft) {
    out.bytes.erase(0, out.at);
    out.at = 0;
  }
  out.bytes.append(bytes);
  if (std::exchange(out.deferred, false)) nghttp2_session_resume_data(session_, id);
  wake_writer();
}

void Http2Link::finish(int32_t id, const HttpHead* trailers) {
  Outgoing& out = outgoing_[id];
  out.ended = true;
  if (trailers) out.trailers = std::make_unique<HttpHead>(*trailers);
  if (std::exchange(out.deferred, false)) nghttp2_session_resume_data(session_, id);
  wake_writer();
}

void Http2Link::reset(int32_t id, uint32_t code) {
  if (over_) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
  wake_writer();
}

void Http2Link::took(int32_t id, size_t bytes) {
  if (over_ || bytes == 0) return;
  if (nghttp2_session_consume(session_, id, bytes) != 0)
    nghttp2_session_consume_connection(session_, bytes);
  wake_writer();
}

void Http2Link::say_goodbye() {
  if (over_) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  wake_writer();
}

}  // namespace caisson
