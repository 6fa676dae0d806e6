// One side of an HTTP/2 connection: frames in and out of a stream, messages to whoever serves them.
// Memory is bounded by the windows: bytes count as taken only when they were passed on.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/deadlines.h"
#include "gateway/event.h"
#include "gateway/http_head.h"
#include "gateway/stream.h"

namespace caisson {

struct Http2Message {
  HttpHead head;  // without pseudo-headers; a request's :authority is its Host
  std::string scheme;
  bool ends = false;  // nothing follows
};

class Http2Link {
 public:
  enum class Role { kServer, kClient };

  // What happens on the link; called from within its own functions, so it may submit but not wait.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_message(Http2Link& link, int32_t id, Http2Message message) = 0;
    virtual void on_trailers(Http2Link& link, int32_t id, HttpHead trailers) = 0;
    virtual void on_data(Http2Link& link, int32_t id, std::string_view bytes) = 0;
    virtual void on_end(Http2Link& link, int32_t id) = 0;
    virtual void on_drained(Http2Link& link, int32_t id) = 0;  // little is left to send
    virtual void on_close(Http2Link& link, int32_t id, uint32_t code) = 0;
    virtual void on_goaway(Http2Link& link) = 0;
  };

  // HTTP/2's own; no connection has less.
  static constexpr uint32_t kLeastWindow = 65535;
  static constexpr uint32_t kStreamWindow = 256 * 1024;  // of one stream, at most

  // `window`: how many bytes the peer may send before they were passed on.
  Http2Link(Loop& loop, Stream& stream, Deadline& deadline, Role role, Listener& listener,
            uint32_t window = kLeastWindow);
  ~Http2Link();
  Http2Link(const Http2Link&) = delete;
  Http2Link& operator=(const Http2Link&) = delete;

  // Until the connection has ended, either way. Call once; `stop` ends it.
  Task<> run();
  void stop();

  enum class Body { kNone, kFollows };
  // The new stream, or a negative number when the peer takes no more.
  int32_t request(const HttpHead& head, std::string_view scheme, std::string_view authority,
                  Body body);
  void respond(int32_t id, const HttpHead& head, Body body);
  void inform(int32_t id, const HttpHead& head);  // 1xx
  void send(int32_t id, std::string_view bytes);
  void finish(int32_t id, const HttpHead* trailers = nullptr);
  void reset(int32_t id, uint32_t code);
  // Bytes of the peer that have been passed on: it may send as many more.
  void took(int32_t id, size_t bytes);
  // No new streams from the peer; those that are there go on.
  void say_goodbye();
  bool is_open() const { return !over_; }

 private:
  struct Outgoing {
    std::string bytes;
    size_t at = 0;
    bool ended = false, deferred = false;
    std::unique_ptr<HttpHead> trailers;
  };
  struct Incoming {
    Http2Message message;
    size_t size = 0;
    bool too_large = false;
    bool seen_head = false;
  };

  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* link);
  static int headers_begin(nghttp2_session*, const nghttp2_frame* frame, void* link);
  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void* link);
  static int data_chunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                        void* link);
  static int stream_close(nghttp2_session*, int32_t id, uint32_t code, void* link);
  static ssize_t give_data(nghttp2_session*, int32_t id, uint8_t* into, size_t size,
                           uint32_t* flags, nghttp2_data_source*, void* link);

  void take_header(int32_t id, std::string_view name, std::string_view value);
  void headers_done(const nghttp2_frame& frame);
  Task<> read_loop();
  Task<> write_loop();
  void wake_writer() { writable_.set(); }
  nghttp2_data_provider provider(int32_t id);

  Stream& stream_;
  Deadline& deadline_;
  Role role_;
  Listener& listener_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, Outgoing> outgoing_;
  std::unordered_map<int32_t, Incoming> incoming_;
  Event writable_, writer_done_;
  bool over_ = false;
  Loop& loop_;
};

}  // namespace caisson
