#include "gateway/gateway.h"

#include "gateway/gateway_fixture.h"

namespace caisson {
namespace {

using namespace gateway_tests;

std::string connect_to(const FakeHost& host, std::string_view name) {
  return "CONNECT " + std::string(name) + ":" + std::to_string(host.port()) +
         " HTTP/1.1\r\nHost: x\r\n\r\n";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Gateway, ProxiesAnAllowedRequestAndWritesItAnew) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  std::string where = "a.test:" + std::to_string(host.port());
  client.send("GET http://" + where + "/x HTTP/1.1\r\nhost:   " + where +
              "\r\nProxy-Connection: keep-alive\r\nX-Kept: 1\r\n\r\n");
  std::string answer = client.receive_until("X-Kept: 1\r\n\r\n");
  EXPECT_TRUE(has(answer, "HTTP/1.1 200 OK"));
  EXPECT_TRUE(has(answer, "GET /x HTTP/1.1\r\nHost: " + where + "\r\nX-Kept: 1\r\n\r\n"));
}

TEST(Gateway, ADenialTellsTheClientAndTheSupervisor) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "b.test", "/"));
  std::string answer = client.receive_until("}\n");
  EXPECT_TRUE(has(answer, "HTTP/1.1 403 "));
  EXPECT_TRUE(has(answer, "\"denied\":true"));
  EXPECT_TRUE(has(answer, "\"how_to_allow\":\"--allow-domain b.test"));
  EXPECT_TRUE(has(gateway.wait_for('D'), "\"host\":\"b.test\""));
  client.send(get(host, "a.test", "/after"));  // the same connection goes on
  EXPECT_TRUE(has(client.receive_until("/after"), "200 OK"));
}

TEST(Gateway, KeepsBothConnectionsForTheNextRequest) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  for (std::string path : {"/1", "/2", "/3"}) {
    client.send(get(host, "a.test", path));
    EXPECT_TRUE(has(client.receive_until("GET " + path), "200 OK"));
  }
  EXPECT_EQ(host.connections(), 1);
}

TEST(Gateway, AnotherHostHeaderIsRefused) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(connect_to(host, "a.test"));
  ASSERT_TRUE(has(client.receive_until("\r\n\r\n"), "200"));
  client.send("\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
  EXPECT_TRUE(has(client.receive_all(), "HTTP/1.1 403 "));
  EXPECT_TRUE(has(gateway.wait_for('D'), "host mismatch"));
}

TEST(Gateway, SmuggledRequestsAreRefused) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  std::string where = "a.test:" + std::to_string(host.port());
  for (std::string_view headers : {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding : chunked\r\n", "X: a\r\n b\r\n"}) {
    Peer client = Peer::to(gateway.tcp_port);
    client.send("POST http://" + where + "/ HTTP/1.1\r\nHost: " + where + "\r\n" +
                std::string(headers) + "\r\n0\r\n\r\n");
    EXPECT_TRUE(has(client.receive_all(), "HTTP/1.1 400 ")) << headers;
  }
  EXPECT_EQ(host.connections(), 0);
}

TEST(Gateway, BodiesPassInEitherFraming) {
  std::string seen;
  FakeHost host([&](Peer& peer) {
    seen = peer.receive_until("done");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    peer.receive();
  });
  RunningGateway gateway(config_for(host));
  std::string where = "a.test:" + std::to_string(host.port());
  Peer client = Peer::to(gateway.tcp_port);
  client.send("POST http://" + where + "/ HTTP/1.1\r\nHost: " + where +
              "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n4\r\ndone\r\n0\r\n\r\n");
  EXPECT_TRUE(has(client.receive_until("0\r\n\r\n"), "3\r\nabc\r\n"));
  EXPECT_TRUE(has(seen, "5\r\nhello\r\n4\r\ndone"));
}

TEST(Gateway, AnAnswerOfHttp10EndsWithTheConnection) {
  FakeHost host([](Peer& peer) {
    peer.receive_until("\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\nall of it");
  });
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/"));
  EXPECT_TRUE(has(client.receive_until("0\r\n\r\n"), "9\r\nall of it\r\n"));
}

TEST(Gateway, ContinueIsPassedOn) {
  FakeHost host([](Peer& peer) {
    peer.receive_until("\r\n\r\n");
    peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    std::string body = peer.receive();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + body);
  });
  RunningGateway gateway(config_for(host));
  std::string where = "a.test:" + std::to_string(host.port());
  Peer client = Peer::to(gateway.tcp_port);
  client.send("PUT http://" + where + "/ HTTP/1.1\r\nHost: " + where +
              "\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(has(client.receive_until("\r\n\r\n"), "100 Continue"));
  client.send("body");
  EXPECT_TRUE(has(client.receive_until("body"), "200 OK"));
}

