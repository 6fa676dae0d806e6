#include "gateway/http2_relay.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unordered_map>

#include "base/control.h"
#include "gateway/held_tail.h"
#include "gateway/http2_exchange.h"
#include "gateway/http2_link.h"
#include "gateway/http_place.h"
#include "gateway/http_rewrite.h"
#include "gateway/pump.h"

namespace caisson {
namespace {

constexpr uint32_t kUpWindow = 256 * 1024, kDownWindow = 1024 * 1024;

constexpr std::string_view kNoAnswer = "{\"error\":\"the host ended without an answer\"}";
constexpr std::string_view kCantRead =
    "the host's answer is compressed, so secrets in it can't be masked";

class Http2Relay final : public Http2Link::Listener {
 public:
  Http2Relay(Core& core, Stream& client, Stream& upstream, Scheme scheme, const HostPort& where)
      : core_(core),
        scheme_(scheme),
        where_(where),
        upstream_stream_(upstream),
        deadline_(core.deadlines, &client.socket(), &upstream.socket()),
        up_window_(core, kUpWindow),
        down_window_(core, kDownWindow),
        client_(core.loop, client, deadline_, Http2Link::Role::kServer, *this, up_window_.size()),
        upstream_(core.loop, upstream, deadline_, Http2Link::Role::kClient, *this,
                  down_window_.size()),
        upstream_done_(core.loop),
        held_timer_(core.loop, [this] { look_at_held(); }) {
    deadline_.after(kIdleTime);
  }

  Task<> run() {
    spawn(core_.loop, run_upstream());
    co_await client_.run();
    upstream_.stop();
    co_await upstream_done_.wait();
  }

  bool must_reset() const { return must_reset_; }

 private:
  void on_message(Http2Link& link, int32_t id, Http2Message message) override {
    if (&link == &client_)
      take_request(id, std::move(message));
    else
      take_answer(id, std::move(message));
  }
  void on_trailers(Http2Link& link, int32_t id, HttpHead trailers) override;
  void on_data(Http2Link& link, int32_t id, std::string_view bytes) override;
  void on_end(Http2Link& link, int32_t id) override;
  void on_drained(Http2Link& link, int32_t id) override;
  void on_close(Http2Link& link, int32_t id, uint32_t code) override;
  void on_goaway(Http2Link& link) override {
    if (&link == &upstream_) client_.say_goodbye();
  }

  Task<> run_upstream() {
    co_await upstream_.run();
    upstream_ended();
    upstream_done_.set();
  }
  // What the host has answered to its end still goes to the client.
  void upstream_ended();
  void stop_when_served() {
    if (no_upstream_ && exchanges_.empty()) client_.stop();
  }

  void take_request(int32_t id, Http2Message message);
  void pass_request(int32_t id, HttpRequest request, bool ends);
  bool rewrite(Exchange2& exchange, HttpRequest& request, Verdict& verdict);
  void take_answer(int32_t upstream_id, Http2Message message);
  bool mask(Exchange2& exchange, HttpHead& answer);
  void refuse(int32_t id, const Verdict& verdict, unsigned status = 403);
  void withhold(int32_t id, Exchange2& exchange, std::string_view why);
  void answer(int32_t id, unsigned status, std::string_view json);
  void data_up(int32_t id, std::string_view bytes);
  void data_down(int32_t upstream_id, std::string_view bytes);
  void spend_budget();
  void refuse_body(int32_t id, Exchange2& exchange);
  void took_down(Exchange2& exchange) { upstream_.took(exchange.upstream_id, owed_.pay(exchange)); }
  void look_at_held();
  Clock::time_point let_go_up(int32_t id, Exchange2& exchange, Clock::time_point now);
  Clock::time_point let_go_down(int32_t id, Exchange2& exchange, Clock::time_point now);
  // The client's stream of an upstream one; 0 when there is none any more.
  int32_t client_id(int32_t upstream_id) const {
    auto found = by_upstream_.find(upstream_id);
    return found == by_upstream_.end() ? 0 : found->second;
  }
  Exchange2* find(int32_t id) {
    auto found = exchanges_.find(id);
    return found == exchanges_.end() ? nullptr : &found->second;
  }

