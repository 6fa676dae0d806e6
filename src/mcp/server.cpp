#include "mcp/server.h"

#include <algorithm>

#include <fmt/format.h>

namespace caisson::mcp {

namespace {

// The answers of a batch go back as one array, when the last of them is there.
class BatchOutlet : public Outlet {
 public:
  BatchOutlet(std::shared_ptr<Outlet> outlet, size_t expected)
      : outlet_(std::move(outlet)), expected_(expected) {}
  void notify(std::string message) override { outlet_->notify(std::move(message)); }
  void respond(std::string message, std::optional<Code>) override {
    answers_ += answers_.empty() ? "[" : ",";
    answers_ += message;
    if (--expected_ == 0) send();
  }
  // The others are not kept waiting for it.
  void abandon() override {
    if (--expected_ == 0) send();
  }
  bool congested() const override { return outlet_->congested(); }

 private:
  void send() {
    if (answers_.empty()) return outlet_->abandon();
    outlet_->respond(std::exchange(answers_, {}) + "]", std::nullopt);
  }

  std::shared_ptr<Outlet> outlet_;
  size_t expected_;
  std::string answers_;
};

size_t answers_expected(const Frame& frame) {
  return static_cast<size_t>(std::ranges::count_if(frame.parts, [](const auto& part) {
    const Message* message = std::get_if<Message>(&part);
    return !message || message->kind == Message::Kind::kRequest;
  }));
}

}  // namespace

void Server::add(const std::shared_ptr<Client>& client) {
  std::erase_if(clients_, [](const auto& known) { return known.expired(); });
  clients_.push_back(client);
}

void Server::receive(const std::shared_ptr<Client>& client, Frame frame,
                     const std::shared_ptr<Outlet>& outlet) {
  std::shared_ptr<Outlet> back = outlet;
  if (frame.batch) {
    if (client->version != kBatchVersion)
      return outlet->respond(error_text(nullptr, {Code::kInvalidRequest,
                                                  "one message at a time: batches belong to "
                                                  "protocol 2025-03-26 alone",
                                                  nullptr}),
                             Code::kInvalidRequest);
    back = std::make_shared<BatchOutlet>(outlet, answers_expected(frame));
  }
  for (auto& part : frame.parts) {
    if (Fault* fault = std::get_if<Fault>(&part))
      back->respond(error_text(fault->id, fault->error), fault->error.code);
    else
      take(client, std::move(std::get<Message>(part)), back);
  }
}

void Server::take(const std::shared_ptr<Client>& client, Message message,
                  const std::shared_ptr<Outlet>& outlet) {
  switch (message.kind) {
    case Message::Kind::kRequest:
      return start(client, std::move(message), outlet);
    case Message::Kind::kNotification:
      return notified(*client, message);
    case Message::Kind::kAnswer:
      return answered(*client, std::move(message));
  }
}

void Server::notified(Client& client, const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const json::value* id = message.params.if_contains("requestId");
  if (!id) return;
  auto found = client.running.find(id_key(*id));
  if (found == client.running.end()) return;
  // `initialize` can't be cancelled (the protocol's rule), and it is answered at once anyway.
  std::shared_ptr<Call> call = found->second;
  client.running.erase(found);
  call->cancel();
}

void Server::answered(Client& client, Message message) {
  auto found = client.asked.find(id_key(message.id));
  if (found == client.asked.end() || found->second->answer) return;
  if (message.failed) {
    std::string text = "the client refused";
    if (const json::object* error = message.answer.if_object())
      if (const json::value* told = error->if_contains("message"); told && told->is_string())
        text = std::string(told->get_string());
    found->second->answer = RpcError{Code::kInternal, std::move(text), nullptr};
  } else {
    found->second->answer = std::move(message.answer);
  }
  found->second->bell.ring();
}

void Server::close(const std::shared_ptr<Client>& client) {
  auto running = std::exchange(client->running, {});
  for (auto& [id, call] : running) call->cancel();
  client->outlet.reset();
}

void Server::finish(const std::shared_ptr<Call>& call, Answer answer, Caching caching) {
  json::object* result = std::get_if<json::object>(&answer);
  if (result && call->era == Era::kModern) dress_result(*result, offer_.info(), caching);
  auto found = call->client().running.find(id_key(call->id()));
  if (found != call->client().running.end() && found->second == call)
    call->client().running.erase(found);
  call->respond(std::move(answer));
}

Task<> Server::serve(Server* server, std::shared_ptr<Call> call, Task<Answer> task,
                     Caching caching) {
  Answer answer = co_await std::move(task);
  server->finish(call, std::move(answer), caching);
}

void Server::run(const std::shared_ptr<Call>& call, Task<Answer> task, Caching caching) {
  spawn(loop_, serve(this, call, std::move(task), caching));
}

}  // namespace caisson::mcp
