#include "mcp/http_endpoint.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "mcp/scope.h"

namespace caisson::mcp {

namespace {

constexpr size_t kCongested = 1 << 20;
// Clients give up on an answer without a first byte, and on a stream without a sign of life.
constexpr auto kFirstByte = std::chrono::seconds(1);
constexpr auto kAlive = std::chrono::seconds(15);

bool accepts_events(const http::Request& request) {
  return request.lists("Accept", "text/event-stream") || request.lists("Accept", "*/*");
}

http::Response json_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

http::Response event_head() {
  return {200,
          {{"Content-Type", "text/event-stream"},
           {"Cache-Control", "no-cache"},
           {"X-Accel-Buffering", "no"}},
          {}};
}

bool has_request(const Frame& frame) {
  return std::ranges::any_of(frame.parts, [](const auto& part) {
    const Message* message = std::get_if<Message>(&part);
    return !message || message->kind == Message::Kind::kRequest;
  });
}

const Message* only_message(const Frame& frame) {
  return frame.batch ? nullptr : std::get_if<Message>(&frame.parts.front());
}

// Named and moved, never a temporary inside the co_await: GCC 12 destroys those twice.
Task<> send(http::Reply& reply, http::Response response) {
  Result<void> sent = co_await reply.send(std::move(response));
  (void)sent;  // the client is gone; nobody is left to tell
}

http::Response rpc_refusal(int status, const json::value& id, const RpcError& error) {
  return json_response(status, error_text(id, error));
}

}  // namespace

// The messages of one request on their way: plain JSON when the answer is all there is, a stream of
// events when something comes before it.
class HttpEndpoint::Stream : public Outlet {
 public:
  explicit Stream(Loop& loop) : bell_(loop) {}

  void notify(std::string message) override { put(std::move(message)); }
  void respond(std::string message, std::optional<Code> error) override {
    error_ = error;
    put(std::move(message));
    end();
  }
  void abandon() override { end(); }
  bool congested() const override { return waiting_ > kCongested; }

  void end() {
    done_ = true;
    bell_.ring();
  }

  Task<> pump(http::Reply& reply, Era era, bool events, std::vector<http::Field> fields);

 private:
  void put(std::string message) {
    if (done_) return;
    waiting_ += message.size();
    messages_.push_back(std::move(message));
    bell_.ring();
  }
  std::string next() {
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    waiting_ -= message.size();
    return message;
  }

