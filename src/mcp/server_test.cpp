#include "mcp/server.h"

#include <gtest/gtest.h>

#include "mcp/fake_session.h"
#include "mcp/rlm_offer.h"

namespace caisson::mcp {
namespace {

struct Recorder : Outlet {
  void notify(std::string message) override { told.push_back(json::parse(message)); }
  void respond(std::string message, std::optional<Code>) override {
    told.push_back(json::parse(message));
  }
  void abandon() override { ++abandoned; }
  json::array told;
  int abandoned = 0;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    client->scope = "scope";
    client->version = "2025-11-25";
    server.add(client);
  }

  // What still runs refers to its client, and the client to it.
  void TearDown() override {
    server.close(client);
    settle();
  }

  void send(std::string_view text) {
    server.receive(client, parse_frame(text), outlet);
    settle();
  }
  void call(int id, std::string_view tool, json::object arguments) {
    send(json::serialize(
        json::object{{"jsonrpc", "2.0"},
                     {"id", id},
                     {"method", "tools/call"},
                     {"params", json::object{{"name", tool},
                                             {"arguments", std::move(arguments)},
                                             {"_meta", json::object{{"progressToken", id}}}}}}));
  }
  void cancel(int id) {
    send(json::serialize(json::object{{"jsonrpc", "2.0"},
                                      {"method", "notifications/cancelled"},
                                      {"params", json::object{{"requestId", id}}}}));
  }
  // Runs everything that can run without waiting for a clock.
  void settle() {
    loop.restart();
    loop.poll();
  }
  // The answer to a request; null when there is none.
  json::value answer(int id) const {
    for (const json::value& message : outlet->told) {
      const json::object& object = message.as_object();
      if (!object.contains("method") && object.contains("id") && object.at("id") == id)
        return message;
    }
    return nullptr;
  }
  std::string text(int id) const {
    return std::string(answer(id).at("result").at("content").at(0).at("text").as_string().c_str());
  }

  Loop loop{1};
  FakeHost* host = nullptr;
  Sessions sessions{loop,
                    [this](Loop& on) -> Result<std::unique_ptr<session::SessionHost>> {
                      auto made = std::make_unique<FakeHost>(on);
                      host = made.get();
                      return std::unique_ptr<session::SessionHost>(std::move(made));
                    },
                    {}};
  RlmOffer offer{sessions, {"/project", "/home/me"}, [](Client& one) { one.scope = "late"; }};
  Server server{loop, offer};
  std::shared_ptr<Client> client = std::make_shared<Client>();
  std::shared_ptr<Recorder> outlet = std::make_shared<Recorder>();
};

TEST_F(ServerTest, NothingIsMadeBeforeTheFirstCall) {
  send(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_EQ(answer(1).at("result").at("tools").as_array().size(), size_t{kToolCount});
  EXPECT_EQ(host, nullptr);
  call(2, "rlm_exec", {{"code", "hello"}});
  EXPECT_EQ(text(2), "hello");
  EXPECT_EQ(host->made, std::vector<std::string>{"scope.main"});
}

TEST_F(ServerTest, CallsOfOneSessionWaitForEachOtherAndThoseOfAnotherDoNot) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(2, "rlm_exec", {{"code", "second"}});
  call(3, "rlm_exec", {{"code", "elsewhere"}, {"session", "other"}});
  EXPECT_TRUE(answer(1).is_null());
  EXPECT_TRUE(answer(2).is_null());
  EXPECT_EQ(text(3), "elsewhere");
  host->sessions["scope.main"]->interrupt();
  settle();
  EXPECT_EQ(text(2), "second");
  EXPECT_TRUE(answer(1).at("result").at("isError").as_bool());
}

TEST_F(ServerTest, CancellingTheRunningCallInterruptsItAndHasNoAnswer) {
  call(1, "rlm_exec", {{"code", "wait"}});
  cancel(1);
  EXPECT_EQ(host->sessions["scope.main"]->interrupts, 1);
  EXPECT_TRUE(answer(1).is_null());
  EXPECT_EQ(outlet->abandoned, 1);
  EXPECT_TRUE(client->running.empty());
  call(2, "rlm_exec", {{"code", "free"}});
  EXPECT_EQ(text(2), "free");
}

TEST_F(ServerTest, CancellingAWaitingCallLeavesTheRunningOneAlone) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(2, "rlm_exec", {{"code", "never"}});
  call(3, "rlm_exec", {{"code", "third"}});
  cancel(2);
  EXPECT_EQ(host->sessions["scope.main"]->interrupts, 0);
  host->sessions["scope.main"]->interrupt();
  settle();
  EXPECT_EQ(text(3), "third");
  EXPECT_EQ(host->sessions["scope.main"]->codes, (std::vector<std::string>{"wait", "third"}));
}

