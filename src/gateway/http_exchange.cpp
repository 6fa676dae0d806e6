#include "gateway/http_exchange.h"

#include "gateway/pump.h"

namespace caisson {
namespace {

constexpr int kMaxInterim = 16;  // answers such as "100 Continue" before the real one
constexpr int kMostTurns = 16;   // that are left to a body to come to its end
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string no_head(HeadState state) {
  if (state == HeadState::kTooLarge) return "the host's answer has a head that is too large";
  if (state == HeadState::kEnded) return "the host ended without an answer";
  return "the connection to the host broke before its answer";
}

}  // namespace

HttpExchange::HttpExchange(Core& core, HttpReader& client, HttpUpstream& upstream,
                           Deadline& deadline, HttpRequest& request)
    : core_(core),
      client_(client),
      upstream_(upstream),
      deadline_(deadline),
      request_(request),
      body_(request_body(request.head)),
      client_minor_(request.head.minor),
      client_keeps_alive_(keeps_alive(request.head)),
      websocket_(asks_for_websocket(request.head)),
      body_done_(core.loop) {
  client_.start_body(body_);
}

// What is signed anew keeps its Range: a key that only signs is never sent, and programs that load
// large objects of S3 part by part take the whole for the part they asked for. Not so where a value
// may go into a body or an address: a cell could have the host keep it, and take it back in parts.
// There it is refused: the whole in a part's place would spoil what is loaded.
bool HttpExchange::may_ask_for_parts() const {
  if (!resign_ || resign_->passes_on()) return false;
  return !core_.secrets->may_be_kept_by(request_.where.host, request_.where.port);
}

bool HttpExchange::ask_for_whole_or_refuse(HttpHead& head) {
  bool signed_anew = resign_ && !resign_->passes_on();
  if (signed_anew && asks_for_part(head))
    refusal = Verdict{false, "secret", "a part of an answer can't be searched for a secret",
                      "load it whole"};
  else if (copies_part(head))
    refusal = Verdict{false, "secret", std::string(kCopiedPartCantBeMasked), "copy it whole"};
  else
    ask_for_whole(head);
  return !refusal;
}

// Headers of one connection go, placeholders become values. False: refused.
bool HttpExchange::rewrite_request() {
  HttpHead& head = request_.head;
  resign_ = AwsResign::look(core_, request_);
  if (resign_ && resign_->refusal()) {
    refusal = resign_->refusal();
    return false;
  }
  strip_hop_by_hop(head);
  if (core_.secrets->empty()) return true;
  const Host& host = request_.where.host;
  uint16_t port = request_.where.port;
  if (ResponseMask::must_ask_identity(*core_.secrets, host, port)) {
    head.remove("Accept-Encoding");
    head.remove("Sec-WebSocket-Extensions");  // compression, which a mask can't read
    head.fields.push_back({"Accept-Encoding", "identity"});
    masks_ = true;
    parts_ = may_ask_for_parts();
    if (!parts_ && !ask_for_whole_or_refuse(head)) return false;
  }
  substitution_.emplace(*core_.secrets, request_.scheme, host, port);
  filter_.emplace(*substitution_);
  return pass_placeholders(head);
}

bool HttpExchange::pass_placeholders(HttpHead& head) {
  // What can't be signed anew and may pass on goes as the cell made it.
  bool passes_on = resign_ && resign_->passes_on();
  Verdict verdict{.allowed = true};
  if (!passes_on) verdict = substitution_->target(head.target);
  for (HttpField& field : head.fields) {
    if (!verdict.allowed) break;
    // Of a request that is signed anew this header is written anew.
    if (resign_ && same_text(field.name, "Authorization")) continue;
    verdict = substitution_->header(field.name, field.value);
  }
  if (!verdict.allowed) refusal = verdict;
  return verdict.allowed;
}

std::optional<ExchangeEnd> HttpExchange::end_of(RelayEnd end) {
  if (end == RelayEnd::kDone) return std::nullopt;
  if (end == RelayEnd::kBudget) deny_budget();
  if (end == RelayEnd::kRefused) {
    refusal = filter_->refusal();
    return ExchangeEnd::kAnswerIt;
  }
  if (end == RelayEnd::kTooLarge) {
    too_large = true;
    failure = "the body is too large";
    return ExchangeEnd::kAnswerIt;
  }
  return ExchangeEnd::kGone;
}

void HttpExchange::deny_budget() {
  core_.deny({false, "byte budget", "the cell's byte budget is spent",
              "--upload-limit or --download-limit with a larger number"},
             request_.where, "http");
}

// How the body will be framed; a short one that may grow is taken in whole.
Task<std::optional<ExchangeEnd>> HttpExchange::gather_request() {
  if (resign_ && !resign_->passes_on()) co_return co_await gather_to_sign();
  if (!substitution_ || body_.framing == Framing::kNone) co_return std::nullopt;
  std::optional<uint64_t> length;
  if (body_.framing == Framing::kLength) length = body_.length;
  BodyPlan plan = substitution_->body_plan(length);
  if (plan == BodyPlan::kUnsized) body_ = {Framing::kChunked, 0};
  if (plan != BodyPlan::kGather) co_return std::nullopt;
  bool invited = co_await invite_body();
  if (!invited) co_return ExchangeEnd::kGone;
  BodyRelay relay{core_, deadline_, Way::kUp, &*filter_};
  Gathered gathered = co_await gather_body(relay, client_);
  if (auto end = end_of(gathered.end)) co_return end;
  gathered_ = std::move(gathered.body);
  body_ = {gathered_.empty() ? Framing::kNone : Framing::kLength, gathered_.size()};
  co_return std::nullopt;
}

// A client that waits to be told to send its body: what is taken in whole must come first.
Task<bool> HttpExchange::invite_body() {
  if (!request_.head.lists("Expect", "100-continue")) co_return true;
  request_.head.remove("Expect");
  co_return co_await client_.stream().write(kContinue) == 0;
}

// The body as the cell signed it, and then as it will be sent.
Task<std::optional<ExchangeEnd>> HttpExchange::gather_to_sign() {
  uint64_t most = AwsResign::kMaxBody;
  too_large = body_.framing == Framing::kLength && body_.length > most;
  bool unsized = body_.framing == Framing::kChunked;
  held_.emplace(core_.held_bytes, unsized ? most : body_.length);
  if (too_large || (body_.framing != Framing::kNone && !held_->granted())) {
    failure = too_large ? "a body to be signed has 64 MiB at most"
                        : "too many bodies wait to be signed at once";
    too_large = true;
    co_return ExchangeEnd::kAnswerIt;
  }
  Gathered sent;
  if (body_.framing != Framing::kNone) {
    bool invited = co_await invite_body();
    if (!invited) co_return ExchangeEnd::kGone;
    BodyRelay relay{core_, deadline_, Way::kUp, nullptr};
    sent = co_await gather_body(relay, client_, most);
    if (auto end = end_of(sent.end)) co_return end;
  }
  Verdict verdict = resign_->check(sent.body);
  if (verdict.allowed && !(filter_->feed(sent.body, gathered_) && filter_->finish(gathered_)))
    verdict = filter_->refusal();
  if (!verdict.allowed) {
    refusal = verdict;
    co_return ExchangeEnd::kAnswerIt;
  }
  body_ = {gathered_.empty() ? Framing::kNone : Framing::kLength, gathered_.size()};
  resign_->sign(request_.head, host_header(request_.where, request_.scheme), gathered_);
  co_return std::nullopt;
}

Task<std::optional<ExchangeEnd>> HttpExchange::send_request() {
  // The connection that is there may be dropped for another.
  deadline_.watch(&client_.stream().socket(), nullptr);
  Dialed dialed = co_await upstream_.need(request_.where, request_.scheme);
  if (dialed.end != DialEnd::kOk) {
    dial_failure = std::move(dialed);
    co_return ExchangeEnd::kAnswerIt;
  }
  upstream_.count_request();
  deadline_.watch(&client_.stream().socket(), upstream_.socket());
  deadline_.after(kIdleTime);
  if (const UpstreamProxy* proxy = upstream_.proxy()) address_proxy(*proxy);
  std::string text =
      request_text(request_.head, host_header(request_.where, request_.scheme), body_, websocket_);
  text += gathered_;
  if (!core_.traffic.count(Way::kUp, text.size())) {
    deny_budget();
    co_return ExchangeEnd::kGone;
  }
  // A failure shows when the answer is read: a host may refuse early and end.
  co_await upstream_.stream().write(text);
  co_return std::nullopt;
}

void HttpExchange::address_proxy(const UpstreamProxy& proxy) {
  HttpHead& head = request_.head;
  if (head.target.starts_with('/'))
    head.target = "http://" + host_header(request_.where, request_.scheme) + head.target;
  head.remove("Proxy-Authorization");
  if (!proxy.authorization.empty())
    head.fields.push_back({"Proxy-Authorization", proxy.authorization});
}

Task<> HttpExchange::send_body() {
  BodySink sink(upstream_.stream(), body_.framing);
  BodyRelay relay{core_, deadline_, Way::kUp, filter_ ? &*filter_ : nullptr};
  body_end_ = co_await relay_body(relay, client_, sink);
  // A host that doesn't take the rest may still answer; everything else ends the exchange.
  if (body_end_ != RelayEnd::kDone && body_end_ != RelayEnd::kTargetFailed)
    upstream_.stream().socket().abort();
  body_done_.set();
}

// Whoever still sends a body after the answer is told to stop.
Task<> HttpExchange::stop_body() {
  if (!body_running_) co_return;
  if (!body_done_.is_set()) {
    upstream_.stream().socket().abort();
    if (body_end_ == RelayEnd::kDone) body_end_ = RelayEnd::kSourceFailed;
    client_keeps_alive_ = false;
    // Only one that waits is woken: it may be about to, behind a turn that it has left to others.
    for (int i = 0; i < kMostTurns && !body_done_.is_set(); ++i) {
      client_.stream().socket().cancel();
      co_await take_turns(core_.loop);
    }
  }
  co_await body_done_.wait();
  body_running_ = false;
}

Task<ExchangeEnd> HttpExchange::run() {
  if (!rewrite_request()) co_return ExchangeEnd::kAnswerIt;
  if (auto end = co_await gather_request()) co_return *end;
  for (int tries = 0;; ++tries) {
    if (auto end = co_await send_request()) co_return *end;
    if (body_.framing != Framing::kNone && gathered_.empty()) {
      body_running_ = true;
      spawn(core_.loop, send_body());
    }
    HeadState state = co_await upstream_.reader().wait_for_head();
    if (state == HeadState::kWhole || tries > 0 || !may_retry()) break;
    upstream_.drop();
    deadline_.watch(&client_.stream().socket(), nullptr);
  }
  ExchangeEnd end = co_await read_answers();
  co_await stop_body();
  if (end == ExchangeEnd::kAnswerIt && body_end_ != RelayEnd::kDone)
    if (auto worse = end_of(body_end_)) end = *worse;
  if (end != ExchangeEnd::kKeep && end != ExchangeEnd::kWebSocket) {
    deadline_.watch(&client_.stream().socket(), nullptr);
    upstream_.drop();
  }
  co_return end;
}

// A connection that the host ended while it was idle: nothing of the request was looked at.
bool HttpExchange::may_retry() const {
  const std::string& method = request_.head.method;
  bool safe = method == "GET" || method == "HEAD" || method == "OPTIONS";
  return upstream_.is_reused() && safe && body_.framing == Framing::kNone;
}

Task<ExchangeEnd> HttpExchange::failed(std::string why) {
  failure = std::move(why);
  co_return started_ ? ExchangeEnd::kGone : ExchangeEnd::kAnswerIt;
}

Task<ExchangeEnd> HttpExchange::read_answers() {
  for (int interim = 0; interim < kMaxInterim; ++interim) {
    std::string text;
    HeadState state = co_await upstream_.reader().wait_for_head();
    if (state == HeadState::kWhole) state = co_await upstream_.reader().read_head(text);
    if (state != HeadState::kWhole) co_return co_await failed(no_head(state));
    if (!core_.traffic.count(Way::kDown, text.size())) {
      deny_budget();
      co_return ExchangeEnd::kGone;
    }
    Result<HttpHead> answer = parse_response_head(text);
    if (!answer.ok()) co_return co_await failed("the host answered with " + answer.error().what);
    if (answer->status == 101) co_return co_await pass_websocket(std::move(*answer));
    if (answer->status >= 200) co_return co_await pass_answer(std::move(*answer));
    if (!co_await pass_interim(std::move(*answer))) co_return ExchangeEnd::kGone;
  }
  co_return co_await failed("the host answered without an end");
}

Task<bool> HttpExchange::pass_interim(HttpHead answer) {
  if (client_minor_ == 0) co_return true;  // it doesn't know of such answers
  strip_answer(answer);
  mask_head(answer);
  std::string text = response_text(answer, {}, nullptr, Afterwards::kKeepAlive, client_minor_);
  co_return co_await client_.stream().write(text) == 0;
}

void HttpExchange::strip_answer(HttpHead& answer) const {
  strip_hop_by_hop(answer);
  strip_fields(answer, core_.config.strip_response_headers);
}

// False: it can't be read, and might tell the secret.
bool HttpExchange::mask_head(HttpHead& answer) {
  if (!masks_) return true;
  ResponseMask mask(*core_.secrets, ResponseMask::Length::kFree);
  std::string encodings;
  for (const HttpField& field : answer.fields)
    if (same_text(field.name, "Content-Encoding"))
      encodings += (encodings.empty() ? "" : ",") + field.value;
  mask.fields(answer.fields);
  mask.header(answer.reason);
  return ResponseMask::can_read(encodings);
}

Task<ExchangeEnd> HttpExchange::pass_answer(HttpHead answer) {
  const std::string& method = request_.head.method;
  if (masks_ && !parts_ && is_part(answer))
    co_return co_await failed(std::string(kPartCantBeMasked));
  BodyFrame body = response_body(answer, method);
  bool host_keeps_alive = keeps_alive(answer) && body.framing != Framing::kUntilEnd;
  std::optional<std::string> told_length;
  if (const std::string* length = answer.find("Content-Length")) told_length = *length;
  strip_answer(answer);
  if (!mask_head(answer))
    co_return co_await failed("the host's answer is compressed, so secrets in it can't be masked");

  upstream_.reader().start_body(body);
  std::optional<ResponseMask> mask;
  std::optional<MaskFilter> filter;
  if (masks_ && body.framing != Framing::kNone) {
    bool sized = body.framing == Framing::kLength;
    mask.emplace(*core_.secrets, sized ? ResponseMask::Length::kKept : ResponseMask::Length::kFree);
    filter.emplace(*mask);
  }
  BodyRelay relay{core_, deadline_, Way::kDown, filter ? &*filter : nullptr,
                  body_running_ ? &body_done_ : nullptr};

  BodyFrame out = body;
  if (body.framing == Framing::kUntilEnd && client_minor_ == 1) out.framing = Framing::kChunked;
  if (body.framing == Framing::kChunked && client_minor_ == 0) out.framing = Framing::kUntilEnd;
  bool unread_body = body_running_ && !body_done_.is_set();
  bool keep = client_keeps_alive_ && out.framing != Framing::kUntilEnd && !unread_body;
  BodySink sink(client_.stream(), out.framing);
  sink.out = response_text(answer, out, told_length ? &*told_length : nullptr,
                           keep ? Afterwards::kKeepAlive : Afterwards::kClose, client_minor_);
  started_ = true;
  RelayEnd end = co_await relay_body(relay, upstream_.reader(), sink);
  if (end == RelayEnd::kBudget) deny_budget();
  if (end != RelayEnd::kDone) co_return ExchangeEnd::kGone;
  if (!host_keeps_alive) {
    co_await stop_body();
    upstream_.drop();
    deadline_.watch(&client_.stream().socket(), nullptr);
  }
  co_return keep ? ExchangeEnd::kKeep : ExchangeEnd::kClose;
}

Task<ExchangeEnd> HttpExchange::pass_websocket(HttpHead answer) {
  const std::string* upgrade = answer.find("Upgrade");
  if (!websocket_ || !upgrade || !same_text(*upgrade, "websocket"))
    co_return co_await failed("the host changed to a protocol that wasn't asked for");
  strip_answer(answer);
  mask_head(answer);
  std::string text = response_text(answer, {}, nullptr, Afterwards::kKeepAlive, client_minor_);
  text.insert(text.size() - 2, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  started_ = true;
  bool written = co_await client_.stream().write(text) == 0;
  co_return written ? ExchangeEnd::kWebSocket : ExchangeEnd::kGone;
}

}  // namespace caisson
