#include "gateway/http_session.h"

#include <fmt/format.h>

#include "base/control.h"
#include "gateway/http_answers.h"
#include "gateway/session.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kHeadTime{60};  // from its first byte to its last
constexpr std::chrono::seconds kLingerTime{2};
constexpr uint64_t kMaxLinger = 1024 * 1024;

// Before the tunnel is promised, when it is clear already that it would not be read.
std::optional<Verdict> refuse_as_opaque(const Core& core, const HostPort& where) {
  if (!core.config.refuse_opaque_tunnels || core.ends_tls(where.host, where.port))
    return std::nullopt;
  if (!control_enabled("gateway-opaque")) return std::nullopt;
  return Verdict{false, "opaque tunnels", "TLS to this host isn't ended, so it can't be read", ""};
}

}  // namespace

HttpSession::HttpSession(Core& core, Stream& client, HttpDoor door)
    : core_(core),
      client_(client),
      door_(std::move(door)),
      requests_(client, core.pipes),
      upstream_(core),
      deadline_(core.deadlines, &client.socket()) {}

Task<> HttpSession::run() {
  Next next = Next::kAnother;
  while (next == Next::kAnother) {
    // Here and not in serve_one(): a thousand connections wait at this point, and its frame holds
    // heads.
    upstream_.let_go();
    deadline_.watch(&client_.socket(), upstream_.socket());
    deadline_.after(kIdleTime);
    HeadState begun = co_await requests_.wait_for_head();
    next = Next::kClose;
    if (begun == HeadState::kWhole) next = co_await serve_one();
  }
  deadline_.watch(&client_.socket(), nullptr);
  upstream_.drop();
  if (next == Next::kClose)
    co_await linger();
  else
    client_.socket().reset();
}

// A close with bytes unread resets the connection, and the reset overtakes the answer.
Task<> HttpSession::linger() {
  deadline_.after(kLingerTime);
  if (co_await client_.finish() != 0) co_return;
  uint64_t dropped = 0;
  while (dropped < kMaxLinger) {
    Moved got = co_await client_.read(std::span<uint8_t>(core_.pipes.scratch));
    if (got.error || got.ended()) break;
    dropped += got.bytes;
  }
}

Task<HttpSession::Next> HttpSession::serve_one() {
  deadline_.after(kHeadTime);
  std::string text;
  switch (co_await requests_.read_head(text)) {
    case HeadState::kWhole:
      break;
    case HeadState::kTooLarge:
      co_return co_await answer_and_close(error_answer(431, "the head is too large", "GET"));
    default:
      co_return Next::kClose;
  }
  deadline_.after(kIdleTime);
  Result<HttpHead> head = parse_request_head(text);
  if (!head.ok()) co_return co_await answer_and_close(error_answer(400, head.error().what, "GET"));
  if (head->method == "CONNECT") co_return co_await serve_connect(*head);
  co_return co_await serve_request(std::move(*head));
}

Task<HttpSession::Next> HttpSession::answer_and_close(std::string text) {
  co_await client_.write(text);
  co_return Next::kClose;
}

Task<HttpSession::Next> HttpSession::refuse_mismatch(const PlacedRequest& placed,
                                                     const std::string& method) {
  core_.deny(*placed.mismatch, placed.where, "http");
  ToldDenial denial{*placed.mismatch, placed.where.host.text(), placed.where.port, "http"};
  unsigned status = core_.config.require_host_match ? 421 : 403;
  co_return co_await answer_and_close(denial_answer(denial, Afterwards::kClose, method, status));
}

Task<HttpSession::Next> HttpSession::serve_request(HttpHead head) {
  std::string method = head.method;
  PlacedRequest placed = place_request(std::move(head), door_);
  if (placed.mismatch) co_return co_await refuse_mismatch(placed, method);
  if (!placed.request)
    co_return co_await answer_and_close(error_answer(400, placed.malformed, method));
  HttpRequest* request = &*placed.request;
  Verdict verdict = core_.rules.request(request->scheme, request->where.host, request->where.port,
                                        request->head.method, request->head.target);
  if (!control_enabled("gateway-requests")) verdict.allowed = true;
  if (!verdict.allowed) co_return co_await refuse(verdict, *request);
  HttpExchange exchange(core_, requests_, upstream_, deadline_, *request);
  switch (co_await exchange.run()) {
    case ExchangeEnd::kKeep:
      co_return Next::kAnother;
    case ExchangeEnd::kClose:
      co_return Next::kClose;
    case ExchangeEnd::kGone:
      co_return Next::kGone;
    case ExchangeEnd::kAnswerIt:
      co_return co_await answer_failure(exchange, *request);
    case ExchangeEnd::kWebSocket:
      co_return co_await run_websocket(exchange, *request);
  }
  co_return Next::kGone;
}

