// A connection to the host of a request, kept for the next request to the same host.
#pragma once

#include <memory>
#include <optional>

#include "gateway/dial.h"
#include "gateway/http_reader.h"

namespace caisson {

class HttpUpstream {
 public:
  explicit HttpUpstream(Core& core) : core_(core) {}

  // A connection that somebody else made.
  void adopt(std::unique_ptr<Stream> stream, const HostPort& where);

  // Uses the one that is there when it goes to the same host and still lives; else makes one.
  // kOk, or why there is none.
  Task<Dialed> need(const HostPort& where, Scheme scheme);
  // It has served a request before: the peer may have ended it just now.
  bool is_reused() const { return requests_ > 1; }
  void count_request() { ++requests_; }

  // The connection goes to the host's own proxy: requests tell it the whole URL.
  const UpstreamProxy* proxy() const { return proxy_; }

  Stream& stream() { return *stream_; }
  HttpReader& reader() { return *reader_; }
  Socket* socket() { return stream_ ? &stream_->socket() : nullptr; }
  void drop();
  // Until the next request.
  void let_go() {
    if (reader_) reader_->let_go();
  }

 private:
  bool lives() const;

  Core& core_;
  std::unique_ptr<Stream> stream_;
  std::optional<HttpReader> reader_;
  HostPort where_;
  const UpstreamProxy* proxy_ = nullptr;
  int requests_ = 0;
};

}  // namespace caisson
