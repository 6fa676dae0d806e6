// The requests of one client connection, one after the other: each is judged for itself.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/http_exchange.h"
#include "gateway/upstream.h"

namespace caisson {

class HttpSession {
 public:
  HttpSession(Core& core, Stream& client, HttpDoor door);

  // A connection to the asked host that is there already.
  void give_upstream(std::unique_ptr<Stream> stream) {
    upstream_.adopt(std::move(stream), *door_.asked);
  }
  // Until the client has ended or must be turned away; then its socket may be closed.
  Task<> run();

 private:
  enum class Next { kAnother, kClose, kGone };

  Task<Next> serve_one();  // whose first byte is there
  Task<Next> serve_request(HttpHead head);
  Task<Next> serve_connect(const HttpHead& head);
  Task<Next> refuse_mismatch(const PlacedRequest& placed, const std::string& method);
  Task<Next> refuse(const Verdict& verdict, const HttpRequest& request);
  Task<Next> answer_failure(HttpExchange& exchange, const HttpRequest& request);
  Task<Next> answer_and_close(std::string text);
  Task<Next> run_websocket(const HttpExchange& exchange, const HttpRequest& request);
  Task<> linger();

  Core& core_;
  Stream& client_;
  HttpDoor door_;
  HttpReader requests_;
  HttpUpstream upstream_;
  Deadline deadline_;
};

}  // namespace caisson