Task<HttpSession::Next> HttpSession::refuse(const Verdict& verdict, const HttpRequest& request) {
  core_.deny(verdict, request.where, "http");
  bool more = request_body(request.head).framing == Framing::kNone && keeps_alive(request.head);
  ToldDenial denial{verdict, request.where.host.text(), request.where.port, "http"};
  std::string text = denial_answer(denial, more ? Afterwards::kKeepAlive : Afterwards::kClose,
                                   request.head.method);
  if (co_await client_.write(text) != 0) co_return Next::kGone;
  co_return more ? Next::kAnother : Next::kClose;
}

Task<HttpSession::Next> HttpSession::answer_failure(HttpExchange& exchange,
                                                    const HttpRequest& request) {
  std::string text;
  std::optional<Verdict> refusal = exchange.refusal;
  if (exchange.dial_failure && exchange.dial_failure->end == DialEnd::kDenied)
    refusal = exchange.dial_failure->verdict;
  if (refusal) {
    core_.deny(*refusal, request.where, "http");
    ToldDenial denial{*refusal, request.where.host.text(), request.where.port, "http"};
    text = denial_answer(denial, Afterwards::kClose, request.head.method);
  } else if (exchange.dial_failure) {
    text = dial_answer(*exchange.dial_failure, request.head.method);
  } else {
    unsigned status = exchange.too_large ? 413 : deadline_.passed() ? 504 : 502;
    text = error_answer(status, exchange.failure, request.head.method);
  }
  co_return co_await answer_and_close(std::move(text));
}

Task<HttpSession::Next> HttpSession::run_websocket(const HttpExchange& exchange,
                                                   const HttpRequest& request) {
  // What came together with the heads is put back: one scan and one mask see all of it, for a value
  // that begins behind the answer's head may go on in the next read.
  client_.unread(requests_.take_rest());
  std::string down = upstream_.reader().take_rest();
  if (control_enabled("gateway-websocket-start"))
    upstream_.stream().unread(down);
  else
    co_await client_.write(down);
  TunnelLooks looks{.for_placeholders = true, .for_secrets = exchange.masks()};
  deadline_.none();
  co_await tunnel_or_reset(core_, client_, upstream_.stream(), request.where, "http", looks);
  co_return client_.socket() ? Next::kClose : Next::kGone;
}

Task<HttpSession::Next> HttpSession::serve_connect(const HttpHead& head) {
  if (door_.asked)
    co_return co_await answer_and_close(error_answer(400, "CONNECT is for proxies", head.method));
  Result<HostPort> where = parse_host_port(head.target, std::nullopt);
  if (!where.ok())
    co_return co_await answer_and_close(error_answer(400, where.error().what, head.method));
  Verdict verdict = core_.rules.connect(where->host, where->port);
  if (!control_enabled("gateway-connect")) verdict.allowed = true;
  if (!verdict.allowed) {
    core_.deny(verdict, *where, "http");
    ToldDenial denial{verdict, where->host.text(), where->port, "http"};
    co_return co_await answer_and_close(denial_answer(denial, Afterwards::kClose, head.method));
  }
  if (std::optional<Verdict> opaque = refuse_as_opaque(core_, *where)) {
    core_.deny(*opaque, *where, "http");
    ToldDenial denial{*opaque, where->host.text(), where->port, "http"};
    co_return co_await answer_and_close(denial_answer(denial, Afterwards::kClose, head.method));
  }
  Dialed dialed = co_await dial(core_, *where);
  if (dialed.end == DialEnd::kDenied) {
    core_.deny(dialed.verdict, *where, "http");
    ToldDenial denial{dialed.verdict, where->host.text(), where->port, "http"};
    co_return co_await answer_and_close(denial_answer(denial, Afterwards::kClose, head.method));
  }
  if (dialed.end != DialEnd::kOk)
    co_return co_await answer_and_close(dial_answer(dialed, head.method));
  if (co_await client_.write("HTTP/1.1 200 Connection established\r\n\r\n") != 0)
    co_return Next::kGone;
  deadline_.none();
  client_.unread(requests_.take_rest());
  co_await serve_connected(core_, client_, std::move(dialed.stream), *where);
  co_return client_.socket() ? Next::kClose : Next::kGone;
}

}  // namespace caisson