TEST_F(ServerTest, AResetStopsTheRunningCallAndSendsAwayThoseThatWait) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(2, "rlm_exec", {{"code", "never"}});
  call(3, "rlm_reset", {});
  EXPECT_EQ(text(3), "Sandbox reset.");
  EXPECT_NE(text(1).find("rlm_reset stopped it"), std::string::npos);
  EXPECT_NE(text(2).find("was reset"), std::string::npos);
  EXPECT_EQ(host->sessions["scope.main"]->codes, std::vector<std::string>{"wait"});
  call(4, "rlm_exec", {{"code", "after"}});
  EXPECT_EQ(text(4), "after");
}

TEST_F(ServerTest, ACallWaitsNoLongerThanItsTimeout) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(2, "rlm_exec", {{"code", "never"}, {"timeout", 0.001}});
  while (answer(2).is_null()) loop.run_one();
  EXPECT_NE(text(2).find("the session is busy"), std::string::npos);
  EXPECT_TRUE(answer(1).is_null());
  host->sessions["scope.main"]->interrupt();
  settle();
  EXPECT_EQ(host->sessions["scope.main"]->codes, std::vector<std::string>{"wait"});
}

TEST_F(ServerTest, NamesThatWereMadeUpMakeRoomAndTheOldestThatNobodyUsedGoesFirst) {
  client->has_default_session = false;
  client->scope = "http";
  auto name_in = [this](int id) {
    std::string said = text(id);
    said = said.substr(said.find("[session] ") + 10);
    return said.substr(0, said.find(':'));
  };
  call(1, "rlm_exec", {{"code", "1"}});
  std::string used = name_in(1);
  call(2, "rlm_exec", {{"code", "1"}, {"session", used}});
  int most = static_cast<int>(Sessions::kMaxSessions);
  for (int id = 3; id < 3 + 2 * most; ++id) {
    call(id, "rlm_exec", {{"code", "1"}});
    EXPECT_FALSE(answer(id).at("result").as_object().contains("isError")) << id;
  }
  EXPECT_TRUE(sessions.has("http", used));
  EXPECT_FALSE(sessions.has("http", name_in(3)));
  EXPECT_TRUE(sessions.has("http", name_in(2 + 2 * most)));
  EXPECT_EQ(sessions.names("http").size(), Sessions::kMaxSessions);
}

TEST_F(ServerTest, AClientThatGoesStopsEverythingOfItsOwn) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(2, "rlm_exec", {{"code", "wait"}, {"session", "b"}});
  call(3, "rlm_exec", {{"code", "never"}});
  server.close(client);
  settle();
  EXPECT_EQ(host->sessions["scope.main"]->interrupts, 1);
  EXPECT_EQ(host->sessions["scope.b"]->interrupts, 1);
  EXPECT_EQ(host->sessions["scope.main"]->codes.size(), 1u);
}

TEST_F(ServerTest, ASessionThatDiedIsMadeAnew) {
  call(1, "rlm_exec", {{"code", "die"}});
  EXPECT_TRUE(answer(1).at("result").at("isError").as_bool());
  call(2, "rlm_exec", {{"code", "again"}});
  EXPECT_EQ(text(2), "again");
  EXPECT_EQ(host->made.size(), 2u);
}