TEST(Gateway, AWebSocketBecomesATunnel) {
  FakeHost host([](Peer& peer) {
    std::string head = peer.receive_until("\r\n\r\n");
    if (!has(head, "Upgrade: websocket")) return;
    peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    FakeHost::echo_bytes(peer);
  });
  RunningGateway gateway(config_for(host));
  std::string where = "a.test:" + std::to_string(host.port());
  Peer client = Peer::to(gateway.tcp_port);
  client.send("GET http://" + where + "/ HTTP/1.1\r\nHost: " + where +
              "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n");
  EXPECT_TRUE(has(client.receive_until("\r\n\r\n"), "101 "));
  client.send("frames");
  EXPECT_EQ(client.receive_until("frames"), "frames");
}

TEST(Gateway, ATunnelKeepsHalfClosedSides) {
  FakeHost host([](Peer& peer) {
    std::string all = peer.receive_all();  // to the client's end
    peer.send("got " + std::to_string(all.size()));
  });
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(connect_to(host, "a.test"));
  client.receive_until("\r\n\r\n");
  client.send(std::string(3'000'000, '\x01'));
  client.end();
  EXPECT_EQ(client.receive_all(), "got 3000000");
}

TEST(Gateway, AHostThatSpeaksFirstIsHeard) {
  FakeHost host([](Peer& peer) {
    peer.send("SSH-2.0-host\r\n");
    peer.send("you said " + peer.receive());
  });
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(connect_to(host, "a.test"));
  EXPECT_TRUE(has(client.receive_until("SSH-2.0-host"), "200"));
  client.send("GET this HTTP/1.1\r\n");  // after the host has spoken it is just text
  EXPECT_TRUE(has(client.receive_until("HTTP/1.1"), "you said GET this"));
}

TEST(Gateway, ABudgetThatIsSpentEndsTheTunnel) {
  FakeHost host(FakeHost::echo_bytes);
  GatewayConfig config = config_for(host);
  config.upload_budget = 1000;
  RunningGateway gateway(std::move(config));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(connect_to(host, "a.test"));
  client.receive_until("\r\n\r\n");
  client.send(std::string(5000, '\x01'));
  EXPECT_EQ(client.receive_all(), "");
  EXPECT_TRUE(has(gateway.wait_for('D'), "byte budget"));
}

TEST(Gateway, ConnectionsBeyondTheCapAreReset) {
  FakeHost host(FakeHost::echo_bytes);
  GatewayConfig config = config_for(host);
  config.max_connections = 1;
  RunningGateway gateway(std::move(config));
  Peer first = Peer::to(gateway.tcp_port);
  first.send(connect_to(host, "a.test"));
  first.receive_until("\r\n\r\n");
  Peer second = Peer::to(gateway.tcp_port);
  EXPECT_EQ(second.receive(), "");
  EXPECT_EQ(second.error(), ECONNRESET);
  EXPECT_TRUE(has(gateway.wait_for('D'), "connection cap"));
}

TEST(Gateway, NewRulesHoldAtOnce) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  std::string port = std::to_string(host.port());
  gateway.say(ControlType::kRules,
              "{\"allow\":[\"b.test:" + port + "\",\"127.0.0.1:" + port + "\"]}");
  // Rules that can't be read change nothing; the answer shows that the ones before were taken.
  gateway.say(ControlType::kRules, "{\"allow\":\"everything\"}");
  EXPECT_NE(gateway.wait_for('F'), "");
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/"));
  EXPECT_TRUE(has(client.receive_until("}\n"), "403"));
  client.send(get(host, "b.test", "/"));
  EXPECT_TRUE(has(client.receive_until("GET /"), "200 OK"));
}

TEST(Gateway, TellsItsUsageAtTheEnd) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/"));
  client.receive_until("GET /");
  gateway.say(ControlType::kEnd, "");
  EXPECT_TRUE(has(gateway.wait_for('U'), "\"connections\":1"));
}

TEST(Gateway, AHostThatIsNotThereIsABadGateway) {
  uint16_t port = 0;
  {
    UniqueFd gone = loopback_socket(SOCK_STREAM);
    port = port_of(gone);
  }
  GatewayConfig config;
  config.rules.allow = {"a.test", "127.0.0.1:" + std::to_string(port)};
  RunningGateway gateway(std::move(config));
  Peer client = Peer::to(gateway.tcp_port);
  client.send("GET http://a.test:" + std::to_string(port) +
              "/ HTTP/1.1\r\nHost: a.test:" + std::to_string(port) + "\r\n\r\n");
  EXPECT_TRUE(has(client.receive_all(), "HTTP/1.1 502 "));
}

TEST(Gateway, ANameMayNotLeadToTheLoopback) {
  FakeHost host(FakeHost::echo_heads);
  GatewayConfig config;
  config.rules.allow = {"a.test"};
  RunningGateway gateway(std::move(config));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/"));
  EXPECT_TRUE(has(client.receive_all(), "loopback"));
  EXPECT_EQ(host.connections(), 0);
}

}  // namespace
}  // namespace caisson
