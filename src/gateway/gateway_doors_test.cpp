#include "gateway/gateway_fixture.h"
#include "wire/dns_message.h"
#include "wire/dns_name.h"
#include "wire/fake_addresses.h"

namespace caisson {
namespace {

using namespace gateway_tests;

std::vector<uint8_t> dns_query(std::string_view name, uint16_t type) {
  std::vector<uint8_t> packet = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  append_name(packet, name);
  for (unsigned value : {unsigned{type}, 1u}) {
    packet.push_back(static_cast<uint8_t>(value >> 8));
    packet.push_back(static_cast<uint8_t>(value));
  }
  return packet;
}

std::string ask(const RunningGateway& gateway, const std::vector<uint8_t>& packet) {
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(gateway.udp_port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  Peer peer(std::move(fd));
  peer.send({reinterpret_cast<const char*>(packet.data()), packet.size()});
  return peer.receive();
}

int code_of(const std::string& answer) { return answer.size() < 12 ? -1 : answer[3] & 0x0f; }
int answers_in(const std::string& answer) { return answer.size() < 12 ? -1 : answer[7]; }

GatewayConfig config_allowing(std::string name) {
  GatewayConfig config;
  config.rules.allow = {std::move(name)};
  config.resolv_conf = "nameserver 127.0.0.1\n";
  return config;
}

TEST(DnsDoor, AnAllowedNameGetsAnAddressThatStandsForIt) {
  RunningGateway gateway(config_allowing("a.test"));
  std::string answer = ask(gateway, dns_query("A.test", kDnsTypeA));
  EXPECT_EQ(code_of(answer), 0);
  ASSERT_EQ(answers_in(answer), 1);
  std::string again = ask(gateway, dns_query("A.test", kDnsTypeA));
  EXPECT_EQ(answer, again);
  auto byte = [&](size_t from_end) {
    return static_cast<uint8_t>(answer[answer.size() - from_end]);
  };
  EXPECT_TRUE(FakeAddresses::is_fake(IpAddress::v4({byte(4), byte(3), byte(2), byte(1)})));
}

TEST(DnsDoor, OtherNamesAreRefusedAndTold) {
  RunningGateway gateway(config_allowing("a.test"));
  EXPECT_EQ(code_of(ask(gateway, dns_query("c2hlbGw.evil.test", kDnsTypeA))), 5);
  EXPECT_NE(gateway.wait_for('D').find("evil.test"), std::string::npos);
}

TEST(DnsDoor, OtherTypesOfAnAllowedNameAreEmpty) {
  RunningGateway gateway(config_allowing("a.test"));
  for (uint16_t type : {kDnsTypeTxt, kDnsTypeHttps, kDnsTypeAny}) {
    std::string answer = ask(gateway, dns_query("a.test", type));
    EXPECT_EQ(code_of(answer), 0);
    EXPECT_EQ(answers_in(answer), 0);
  }
}

TEST(DnsDoor, WhatIsNoQuestionIsAnError) {
  RunningGateway gateway(config_allowing("a.test"));
  std::vector<uint8_t> packet = dns_query("a.test", kDnsTypeA);
  packet.resize(packet.size() - 3);
  EXPECT_EQ(code_of(ask(gateway, packet)), 1);
}

TEST(DnsDoor, AnswersByTcpToo) {
  RunningGateway gateway(config_allowing("a.test"));
  Peer client = Peer::to(gateway.dns_port);
  std::vector<uint8_t> frame = dns_tcp_frame(dns_query("a.test", kDnsTypeAaaa));
  std::string bytes(frame.begin(), frame.end());
  client.send(bytes.substr(0, 5));
  client.send(bytes.substr(5) + bytes);  // in pieces, and two at once
  std::string answers;
  while (answers.size() < 4) answers += client.receive();
  EXPECT_EQ(code_of(answers.substr(2)), 0);
}

std::string socks_connect(std::string_view name, uint16_t port) {
  std::string request{"\x05\x01\x00\x03", 4};
  request += static_cast<char>(name.size());
  request += name;
  request += static_cast<char>(port >> 8);
  request += static_cast<char>(port & 0xff);
  return request;
}

TEST(SocksDoor, ConnectsToAnAllowedName) {
  FakeHost host(FakeHost::echo_bytes);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send({"\x05\x01\x00", 3});
  EXPECT_EQ(client.receive(2), std::string("\x05\x00", 2));
  // What the client doesn't wait to send is not lost.
  client.send(socks_connect("a.test", host.port()) + "\x01hello");
  EXPECT_EQ(client.receive(10)[1], 0);
  EXPECT_EQ(client.receive_until("hello"), "\x01hello");
}

TEST(SocksDoor, TellsARefusal) {
  FakeHost host(FakeHost::echo_bytes);
  RunningGateway gateway(config_for(host));
  Peer client = Peer::to(gateway.tcp_port);
  client.send({"\x05\x01\x00", 3});
  client.receive(2);
  client.send(socks_connect("b.test", host.port()));
  EXPECT_EQ(client.receive(10)[1], 2);
  EXPECT_NE(gateway.wait_for('D').find("socks"), std::string::npos);
  EXPECT_EQ(host.connections(), 0);
}

TEST(UpstreamProxyDoor, TheProxyIsToldTheName) {
  std::string asked;
  FakeHost proxy([&](Peer& peer) {
    asked = peer.receive_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\n\r\nhost speaks first");
    peer.receive();
  });
  GatewayConfig config = config_allowing("far.test:7777");
  config.upstream_https_proxy = "http://me:pw@127.0.0.1:" + std::to_string(proxy.port());
  RunningGateway gateway(std::move(config));
  Peer client = Peer::to(gateway.tcp_port);
  client.send("CONNECT far.test:7777 HTTP/1.1\r\nHost: far.test\r\n\r\n");
  EXPECT_NE(client.receive_until("speaks first").find("200"), std::string::npos);
  EXPECT_NE(asked.find("CONNECT far.test:7777 HTTP/1.1\r\n"), std::string::npos);
  EXPECT_NE(asked.find("Proxy-Authorization: Basic bWU6cHc="), std::string::npos);
}

TEST(UpstreamProxyDoor, RequestsInClearArePutToTheProxyItself) {
  FakeHost proxy(FakeHost::echo_heads);
  GatewayConfig config = config_allowing("far.test");
  config.upstream_http_proxy = "http://me:pw@127.0.0.1:" + std::to_string(proxy.port());
  RunningGateway gateway(std::move(config));
  Peer client = Peer::to(gateway.tcp_port);
  for (std::string path : {"/1", "/2"}) {
    client.send("GET http://far.test" + path +
                " HTTP/1.1\r\nHost: far.test\r\nProxy-Authorization: mine\r\n\r\n");
    std::string seen = client.receive_until("bWU6cHc=\r\n\r\n");
    EXPECT_NE(seen.find("GET http://far.test" + path + " HTTP/1.1\r\nHost: far.test\r\n"),
              std::string::npos);
    EXPECT_EQ(seen.find("mine"), std::string::npos);
  }
  EXPECT_EQ(proxy.connections(), 1);
}

}  // namespace
}  // namespace caisson
