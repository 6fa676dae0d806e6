#include "gateway/http2_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/control.h"
#include "gateway/http2_link.h"
#include "gateway/http_body.h"
#include "gateway/http_place.h"
#include "gateway/http_rewrite.h"
#include "gateway/pump.h"

namespace caisson {
namespace {

constexpr uint32_t kUpWindow = 256 * 1024, kDownWindow = 1024 * 1024;

constexpr std::string_view kNoAnswer = "{\"error\":\"the host ended without an answer\"}";
constexpr std::string_view kCantRead =
    "the host's answer is compressed, so secrets in it can't be masked";

// One request and its answer.
struct Exchange2 {
  int32_t upstream_id = -1;
  bool upstream_open = false;
  std::string method;
  std::optional<Substitution> substitution;
  std::optional<SubstitutionFilter> filter;
  std::optional<ResponseMask> mask;
  bool masks = false;
  bool answered = false;                  // the answer's head went to the client
  bool finished = false;                  // and its end
  size_t up_credit = 0, down_credit = 0;  // bytes that came and weren't told as taken
};

// A window that is larger than HTTP/2's own, as long as all of them together are bounded: a cell
// that opens a thousand connections and reads nothing must not fill the host's memory.
class WideWindow {
 public:
  static constexpr uint64_t kAll = 16 * 1024 * 1024;

  WideWindow(Core& core, uint32_t size) : core_(core) {
    if (core.http2_windows + size <= kAll) size_ = size;
    core.http2_windows += size_;
  }
  WideWindow(const WideWindow&) = delete;
  WideWindow& operator=(const WideWindow&) = delete;
  ~WideWindow() { core_.http2_windows -= size_; }
  uint32_t size() const { return std::max(size_, Http2Link::kLeastWindow); }

 private:
  Core& core_;
  uint32_t size_ = 0;
};

class Http2Relay final : public Http2Link::Listener {
 public:
  Http2Relay(Core& core, Stream& client, Stream& upstream, Scheme scheme, const HostPort& where)
      : core_(core),
        scheme_(scheme),
        where_(where),
        deadline_(core.deadlines, &client.socket(), &upstream.socket()),
        up_window_(core, kUpWindow),
        down_window_(core, kDownWindow),
        client_(core.loop, client, deadline_, Http2Link::Role::kServer, *this, up_window_.size()),
        upstream_(core.loop, upstream, deadline_, Http2Link::Role::kClient, *this,
                  down_window_.size()),
        upstream_done_(core.loop) {
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
  Deadline deadline_;
  WideWindow up_window_, down_window_;
  Http2Link client_, upstream_;
  Event upstream_done_;
  std::unordered_map<int32_t, Exchange2> exchanges_;  // by the client's stream
  std::unordered_map<int32_t, int32_t> by_upstream_;
  bool must_reset_ = false, no_upstream_ = false;
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
  by_upstream_[exchange.upstream_id] = id;
}

// False: it can't be read, and might tell the secret.
bool Http2Relay::mask(Exchange2& exchange, HttpHead& answer) {
  if (!exchange.masks) return true;
  std::string encodings;
  bool length_told = answer.find("content-length") != nullptr;
  exchange.mask.emplace(*core_.secrets,
                        length_told ? ResponseMask::Length::kKept : ResponseMask::Length::kFree);
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
  if (!exchange->filter->feed(bytes, out)) {
    Verdict verdict = exchange->filter->refusal();
    upstream_.reset(exchange->upstream_id, NGHTTP2_CANCEL);
    if (exchange->answered) {
      core_.deny(verdict, where_, "http");
      return client_.reset(id, NGHTTP2_CANCEL);
    }
    exchange->answered = exchange->finished = true;
    return refuse(id, verdict);
  }
  upstream_.send(exchange->upstream_id, out);
}

void Http2Relay::data_down(int32_t upstream_id, std::string_view bytes) {
  int32_t id = client_id(upstream_id);
  Exchange2* exchange = find(id);
  if (!exchange || exchange->finished) return upstream_.took(upstream_id, bytes.size());
  if (!core_.traffic.count(Way::kDown, bytes.size())) return spend_budget();
  exchange->down_credit += bytes.size();
  if (!exchange->mask) return client_.send(id, bytes);
  std::string out;
  exchange->mask->body(bytes, out);
  client_.send(id, out);
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
    if (exchange->filter && !exchange->filter->finish(rest)) {
      upstream_.reset(exchange->upstream_id, NGHTTP2_CANCEL);
      core_.deny(exchange->filter->refusal(), where_, "http");
      return client_.reset(id, NGHTTP2_CANCEL);
    }
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
    // The host's stream may have ended; the connection's window is one for all.
    upstream_.took(exchange->upstream_id, std::exchange(exchange->down_credit, 0));
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
  upstream_.took(exchange->upstream_id, exchange->down_credit);
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
