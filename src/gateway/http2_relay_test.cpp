#include "gateway/http2_relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>

#include "gateway/held_tail.h"
#include "gateway/http2_link.h"

namespace caisson {
namespace {

// One side of a test: collects what comes, and may answer.
class TestSide final : public Http2Link::Listener {
 public:
  struct Seen {
    HttpHead head, trailers;
    std::string body;
    bool ended = false, closed = false;
    uint32_t code = 0;
  };
  std::map<int32_t, Seen> seen;
  std::function<void(Http2Link&, int32_t)> when_ended, when_closed, when_data;
  bool takes = true;  // what comes; else the peer may send no more than a window

  void on_message(Http2Link& link, int32_t id, Http2Message message) override {
    seen[id].head = std::move(message.head);
    if (message.ends) on_end(link, id);
  }
  void on_trailers(Http2Link& link, int32_t id, HttpHead trailers) override {
    seen[id].trailers = std::move(trailers);
    on_end(link, id);
  }
  void on_data(Http2Link& link, int32_t id, std::string_view bytes) override {
    seen[id].body += bytes;
    if (takes) link.took(id, bytes.size());
    if (when_data) when_data(link, id);
  }
  void on_end(Http2Link& link, int32_t id) override {
    seen[id].ended = true;
    if (when_ended) when_ended(link, id);
  }
  void on_drained(Http2Link&, int32_t) override {}
  void on_close(Http2Link& link, int32_t id, uint32_t code) override {
    seen[id].closed = true;
    seen[id].code = code;
    if (when_closed) when_closed(link, id);
  }
  void on_goaway(Http2Link&) override {}
};

std::pair<std::unique_ptr<PlainStream>, std::unique_ptr<PlainStream>> stream_pair(Loop& loop) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  return {std::make_unique<PlainStream>(Socket(loop, UniqueFd(ends[0]))),
          std::make_unique<PlainStream>(Socket(loop, UniqueFd(ends[1])))};
}

// A client and a host with a relay between them.
class Http2RelayTest : public ::testing::Test {
 protected:
  void start(RuleTexts rules, std::vector<Secret> secrets = {}) {
    GatewayConfig config;
    config.rules = std::move(rules);
    config.secrets = std::move(secrets);
    core = std::move(Core::make(std::move(config))).value();
    std::tie(client_stream, inner_client) = stream_pair(core->loop);
    std::tie(inner_host, host_stream) = stream_pair(core->loop);
    deadline.emplace(core->deadlines, nullptr);
    client.emplace(core->loop, *client_stream, *deadline, Http2Link::Role::kClient, client_side);
    host.emplace(core->loop, *host_stream, *deadline, Http2Link::Role::kServer, host_side);
    spawn(core->loop, client->run());
    spawn(core->loop, host->run());
    spawn(core->loop, relay_http2(*core, *inner_client, *inner_host, Scheme::kHttps, where));
    client_side.when_closed = [this](Http2Link&, int32_t) { core->loop.stop(); };
  }
  void TearDown() override {
    // The links are the frames' before they are ours.
    client_stream->socket().abort();
    host_stream->socket().abort();
    core->loop.restart();
    core->loop.run_for(std::chrono::seconds(5));
  }
  // Until one of the client's streams is over.
  void run() {
    core->loop.restart();
    core->loop.run_for(std::chrono::seconds(20));
  }
  static HttpHead request(std::string method, std::string path) {
    HttpHead head;
    head.method = std::move(method);
    head.target = std::move(path);
    return head;
  }
  static HttpHead ok() {
    HttpHead head;
    head.status = 200;
    return head;
  }

  bool range_arrives() {
    bool arrived = false;
    host_side.when_ended = [&](Http2Link& link, int32_t id) {
      arrived = host_side.seen[id].head.find("range") != nullptr;
      link.respond(id, ok(), Http2Link::Body::kNone);
    };
    HttpHead head = request("GET", "/");
    head.fields = {{"range", "bytes=0-1"}};
    int32_t id = client->request(head, "https", "a.test", Http2Link::Body::kNone);
    run();
    EXPECT_EQ(client_side.seen[id].head.status, 200u);
    return arrived;
  }

  static Secret key() {
    Secret secret{.name = "KEY", .value = "the-real-value-0123", .hosts = {"a.test"}};
    secret.placeholder = "caisson_KEY_00112233445566778899aabbccddeeff";
    return secret;
  }

  // What the client has of an answer of that head.
  TestSide::Seen answered_with(HttpHead answer, HttpHead asked = request("GET", "/")) {
    host_side.when_ended = [&](Http2Link& link, int32_t id) {
      link.respond(id, answer, Http2Link::Body::kFollows);
      link.send(id, "body");
      HttpHead trailers;
      trailers.fields = {{"x-the-real-value-0123", "1"}, {"grpc-status", "0"}};
      link.finish(id, &trailers);
    };
    int32_t id = client->request(asked, "https", "a.test", Http2Link::Body::kNone);
    run();
    return client_side.seen[id];
  }