  Core& core_;
  Scheme scheme_;
  HostPort where_;
  Stream& upstream_stream_;
  Deadline deadline_;
  WideWindow up_window_, down_window_;
  Http2Link client_, upstream_;
  Event upstream_done_;
  std::unordered_map<int32_t, Exchange2> exchanges_;  // by the client's stream
  std::unordered_map<int32_t, int32_t> by_upstream_;
  bool must_reset_ = false, no_upstream_ = false;
  OwedToHost owed_{down_window_.size()};
  HeldTimer held_timer_;
};

void Http2Relay::upstream_ended() {
  no_upstream_ = true;
  client_.say_goodbye();
  for (auto& [id, exchange] : exchanges_) {
    exchange.upstream_open = false;
    if (exchange.finished) continue;
    exchange.finished = true;
    if (exchange.answered)
      client_.reset(id, NGHTTP2_INTERNAL_ERROR);
    else
      answer(id, 502, kNoAnswer);
    exchange.answered = true;
  }
  by_upstream_.clear();
  stop_when_served();
}

void Http2Relay::spend_budget() {
  core_.deny({false, "byte budget", "the cell's byte budget is spent",
              "--upload-budget or --download-budget with a larger number"},
             where_, "http");
  must_reset_ = true;
  client_.stop();
  upstream_.stop();
}

void Http2Relay::answer(int32_t id, unsigned status, std::string_view json) {
  HttpHead head;
  head.status = status;
  head.fields = {{"content-type", "application/json"},
                 {"cache-control", "no-store"},
                 {"content-length", fmt::format("{}", json.size())}};
  client_.respond(id, head, Http2Link::Body::kFollows);
  client_.send(id, json);
  client_.finish(id);
}

void Http2Relay::refuse(int32_t id, const Verdict& verdict, unsigned status) {
  core_.deny(verdict, where_, "http");
  answer(id, status, denial_json({verdict, where_.host.text(), where_.port, "http"}));
}

void Http2Relay::take_request(int32_t id, Http2Message message) {
  if (message.scheme != scheme_name(scheme_) || message.head.count("Host") != 1 ||
      message.head.method == "CONNECT" || !is_request_target(message.head.target))
    return client_.reset(id, NGHTTP2_PROTOCOL_ERROR);
  PlacedRequest placed = place_request(std::move(message.head), {scheme_, where_});
  if (placed.mismatch)
    return refuse(id, *placed.mismatch, core_.config.require_host_match ? 421 : 403);
  if (!placed.request) return client_.reset(id, NGHTTP2_PROTOCOL_ERROR);
  const HttpHead& head = placed.request->head;
  Verdict verdict =
      core_.rules.request(scheme_, where_.host, where_.port, head.method, head.target);
  if (!control_enabled("gateway-requests")) verdict.allowed = true;
  if (!verdict.allowed) return refuse(id, verdict);
  pass_request(id, std::move(*placed.request), message.ends);
}

bool Http2Relay::rewrite(Exchange2& exchange, HttpRequest& request, Verdict& verdict) {
  HttpHead& head = request.head;
  head.remove("Proxy-Authorization");
  if (core_.secrets->empty()) return true;
  if (ResponseMask::must_ask_identity(*core_.secrets, where_.host, where_.port)) {
    exchange.masks = true;
    head.remove("Accept-Encoding");
    head.remove("grpc-accept-encoding");
    head.fields.push_back({"accept-encoding", "identity"});
    if (copies_part(head)) {
      verdict = {false, "secret", std::string(kCopiedPartCantBeMasked), "copy it whole"};
      return false;
    }
    ask_for_whole(head);
  }
  exchange.substitution.emplace(*core_.secrets, scheme_, where_.host, where_.port);
  verdict = exchange.substitution->target(head.target);
  for (HttpField& field : head.fields)
    if (verdict.allowed) verdict = exchange.substitution->header(field.name, field.value);
  exchange.filter.emplace(*exchange.substitution);
  if (is_grpc(head)) exchange.up_borders.emplace();
  BodyFrame body = request_body(head);
  std::optional<uint64_t> length;
  if (body.framing == Framing::kLength) length = body.length;
  // DATA has no need of a length, so a body that may change just doesn't tell one.
  if (exchange.substitution->body_plan(length) != BodyPlan::kAsIs) head.remove("content-length");
  return verdict.allowed;
}

void Http2Relay::pass_request(int32_t id, HttpRequest request, bool ends) {
  // Built in place: the filter refers to the substitution beside it.
  Exchange2& exchange = exchanges_[id];
  exchange.method = request.head.method;
  Verdict verdict;
  if (!rewrite(exchange, request, verdict)) {
    exchanges_.erase(id);
    return refuse(id, verdict);
  }
  if (!core_.traffic.count(Way::kUp, request.head.target.size())) return spend_budget();
  exchange.upstream_id =
      upstream_.request(request.head, scheme_name(scheme_), host_header(where_, scheme_),
                        ends ? Http2Link::Body::kNone : Http2Link::Body::kFollows);
  if (exchange.upstream_id < 0) {
    exchanges_.erase(id);
    return client_.reset(id, NGHTTP2_REFUSED_STREAM);  // the client may try again elsewhere
  }
  exchange.upstream_open = true;
  if (ends) exchange.sent_at = Clock::now();
  by_upstream_[exchange.upstream_id] = id;
}

// False: it can't be read, and might tell the secret.
bool Http2Relay::mask(Exchange2& exchange, HttpHead& answer) {
  if (!exchange.masks) return true;
  std::string encodings;
  bool messages = is_grpc(answer);
  bool keeps_length = messages || answer.find("content-length");
  exchange.mask.emplace(*core_.secrets,
                        keeps_length ? ResponseMask::Length::kKept : ResponseMask::Length::kFree);
  // A cell could have a host keep a value amid what looks like messages, one of which ends in the
  // middle of it, and say what type it is.
  bool kept = core_.secrets->may_be_kept_by(where_.host, where_.port);
  if (messages && exchange.up_borders && exchange.method == "POST" && !kept)
    exchange.down_borders.emplace();
  for (const HttpField& field : answer.fields)
    if (same_text(field.name, "content-encoding"))
      encodings += (encodings.empty() ? "" : ",") + field.value;
  exchange.mask->fields(answer.fields);
  return ResponseMask::can_read(encodings);
}

// An answer that might tell a secret; `why` has no quotes.
void Http2Relay::withhold(int32_t id, Exchange2& exchange, std::string_view why) {
  upstream_.reset(exchange.upstream_id, NGHTTP2_CANCEL);
  exchange.answered = exchange.finished = true;
  answer(id, 502, fmt::format("{{\"error\":\"{}\"}}", why));
}

void Http2Relay::take_answer(int32_t upstream_id, Http2Message message) {
  int32_t id = client_id(upstream_id);
  Exchange2* exchange = find(id);
  if (!exchange || exchange->answered) return;
  if (exchange->masks && is_part(message.head)) return withhold(id, *exchange, kPartCantBeMasked);
  message.head.remove("Proxy-Authenticate");
  strip_fields(message.head, core_.config.strip_response_headers);
  if (!mask(*exchange, message.head)) return withhold(id, *exchange, kCantRead);
  if (message.head.status < 200) return client_.inform(id, message.head);
  exchange->answered = true;
  exchange->finished = message.ends;
  client_.respond(id, message.head,
                  message.ends ? Http2Link::Body::kNone : Http2Link::Body::kFollows);
}

void Http2Relay::on_data(Http2Link& link, int32_t id, std::string_view bytes) {
  if (&link == &client_)
    data_up(id, bytes);
  else
    data_down(id, bytes);
}

void Http2Relay::data_up(int32_t id, std::string_view bytes) {
  Exchange2* exchange = find(id);
  if (!exchange || !exchange->upstream_open) return client_.took(id, bytes.size());
  if (!core_.traffic.count(Way::kUp, bytes.size())) return spend_budget();
  exchange->up_credit += bytes.size();
  if (!exchange->filter) return upstream_.send(exchange->upstream_id, bytes);
  std::string out;
  if (!exchange->filter_up(bytes, out)) return refuse_body(id, *exchange);
  upstream_.send(exchange->upstream_id, out);
  if (!exchange->holds_up()) return;
  exchange->up_came = Clock::now();
  held_timer_.look_at(exchange->up_came + kHeldFromCell);
}

void Http2Relay::refuse_body(int32_t id, Exchange2& exchange) {
  Verdict verdict = exchange.filter->refusal();
  upstream_.reset(exchange.upstream_id, NGHTTP2_CANCEL);
  if (exchange.answered) {
    core_.deny(verdict, where_, "http");
    return client_.reset(id, NGHTTP2_CANCEL);
  }
  exchange.answered = exchange.finished = true;
  refuse(id, verdict);
}

void Http2Relay::data_down(int32_t upstream_id, std::string_view bytes) {
  int32_t id = client_id(upstream_id);
  Exchange2* exchange = find(id);
  if (!exchange || exchange->finished) return upstream_.took(upstream_id, bytes.size());
  if (!core_.traffic.count(Way::kDown, bytes.size())) return spend_budget();
  owed_.add(*exchange, bytes.size());
  if (!exchange->mask) return client_.send(id, bytes);
  std::string out;
  exchange->mask_down(bytes, out);
  client_.send(id, out);
  if (!exchange->holds_down()) return;
  exchange->down_came = Clock::now();
  held_timer_.look_at(exchange->down_came + kHeldFromHost);
}

// What was undecided for long enough. No listener is called by what is submitted here.
void Http2Relay::look_at_held() {
  Clock::time_point now = Clock::now(), next = Clock::time_point::max();
  for (auto& [id, exchange] : exchanges_) {
    if (exchange.holds_up()) next = std::min(next, let_go_up(id, exchange, now));
    if (exchange.holds_down()) next = std::min(next, let_go_down(id, exchange, now));
  }
  held_timer_.look_at(next);
}

// When it must be looked at again.
Clock::time_point Http2Relay::let_go_up(int32_t id, Exchange2& exchange, Clock::time_point now) {
  if (now < exchange.up_came + kHeldFromCell) return exchange.up_came + kHeldFromCell;
  std::string rest;
  if (exchange.filter->finish(rest))
    upstream_.send(exchange.upstream_id, rest);
  else
    refuse_body(id, exchange);
  return Clock::time_point::max();
}

// held_tail.h has the rule, OwedToHost what holds a host up here.
Clock::time_point Http2Relay::let_go_down(int32_t id, Exchange2& exchange, Clock::time_point now) {
  Clock::time_point since = exchange.down_came;
  if (control_enabled("gateway-held-tail")) {
    std::array<uint8_t, 1> byte;
    bool more_is_here = upstream_stream_.socket().peek(byte).bytes != 0;
    since =
        std::max({since, owed_.host_was_held_up(exchange, now), exchange.sent_at.value_or(now)});
    if (more_is_here) since = now;
  }
  if (now < since + kHeldFromHost) return since + kHeldFromHost;
  std::string rest;
  exchange.mask->finish_body(rest);
  client_.send(id, rest);
  return Clock::time_point::max();
}

void Http2Relay::on_trailers(Http2Link& link, int32_t id, HttpHead trailers) {
  if (&link == &upstream_) {
    int32_t down = client_id(id);
    Exchange2* exchange = find(down);
    if (!exchange || exchange->finished) return;
    exchange->finished = true;
    strip_fields(trailers, core_.config.strip_response_headers);
    if (exchange->mask) {
      std::string rest;
      exchange->mask->finish_body(rest);
      client_.send(down, rest);
      exchange->mask->fields(trailers.fields);
    }
    return client_.finish(down, &trailers);
  }
  Exchange2* exchange = find(id);
  if (!exchange || !exchange->upstream_open) return;
  exchange->sent_at = Clock::now();
  std::string rest;
  bool fine = !exchange->filter || exchange->filter->finish(rest);
  for (HttpField& field : trailers.fields)
    if (fine && exchange->substitution)
      fine = exchange->substitution->header(field.name, field.value).allowed;
  if (!fine) return upstream_.reset(exchange->upstream_id, NGHTTP2_CANCEL);
  upstream_.send(exchange->upstream_id, rest);
  upstream_.finish(exchange->upstream_id, &trailers);
}

void Http2Relay::on_end(Http2Link& link, int32_t id) {
  std::string rest;
  if (&link == &client_) {
    Exchange2* exchange = find(id);
    if (!exchange || !exchange->upstream_open) return;
    exchange->sent_at = Clock::now();
    if (exchange->filter && !exchange->filter->finish(rest)) return refuse_body(id, *exchange);
    upstream_.send(exchange->upstream_id, rest);
    upstream_.finish(exchange->upstream_id);
  } else if (Exchange2* exchange = find(client_id(id)); exchange && !exchange->finished) {
    exchange->finished = true;
    if (exchange->mask) exchange->mask->finish_body(rest);
    client_.send(client_id(id), rest);
    client_.finish(client_id(id));
  }
}

// What one side has sent on, the other may send anew.
void Http2Relay::on_drained(Http2Link& link, int32_t id) {
  if (&link == &upstream_) {
    int32_t from = client_id(id);
    if (Exchange2* exchange = find(from)) client_.took(from, std::exchange(exchange->up_credit, 0));
  } else if (Exchange2* exchange = find(id)) {
    took_down(*exchange);  // the host's stream may have ended; the connection's window is for all
  }
}

void Http2Relay::on_close(Http2Link& link, int32_t id, uint32_t code) {
  if (&link == &upstream_) {
    int32_t down = client_id(id);
    by_upstream_.erase(id);
    Exchange2* exchange = find(down);
    if (!exchange) return;
    client_.took(down, std::exchange(exchange->up_credit, 0));
    exchange->upstream_open = false;
    if (exchange->finished) return;
    exchange->finished = true;
    if (exchange->answered)
      return client_.reset(down, code ? code : uint32_t{NGHTTP2_INTERNAL_ERROR});
    exchange->answered = true;
    return answer(down, 502, kNoAnswer);
  }
  Exchange2* exchange = find(id);
  if (!exchange) return;
  took_down(*exchange);
  if (exchange->upstream_open) {
    if (code != NGHTTP2_NO_ERROR || !exchange->finished)
      upstream_.reset(exchange->upstream_id, NGHTTP2_CANCEL);
    by_upstream_.erase(exchange->upstream_id);
  }
  exchanges_.erase(id);
  stop_when_served();
}

}  // namespace

Task<> relay_http2(Core& core, Stream& client, Stream& upstream, Scheme scheme,
                   const HostPort& where) {
  Http2Relay relay(core, client, upstream, scheme, where);
  co_await relay.run();
  if (relay.must_reset()) {
    client.socket().reset();
    upstream.socket().reset();
  }
}

}  // namespace caisson
