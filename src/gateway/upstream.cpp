#include "gateway/upstream.h"

#include <sys/socket.h>

#include <cerrno>

#include "gateway/tls_upstream.h"

namespace caisson {

void HttpUpstream::adopt(std::unique_ptr<Stream> stream, const HostPort& where) {
  drop();
  stream_ = std::move(stream);
  reader_.emplace(*stream_, core_.pipes);
  where_ = std::move(where);
}

void HttpUpstream::drop() {
  reader_.reset();
  stream_.reset();
  proxy_ = nullptr;
  requests_ = 0;
}

bool HttpUpstream::lives() const {
  // Bytes that nobody asked for: an answer to a request that we don't know of.
  if (reader_->has_rest()) return false;
  char byte;
  ssize_t got = recv(stream_->socket().fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN;
  return got > 0 && !stream_->is_plain();  // TLS has messages of its own
}

Task<Dialed> HttpUpstream::need(const HostPort& where, Scheme scheme) {
  if (stream_ && where == where_ && lives()) {
    Dialed there;
    there.end = DialEnd::kOk;
    co_return there;
  }
  drop();
  const UpstreamProxy* proxy = scheme == Scheme::kHttp ? core_.proxies.for_http(where) : nullptr;
  Dialed dialed;
  if (proxy)
    dialed = co_await dial_proxy(core_, *proxy);
  else
    dialed = co_await dial(core_, where);
  if (dialed.end != DialEnd::kOk) co_return dialed;
  std::unique_ptr<Stream> stream = std::move(dialed.stream);
  if (scheme == Scheme::kHttps) {
    UpstreamTls tls = co_await start_upstream_tls(core_, stream, where, HttpVersion::k1);
    dialed.why = std::move(tls.why);
    if (!dialed.why.empty()) {
      dialed.end = DialEnd::kUnreachable;
      co_return dialed;
    }
  }
  adopt(std::move(stream), where);
  proxy_ = proxy;
  co_return dialed;
}

}  // namespace caisson