  static HttpHead of_grpc(HttpHead head) {
    head.fields.push_back({"content-type", "application/grpc+proto"});
    return head;
  }
  static std::string message(const std::string& text) {
    return std::string(4, '\0') + static_cast<char>(text.size()) + text;
  }
  // How long it takes until the client has that body.
  std::chrono::steady_clock::duration time_until(int32_t id, const std::string& body) {
    client_side.when_data = [&](Http2Link&, int32_t) {
      if (client_side.seen[id].body == body) core->loop.stop();
    };
    auto began = std::chrono::steady_clock::now();
    run();
    EXPECT_EQ(client_side.seen[id].body, body);
    client_side.when_data = nullptr;
    return std::chrono::steady_clock::now() - began;
  }

  HostPort where{Host{"a.test", std::nullopt}, 443};
  std::unique_ptr<Core> core;
  std::unique_ptr<PlainStream> client_stream, inner_client, inner_host, host_stream;
  TestSide client_side, host_side;
  std::optional<Deadline> deadline;
  std::optional<Http2Link> client, host;
};

TEST_F(Http2RelayTest, RequestsBodiesAndTrailersPassBothWays) {
  start({.allow = {"a.test"}});
  host_side.when_ended = [this](Http2Link& link, int32_t id) {
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, "echo:" + host_side.seen[id].body);
    HttpHead trailers;
    trailers.fields = {{"grpc-status", "0"}};
    link.finish(id, &trailers);
  };
  HttpHead head = request("POST", "/service/Method");
  head.fields = {{"te", "trailers"}, {"content-type", "application/grpc"}};
  int32_t id = client->request(head, "https", "a.test", Http2Link::Body::kFollows);
  client->send(id, "hello");
  client->finish(id);
  run();
  EXPECT_EQ(client_side.seen[id].head.status, 200u);
  EXPECT_EQ(client_side.seen[id].body, "echo:hello");
  ASSERT_TRUE(client_side.seen[id].trailers.find("grpc-status"));
  const TestSide::Seen& asked = host_side.seen[1];
  EXPECT_EQ(asked.head.target, "/service/Method");
  EXPECT_EQ(*asked.head.find("Host"), "a.test");
  EXPECT_EQ(*asked.head.find("te"), "trailers");
}

TEST_F(Http2RelayTest, BodiesLargerThanTheWindowsArriveWhole) {
  start({.allow = {"a.test"}});
  std::string large;
  for (int i = 0; large.size() < 3'000'000; ++i) large += std::to_string(i);
  host_side.when_ended = [this](Http2Link& link, int32_t id) {
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, host_side.seen[id].body);
    link.finish(id);
  };
  int32_t id = client->request(request("POST", "/"), "https", "a.test", Http2Link::Body::kFollows);
  client->send(id, large);
  client->finish(id);
  run();
  EXPECT_TRUE(client_side.seen[id].body == large);
}

TEST_F(Http2RelayTest, EachRequestIsJudged) {
  start({.requests = {"GET https://a.test/ok/*"}});
  host_side.when_ended = [](Http2Link& link, int32_t id) {
    link.respond(id, ok(), Http2Link::Body::kNone);
  };
  int32_t good =
      client->request(request("GET", "/ok/x"), "https", "a.test", Http2Link::Body::kNone);
  run();
  int32_t bad =
      client->request(request("GET", "/other"), "https", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[good].head.status, 200u);
  EXPECT_EQ(client_side.seen[bad].head.status, 403u);
  EXPECT_NE(client_side.seen[bad].body.find("\"denied\":true"), std::string::npos);
  EXPECT_EQ(host_side.seen.size(), 1u);
  EXPECT_EQ(core->denials.total(), 1u);
}

