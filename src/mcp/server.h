// The dispatcher: messages of clients in, answers out. Requests run side by side.
#pragma once

#include <memory>
#include <vector>

#include "mcp/call.h"

namespace caisson::mcp {

inline constexpr size_t kMaxRunning = 64;  // requests of one client at once

class Server {
 public:
  Server(Loop& loop, Offer& offer) : loop_(loop), offer_(offer) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Lists that change are told to it as long as it lives.
  void add(const std::shared_ptr<Client>& client);
  void receive(const std::shared_ptr<Client>& client, Frame frame,
               const std::shared_ptr<Outlet>& outlet);
  // The client is gone: what runs for it is stopped.
  void close(const std::shared_ptr<Client>& client);

  // `what`: "tools", "resources" or "prompts".
  void list_changed(std::string_view what);
  void resource_updated(std::string_view uri);

  Loop& loop() const { return loop_; }
  Offer& offer() const { return offer_; }

 private:
  using Handler = void (Server::*)(const std::shared_ptr<Call>&);
  struct Method;
  static const Method kMethods[];

  void take(const std::shared_ptr<Client>& client, Message message,
            const std::shared_ptr<Outlet>& outlet);
  void start(const std::shared_ptr<Client>& client, Message message,
             const std::shared_ptr<Outlet>& outlet);
  void notified(Client& client, const Message& message);
  void answered(Client& client, Message message);
  std::optional<RpcError> judge(Call& call) const;
  void finish(const std::shared_ptr<Call>& call, Answer answer, Caching caching);
  void run(const std::shared_ptr<Call>& call, Task<Answer> task, Caching caching);
  static Task<> serve(Server* server, std::shared_ptr<Call> call, Task<Answer> task,
                      Caching caching);

  void initialize(const std::shared_ptr<Call>& call);
  void discover(const std::shared_ptr<Call>& call);
  void ping(const std::shared_ptr<Call>& call);
  void set_level(const std::shared_ptr<Call>& call);
  void list_tools(const std::shared_ptr<Call>& call);
  void list_resources(const std::shared_ptr<Call>& call);
  void list_templates(const std::shared_ptr<Call>& call);
  void list_prompts(const std::shared_ptr<Call>& call);
  void call_tool(const std::shared_ptr<Call>& call);
  void read_resource(const std::shared_ptr<Call>& call);
  void get_prompt(const std::shared_ptr<Call>& call);
  void complete(const std::shared_ptr<Call>& call);
  void subscribe(const std::shared_ptr<Call>& call);
  void unsubscribe(const std::shared_ptr<Call>& call);
  void listen(const std::shared_ptr<Call>& call);
  void list(const std::shared_ptr<Call>& call, std::string_view key, json::array all,
            Caching caching);
  void tell(std::string_view flag, std::string_view uri, std::string_view method,
            const json::object& params);

  Loop& loop_;
  Offer& offer_;
  std::vector<std::weak_ptr<Client>> clients_;
};

}  // namespace caisson::mcp