TEST_F(ServerTest, AnIdInUseIsRefused) {
  call(1, "rlm_exec", {{"code", "wait"}});
  call(1, "rlm_exec", {{"code", "twice"}});
  EXPECT_EQ(answer(1).at("error").at("code"), static_cast<int>(Code::kInvalidRequest));
  EXPECT_EQ(host->sessions["scope.main"]->codes.size(), 1u);
  server.close(client);
  settle();
}

TEST_F(ServerTest, ABatchIsAnsweredAsOneArrayEvenIfAPartIsCancelled) {
  client->version = kBatchVersion;
  send(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},
           {"jsonrpc":"2.0","id":2,"method":"tools/call","params":
             {"name":"rlm_exec","arguments":{"code":"wait"}}}])");
  EXPECT_TRUE(outlet->told.empty());
  cancel(2);
  ASSERT_EQ(outlet->told.size(), 1u);
  EXPECT_EQ(outlet->told[0].as_array().size(), 1u);
}

TEST_F(ServerTest, RelativePathsStartAtTheProjectAndTildesAtHome) {
  call(1, "rlm_load", {{"path", "a.txt"}, {"var_name", "a"}});
  call(2, "rlm_load", {{"path", "~/b.txt"}, {"var_name", "b"}});
  call(3, "rlm_load", {{"path", "/c.txt"}, {"var_name", "c"}});
  EXPECT_EQ(host->sessions["scope.main"]->loaded,
            (std::vector<std::string>{"/project/a.txt", "/home/me/b.txt", "/c.txt"}));
}

TEST_F(ServerTest, ScopesAreApartEvenUnderOneName) {
  call(1, "rlm_exec", {{"code", "1"}, {"session", "x"}});
  auto other = std::make_shared<Client>();
  other->version = "2025-11-25";
  client = other;
  call(2, "rlm_exec", {{"code", "2"}, {"session", "x"}});
  EXPECT_EQ(host->made, (std::vector<std::string>{"scope.x", "late.x"}));
}

TEST_F(ServerTest, ResettingANamedSessionGivesItsPlaceBack) {
  call(1, "rlm_exec", {{"code", "1"}, {"session", "x"}});
  call(2, "rlm_reset", {{"session", "x"}});
  EXPECT_EQ(text(2), "Sandbox reset.");
  EXPECT_EQ(host->ended, std::vector<std::string>{"scope.x"});
  EXPECT_TRUE(sessions.names("scope").empty());
}

TEST_F(ServerTest, ThereIsAnEndToSessions) {
  for (int i = 0; i < static_cast<int>(Sessions::kMaxSessions) + 1; ++i)
    call(i + 1, "rlm_exec", {{"code", "1"}, {"session", "s" + std::to_string(i)}});
  EXPECT_TRUE(answer(Sessions::kMaxSessions + 1).at("result").as_object().contains("isError"));
  EXPECT_EQ(host->made.size(), Sessions::kMaxSessions);
  // One that nobody has used for an hour makes room.
  (*sessions.seat("scope", "s3"))->last -= Sessions::kIdle + std::chrono::seconds(1);
  call(100, "rlm_exec", {{"code", "1"}, {"session", "new"}});
  EXPECT_EQ(text(100), "1");
  EXPECT_EQ(host->ended, std::vector<std::string>{"scope.s3"});
}

TEST_F(ServerTest, TheEndSavesWhatIsKeptAndKillsTheRest) {
  sessions.keep_state();
  call(1, "rlm_exec", {{"code", "1"}});
  call(2, "rlm_exec", {{"code", "wait"}, {"session", "busy"}});
  spawn(loop, sessions.end_all(std::chrono::milliseconds(50)));
  settle();
  EXPECT_EQ(host->ended, std::vector<std::string>{"scope.main saved"});
  EXPECT_TRUE(host->killed);
}

}  // namespace
}  // namespace caisson::mcp