TEST_F(Http2RelayTest, AnotherAuthorityIsRefused) {
  start({.allow = {"a.test", "b.test"}});
  int32_t id = client->request(request("GET", "/"), "https", "b.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[id].head.status, 403u);
  EXPECT_TRUE(host_side.seen.empty());
}

TEST_F(Http2RelayTest, AnotherSchemeIsRefused) {
  start({.allow = {"a.test"}});
  int32_t id = client->request(request("GET", "/"), "http", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[id].code, uint32_t{NGHTTP2_PROTOCOL_ERROR});
  EXPECT_TRUE(host_side.seen.empty());
}

TEST_F(Http2RelayTest, SecretsArePutInAndMasked) {
  Secret secret{.name = "KEY", .value = "the-real-value-0123", .hosts = {"a.test"}};
  secret.placeholder = "caisson_KEY_00112233445566778899aabbccddeeff";
  start({.allow = {"a.test"}}, {secret});
  std::string authorization;
  host_side.when_ended = [&](Http2Link& link, int32_t id) {
    authorization = *host_side.seen[id].head.find("authorization");
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, "you sent the-real-");
    link.send(id, "value-0123!");
    link.finish(id);
  };
  HttpHead head = request("GET", "/");
  head.fields = {{"authorization", "Bearer " + secret.placeholder}};
  int32_t id = client->request(head, "https", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(authorization, "Bearer the-real-value-0123");
  EXPECT_EQ(client_side.seen[id].body, "you sent " + secret.placeholder + "!");
}

TEST_F(Http2RelayTest, AHostOfSecretsIsAskedForTheWhole) {
  Secret secret{.name = "KEY", .value = "the-real-value-0123", .hosts = {"a.test"}};
  secret.placeholder = "caisson_KEY_00112233445566778899aabbccddeeff";
  start({.allow = {"a.test"}}, {secret});
  EXPECT_FALSE(range_arrives());
}

TEST_F(Http2RelayTest, AnotherHostIsAskedForThePart) {
  start({.allow = {"a.test"}});
  EXPECT_TRUE(range_arrives());
}

TEST_F(Http2RelayTest, ANameThatTellsAValueIsDroppedAlsoOfTrailers) {
  start({.allow = {"a.test"}}, {key()});
  HttpHead answer = ok();
  answer.fields = {{"x-the-real-value-0123", "1"}, {"x-plain", "2"}};
  TestSide::Seen seen = answered_with(answer);
  EXPECT_EQ(seen.head.find("x-the-real-value-0123"), nullptr);
  EXPECT_NE(seen.head.find("x-plain"), nullptr);
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.trailers.find("x-the-real-value-0123"), nullptr);
  EXPECT_NE(seen.trailers.find("grpc-status"), nullptr);
}

TEST_F(Http2RelayTest, APartOfAHostOfSecretsIsRefused) {
  start({.allow = {"a.test"}}, {key()});
  HttpHead by_status = ok(), by_field = ok();
  by_status.status = 206;
  by_field.fields = {{"content-range", "bytes 0-3/9"}};
  for (const HttpHead& answer : {by_status, by_field}) {
    TestSide::Seen seen = answered_with(answer);
    EXPECT_EQ(seen.head.status, 502u);
    EXPECT_NE(seen.body.find("is a part"), std::string::npos) << seen.body;
  }
}

TEST_F(Http2RelayTest, APageOfAListIsNoPartUnlessItSaysSo) {
  start({.allow = {"a.test"}}, {key()});
  for (const char* range : {"0-24/3573458", "items 0-9/50", "id a..b; max=200"}) {
    HttpHead page = ok();
    page.fields = {{"content-range", range}};
    EXPECT_EQ(answered_with(page).body, "body") << range;
    page.status = 206;
    EXPECT_EQ(answered_with(page).head.status, 502u) << range;
  }
}

TEST_F(Http2RelayTest, APartOfAnotherHostPasses) {
  start({.allow = {"a.test"}});
  HttpHead answer = ok();
  answer.status = 206;
  EXPECT_EQ(answered_with(answer).body, "body");
}

TEST_F(Http2RelayTest, ACopyOfAPartIsRefusedAtAHostOfSecrets) {
  start({.allow = {"a.test"}}, {key()});
  for (const char* name : {"x-amz-copy-source-range", "x-ms-source-range", "source-range",
                           "x-oss-copy-source-range", "x_obs.copy_source-range"}) {
    HttpHead asked = request("PUT", "/");
    asked.fields = {{name, "bytes=0-1"}};
    EXPECT_EQ(answered_with(ok(), asked).head.status, 403u) << name;
    EXPECT_TRUE(host_side.seen.empty()) << name;
  }
  HttpHead asked = request("PUT", "/");
  asked.fields = {{"x-amz-copy-source", "/kept"}, {"x-resource-range", "all"}};
  EXPECT_EQ(answered_with(ok(), asked).head.status, 200u);
}

TEST_F(Http2RelayTest, AMessageOfGrpcThatEndsLikeABeginningArrivesAtOnceBothWays) {
  start({.allow = {"a.test"}}, {key()});
  std::string up = message("to caisson_K"), down = message("see the-rea");
  host_side.when_data = [&](Http2Link& link, int32_t id) {
    if (host_side.seen[id].body != up) return;
    link.respond(id, of_grpc(ok()), Http2Link::Body::kFollows);
    link.send(id, down);
  };
  int32_t id =
      client->request(of_grpc(request("POST", "/")), "https", "a.test", Http2Link::Body::kFollows);
  client->send(id, up);
  EXPECT_LT(time_until(id, down), kHeldFromHost);
}