  http::Bell bell_;
  std::deque<std::string> messages_;
  size_t waiting_ = 0;
  std::optional<Code> error_;
  bool done_ = false;
};

Task<> HttpEndpoint::Stream::pump(http::Reply& reply, Era era, bool events,
                                  std::vector<http::Field> fields) {
  // A client that takes no events gets the answer alone.
  while (!events && !done_) co_await bell_.wait();
  while (!events && messages_.size() > 1) next();
  auto late = http::Clock::now() + kFirstByte;
  while (messages_.empty() && !done_ && http::Clock::now() < late) co_await bell_.wait_until(late);
  if (done_ && messages_.size() <= 1) {
    http::Response response;
    response.status = 202;
    if (!messages_.empty()) response = json_response(status_of(error_, era), next());
    response.fields.insert(response.fields.end(), fields.begin(), fields.end());
    co_await send(reply, std::move(response));
    co_return;
  }
  http::Response head = event_head();
  head.fields.insert(head.fields.end(), fields.begin(), fields.end());
  Result<void> sent = co_await reply.begin(std::move(head));
  while (sent) {
    while (sent && !messages_.empty()) {
      std::string event = fmt::format("event: message\ndata: {}\n\n", next());
      sent = co_await reply.write(event);
    }
    if (done_) break;
    auto silent = http::Clock::now() + kAlive;
    co_await bell_.wait_until(silent);
    if (messages_.empty() && !done_ && http::Clock::now() >= silent)
      sent = co_await reply.write(": still here\n\n");
  }
  Result<void> ignored = co_await reply.finish();
  (void)ignored;
}

Task<> HttpEndpoint::handle(http::Request& request, http::Reply& reply) {
  if (request.method == "POST") co_return co_await post(request, reply);
  // What the modern era has instead of both is a POST.
  bool legacy = request.find("Mcp-Session-Id") != nullptr;
  if (legacy && request.method == "GET") co_return co_await open_stream(request, reply);
  if (legacy && request.method == "DELETE") co_return co_await end_session(request, reply);
  http::Response response = http::refusal(405, "this address takes POST");
  response.fields.push_back({"Allow", "POST"});
  co_await send(reply, std::move(response));
}

Task<> HttpEndpoint::post(http::Request& request, http::Reply& reply) {
  if (!request.has_type("application/json")) {
    http::Response response = http::refusal(415, "the body must be application/json");
    co_await send(reply, std::move(response));
    co_return;
  }
  Frame frame = parse_frame(request.body);
  Era era = era_of(request, frame);
  if (era == Era::kModern) co_return co_await post_modern(request, reply, std::move(frame));
  co_await post_legacy(request, reply, std::move(frame));
}

Task<> HttpEndpoint::post_modern(http::Request& request, http::Reply& reply, Frame frame) {
  const Message* message = only_message(frame);
  if (message) {
    if (auto error = check_headers(request, *message)) {
      http::Response response = rpc_refusal(400, message->id, *error);
      co_await send(reply, std::move(response));
      co_return;
    }
  }
  auto client = std::make_shared<Client>();
  client->scope = "http";
  client->has_default_session = false;
  client->only = Era::kModern;
  server_.add(client);
  auto stream = std::make_shared<Stream>(server_.loop());
  bool answers = has_request(frame);
  // A closed stream is how this era cancels.
  reply.on_gone([this, client, stream] {
    server_.close(client);
    stream->end();
  });
  server_.receive(client, std::move(frame), stream);
  if (!answers) stream->end();
  std::vector<http::Field> fields;
  co_await stream->pump(reply, Era::kModern, accepts_events(request), std::move(fields));
  server_.close(client);
}

HttpEndpoint::PeerPointer HttpEndpoint::find(const http::Request& request) {
  const std::string* id = request.find("Mcp-Session-Id");
  auto found = id ? peers_.find(*id) : peers_.end();
  if (found == peers_.end()) return nullptr;
  found->second->last = http::Clock::now();
  return found->second;
}

void HttpEndpoint::drop(const std::string& id) {
  auto found = peers_.find(id);
  if (found == peers_.end()) return;
  PeerPointer peer = found->second;
  peers_.erase(found);
  server_.close(peer->client);
  if (ended_) ended_(peer->client->scope);
}

// A place for one more: those that were idle for an hour leave theirs, and when all are taken, the
// one that was idle the longest.
std::string HttpEndpoint::admit(PeerPointer& peer) {
  auto now = http::Clock::now();
  std::vector<std::string> old;
  std::string idlest;
  auto since = now;
  for (auto& [id, one] : peers_) {
    bool idle = one->streams == 0 && one->client->running.empty();
    if (idle && now - one->last > kIdle) old.push_back(id);
    if (idle && one->last < since) since = one->last, idlest = id;
  }
  for (const std::string& id : old) drop(id);
  if (peers_.size() >= kMaxSessions && !idlest.empty()) drop(idlest);
  if (peers_.size() >= kMaxSessions) return {};
  peer = std::make_shared<Peer>();
  peer->client = std::make_shared<Client>();
  peer->client->scope = random_scope();
  peer->client->only = Era::kLegacy;
  peer->last = now;
  server_.add(peer->client);
  std::string id = random_scope() + random_scope();
  peers_[id] = peer;
  return id;
}

Task<> HttpEndpoint::post_legacy(http::Request& request, http::Reply& reply, Frame frame) {
  const std::string* version = request.find("MCP-Protocol-Version");
  const Message* message = only_message(frame);
  bool first =
      message && message->kind == Message::Kind::kRequest && message->method == "initialize";
  std::optional<http::Response> refused;
  if (version && !first && !is_legacy_version(*version))
    refused = rpc_refusal(
        400, nullptr, {Code::kInvalidRequest, "MCP-Protocol-Version isn't one we speak", nullptr});
  PeerPointer peer = first ? nullptr : find(request);
  std::vector<http::Field> fields;
  if (first && !refused) {
    std::string id = admit(peer);
    if (id.empty()) refused = http::refusal(503, "too many sessions", "end one of them by DELETE");
    fields.push_back({"Mcp-Session-Id", id});
  } else if (!peer && !refused) {
    bool named = request.find("Mcp-Session-Id") != nullptr;
    refused = rpc_refusal(named ? 404 : 400, message ? message->id : json::value(nullptr),
                          {Code::kInvalidRequest,
                           named ? "this session is over: send `initialize` again"
                                 : "the header Mcp-Session-Id is missing: send `initialize` first",
                           nullptr});
  }
  if (refused) {
    co_await send(reply, std::move(*refused));
    co_return;
  }
  auto stream = std::make_shared<Stream>(server_.loop());
  ++peer->streams;
  ScopeExit less([&peer] { --peer->streams; });
  bool answers = has_request(frame);
  // In this era a lost connection cancels nothing; only nobody hears the answer.
  reply.on_gone([stream] { stream->end(); });
  server_.receive(peer->client, std::move(frame), stream);
  if (!answers) stream->end();
  co_await stream->pump(reply, Era::kLegacy, accepts_events(request), std::move(fields));
}

// GET: what belongs to no request.
Task<> HttpEndpoint::open_stream(http::Request& request, http::Reply& reply) {
  PeerPointer peer = find(request);
  std::optional<http::Response> refused;
  if (!peer)
    refused = http::refusal(404, "this session is over");
  else if (!accepts_events(request))
    refused = http::refusal(406, "this answers with text/event-stream");
  if (refused) {
    co_await send(reply, std::move(*refused));
    co_return;
  }
  auto stream = std::make_shared<Stream>(server_.loop());
  // The newest one gets the messages; the one before has been lost, or will be.
  if (auto* before = dynamic_cast<Stream*>(peer->client->outlet.get())) before->end();
  peer->client->outlet = stream;
  ++peer->streams;
  ScopeExit less([&peer] { --peer->streams; });
  reply.on_gone([stream] { stream->end(); });
  std::vector<http::Field> fields;
  co_await stream->pump(reply, Era::kLegacy, true, std::move(fields));
  if (peer->client->outlet == stream) peer->client->outlet.reset();
}

Task<> HttpEndpoint::end_session(http::Request& request, http::Reply& reply) {
  bool known = find(request) != nullptr;
  if (known) drop(std::string(*request.find("Mcp-Session-Id")));
  http::Response response;
  response.status = 204;
  if (!known) response = http::refusal(404, "this session is over");
  co_await send(reply, std::move(response));
}

}  // namespace caisson::mcp