TEST_F(Http2RelayTest, AValueInAMessageOfGrpcIsMaskedAndTheLengthHolds) {
  start({.allow = {"a.test"}}, {key()});
  std::string mask = key().placeholder.substr(0, key().value.size());
  host_side.when_ended = [&](Http2Link& link, int32_t id) {
    link.respond(id, of_grpc(ok()), Http2Link::Body::kFollows);
    link.send(id, message("the-rea") + message("is the-rea"));
    link.send(id, message(key().value) + message("<" + key().value + ">"));
    link.finish(id);
  };
  int32_t id =
      client->request(of_grpc(request("POST", "/")), "https", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[id].body,
            message("the-rea") + message("is the-rea") + message(mask) + message("<" + mask + ">"));
}

// A cell has the host keep bytes that look like a message which ends within the value.
TEST_F(Http2RelayTest, WhatAHostMayKeepHasNoMessages) {
  Secret secret = key();
  secret.in_body = true;
  start({.allow = {"a.test"}}, {secret});
  host_side.when_ended = [&](Http2Link& link, int32_t id) {
    link.respond(id, of_grpc(ok()), Http2Link::Body::kFollows);
    link.send(id, message("the-rea") + "l-value-0123");
    link.finish(id);
  };
  int32_t id =
      client->request(of_grpc(request("POST", "/")), "https", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[id].body.find("the-rea"), std::string::npos);
}

TEST_F(Http2RelayTest, AnEndThatLooksLikeABeginningIsNotHeldForEver) {
  start({.allow = {"a.test"}}, {key()});
  host_side.when_ended = [&](Http2Link& link, int32_t id) {
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, "see the-rea");
  };
  int32_t id = client->request(request("GET", "/"), "https", "a.test", Http2Link::Body::kNone);
  auto time = time_until(id, "see the-rea");
  EXPECT_GE(time, kHeldFromHost);
  EXPECT_LT(time, 3 * kHeldFromHost);
}

// A host that gives back what it gets stops where the cell stops: so the cell's stop isn't silence.
TEST_F(Http2RelayTest, TheSecondOfSilenceBeginsWithTheEndOfTheRequest) {
  start({.allow = {"a.test"}}, {key()});
  host_side.when_data = [&](Http2Link& link, int32_t id) {
    if (host_side.seen[id].body != "to caisson_K") return;  // which isn't held for ever either
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, "see the-rea");
  };
  int32_t id = client->request(request("POST", "/"), "https", "a.test", Http2Link::Body::kFollows);
  client->send(id, "to caisson_K");
  core->loop.restart();
  core->loop.run_for(kHeldFromHost + kHeldFromHost / 2);
  EXPECT_EQ(client_side.seen[id].body, "see ");
  client->finish(id);
  EXPECT_GE(time_until(id, "see the-rea"), kHeldFromHost);
}

// It stops the host at a byte of its choice; the half of a value that came must stay.
TEST_F(Http2RelayTest, AClientThatReadsNothingForAWhileHasNoHalfOfAValue) {
  start({.allow = {"a.test"}}, {key()});
  std::string mask = key().placeholder, body, masked;
  while (body.size() < 2'000'000) {
    body += key().value;
    masked += mask;
  }
  host_side.when_ended = [&](Http2Link& link, int32_t id) {
    link.respond(id, ok(), Http2Link::Body::kFollows);
    link.send(id, body);
    link.finish(id);
  };
  client_side.takes = false;
  int32_t id = client->request(request("GET", "/"), "https", "a.test", Http2Link::Body::kNone);
  core->loop.restart();
  core->loop.run_for(kHeldFromHost * 2);
  size_t before = client_side.seen[id].body.size();
  EXPECT_LT(before, masked.size());
  client_side.takes = true;
  client->took(id, before);
  run();
  EXPECT_TRUE(client_side.seen[id].body == masked);
}

TEST_F(Http2RelayTest, AHostThatEndsInTheMiddleIsToldAsSuch) {
  start({.allow = {"a.test"}});
  host_side.when_ended = [this](Http2Link&, int32_t) { host_stream->socket().abort(); };
  int32_t id = client->request(request("GET", "/"), "https", "a.test", Http2Link::Body::kNone);
  run();
  EXPECT_EQ(client_side.seen[id].head.status, 502u);
}

TEST_F(Http2RelayTest, AResetOfTheClientReachesTheHost) {
  start({.allow = {"a.test"}});
  int32_t id = client->request(request("POST", "/"), "https", "a.test", Http2Link::Body::kFollows);
  client_side.when_closed = nullptr;
  host_side.when_closed = [this](Http2Link&, int32_t) { core->loop.stop(); };
  client->send(id, "part");
  core->loop.restart();
  core->loop.poll();
  client->reset(id, NGHTTP2_CANCEL);
  run();
  EXPECT_EQ(host_side.seen[1].code, uint32_t{NGHTTP2_CANCEL});
}

}  // namespace
}  // namespace caisson
