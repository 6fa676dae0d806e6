// What only some policies say: through whom connections go, what is refused beyond the rules, and
// what is told.
#include <gtest/gtest.h>
#include <sys/un.h>

#include <mutex>

#include "base/sha256.h"
#include "gateway/gateway_fixture.h"
#include "gateway/handed_sockets.h"
#include "gateway/live_rules.h"
#include "gateway/sigv4.h"

namespace caisson::gateway_tests {
namespace {

std::string connect_to(std::string_view where) {
  return "CONNECT " + std::string(where) + " HTTP/1.1\r\nHost: " + std::string(where) + "\r\n\r\n";
}

std::string at(const FakeHost& host, std::string_view name = "a.test") {
  return std::string(name) + ":" + std::to_string(host.port());
}

TEST(Reasons, GivenReasonIsInTheStatusLineTheBodyAndTheDenial) {
  FakeHost host(FakeHost::echo_heads);
  GatewayConfig config = config_for(host);
  config.rules.deny = {"b.test", "*:22"};
  config.rules.deny_reasons = {{"b.test", "ask the\r\nX-Evil: 1 team"}, {"*:22", "no ssh here"}};
  RunningGateway gateway(config);
  Peer client = Peer::to(gateway.tcp_port);
  client.send(connect_to("b.test:443"));
  std::string answer = client.receive_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ask the")) << answer;
  EXPECT_EQ(answer.find("\r\nX-Evil"), std::string::npos) << answer;
  EXPECT_NE(answer.find("X-Proxy-Error: blocked-by-allowlist\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection blocked by network allowlist"), std::string::npos) << answer;
  EXPECT_NE(gateway.wait_for('D').find("ask the"), std::string::npos);
  Peer other = Peer::to(gateway.tcp_port);
  other.send(connect_to("a.test:22"));
  EXPECT_TRUE(other.receive_all().starts_with("HTTP/1.1 403 no ssh here\r\n"));
}

TEST(Reasons, ReasonForWhatIsNotDeniedIsRefused) {
  RuleTexts texts;
  texts.deny_reasons = {{"b.test", "why"}};
  EXPECT_FALSE(Rules::make(texts).ok());
}

TEST(Answers, NamedHeadersOfAnswersAreStrippedInEverySpelling) {
  FakeHost host([](Peer& peer) {
    peer.receive_until("\r\n\r\n");
    peer.send(
        "HTTP/1.1 200 OK\r\nX_Internal.Id: 1\r\nx-internal-ID: 2\r\nX-Kept: 3\r\n"
        "Content-Length: 0\r\n\r\n");
  });
  GatewayConfig config = config_for(host);
  config.strip_response_headers = {"x-internal-id"};
  RunningGateway gateway(config);
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/"));
  std::string answer = client.receive_until("\r\n\r\n");
  EXPECT_NE(answer.find("X-Kept: 3"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("nternal"), std::string::npos) << answer;
}

TEST(HostMatch, OtherHostIs421WhenAskedFor) {
  FakeHost host(FakeHost::echo_heads);
  GatewayConfig config = config_for(host);
  config.require_host_match = true;
  RunningGateway gateway(config);
  Peer client = Peer::to(gateway.tcp_port);
  client.send("GET http://" + at(host) + "/ HTTP/1.1\r\nHost: b.test\r\n\r\n");
  EXPECT_TRUE(client.receive_all().starts_with("HTTP/1.1 421 Misdirected Request\r\n"));
}

TEST(Opaque, TunnelThatIsNotReadIsRefusedAndHttpPasses) {
  FakeHost host(FakeHost::echo_heads);
  GatewayConfig config = config_for(host);
  config.refuse_opaque_tunnels = true;
  RunningGateway gateway(config);
  Peer tunnel = Peer::to(gateway.tcp_port);
  tunnel.send(connect_to(at(host)));
  EXPECT_TRUE(tunnel.receive_all().starts_with("HTTP/1.1 403 "));
  Peer client = Peer::to(gateway.tcp_port);
  client.send(get(host, "a.test", "/plain"));
  EXPECT_NE(client.receive_until("\r\n\r\n").find("200 OK"), std::string::npos);
}

TEST(Opaque, BytesThatAreNeitherAreRefusedWhereTlsIsEnded) {
  FakeHost host(FakeHost::echo_bytes);
  GatewayConfig config = config_for(host);
  config.refuse_opaque_tunnels = config.ends_all_tls = true;
  RunningGateway gateway(config);
  Peer tunnel = Peer::to(gateway.tcp_port);
  tunnel.send(connect_to(at(host)));
  EXPECT_NE(tunnel.receive_until("\r\n\r\n").find("200"), std::string::npos);
  tunnel.send(std::string("\0\1\2 not http", 12));
  EXPECT_EQ(tunnel.receive_all(), "");
  EXPECT_NE(gateway.wait_for('D').find("opaque tunnels"), std::string::npos);
}

// A proxy that answers CONNECT and then echoes; plain requests are answered with their head.
void serve_as_proxy(Peer& peer) {
  std::string head = peer.receive_until("\r\n\r\n");
  if (!head.starts_with("CONNECT ")) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(head.size()) + "\r\n\r\n" +
              head);
    return;
  }
  peer.send("HTTP/1.1 200 OK\r\n\r\nvia proxy: " + head.substr(8, head.find(" HTTP") - 8));
  FakeHost::echo_bytes(peer);
}

TEST(ExternalProxy, WhatIsAllowedGoesThroughItAndNothingElse) {
  FakeHost proxy(serve_as_proxy);
  GatewayConfig config;
  config.rules.allow = {"far.test"};
  config.http_proxy_port = proxy.port();
  config.upstream_https_proxy = "http://127.0.0.1:1";  // of the environment: not used
  RunningGateway gateway(config);
  Peer tunnel = Peer::to(gateway.tcp_port);
  tunnel.send(connect_to("far.test:443"));
  EXPECT_NE(tunnel.receive_until("far.test:443").find("via proxy: far.test:443"),
            std::string::npos);
  tunnel.end();
  tunnel.receive_all();
  Peer plain = Peer::to(gateway.tcp_port);
  plain.send("GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n\r\n");
  EXPECT_NE(plain.receive_until("Host: far.test").find("GET http://far.test/x HTTP/1.1"),
            std::string::npos);
  plain.end();
  int before = proxy.connections();
  Peer denied = Peer::to(gateway.tcp_port);
  denied.send(connect_to("other.test:443"));
  EXPECT_TRUE(denied.receive_all().starts_with("HTTP/1.1 403 "));
  EXPECT_EQ(proxy.connections(), before);
}

TEST(ExternalProxy, SocksProxyIsGivenTheName) {
  std::string asked;
  std::mutex lock;
  FakeHost proxy([&](Peer& peer) {
    std::string bytes;
    while (bytes.size() < 3) bytes += peer.receive(3 - bytes.size());
    peer.send(std::string("\5\0", 2));
    bytes.clear();
    while (bytes.size() < 5 + 8 + 2) {
      std::string more = peer.receive();
      if (more.empty()) return;
      bytes += more;
    }
    {
      std::lock_guard hold(lock);
      asked = bytes;
    }
    peer.send(std::string("\5\0\0\3\4abcd\0\0hello", 16));
    FakeHost::echo_bytes(peer);
  });
  GatewayConfig config;
  config.rules.allow = {"far.test"};
  config.socks_proxy_port = proxy.port();
  RunningGateway gateway(config);
  Peer tunnel = Peer::to(gateway.tcp_port);
  tunnel.send(connect_to("far.test:5432"));
  EXPECT_NE(tunnel.receive_until("hello").find("200"), std::string::npos);
  std::lock_guard hold(lock);
  EXPECT_EQ(asked, std::string("\5\1\0\3\10far.test\x15\x38", 15));
}

TEST(HandedProxy, HostsOfItGoThroughTheSocketThatIsHandedOver) {
  FakeHost host(FakeHost::echo_heads);
  FakeHost proxy(serve_as_proxy);
  GatewayConfig config = config_for(host);
  config.rules.allow.push_back("mitm.test");
  config.live.mitm_domains = {"mitm.test"};
  RunningGateway gateway(config);
  Peer tunnel = Peer::to(gateway.tcp_port);
  tunnel.send(connect_to("mitm.test:443"));
  std::optional<uint32_t> number = parse_handed_question(gateway.wait_for('P'));
  ASSERT_TRUE(number);
  Peer handed = Peer::to(proxy.port());
  gateway.hand(handed_answer({*number, true}), handed.fd());
  EXPECT_NE(tunnel.receive_until("mitm.test:443").find("via proxy: mitm.test:443"),
            std::string::npos);
  Peer direct = Peer::to(gateway.tcp_port);
  direct.send(get(host, "a.test", "/direct"));
  EXPECT_NE(direct.receive_until("/direct").find("200 OK"), std::string::npos);
  Peer without = Peer::to(gateway.tcp_port);
  without.send(connect_to("mitm.test:443"));
  number = parse_handed_question(gateway.wait_for('P'));
  gateway.say(ControlType::kProxy, handed_answer({*number, false}));
  EXPECT_TRUE(without.receive_all().starts_with("HTTP/1.1 502 "));
}

TEST(LiveRules, EverythingThatCanBeToldAnewIsTaken) {
  LiveRules live;
  live.rules = {{"a.test"}, {"b.test"}, {}, {"10.0.0.0/8"}, {{"b.test", "why"}}};
  live.mitm_domains = {"c.test"};
  live.tls_excluded = {"d.test"};
  live.max_tunnels = 7;
  live.handshake_ms = 900;
  live.aws_signing = {Unsignable::kPassOn, Unsignable::kDeny, Unsignable::kPassOn};
  Result<LiveRules> again = parse_live_rules(live_rules_json(live));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->rules, live.rules);
  EXPECT_EQ(again->mitm_domains, live.mitm_domains);
  EXPECT_EQ(again->tls_excluded, live.tls_excluded);
  EXPECT_EQ(again->max_tunnels, 7u);
  EXPECT_EQ(again->handshake_ms, 900u);
  EXPECT_EQ(again->aws_signing, live.aws_signing);
  for (const char* broken : {"", "[]", "{\"allow\":1}", "{\"deny_reasons\":[]}",
                             "{\"max_tunnels\":-1}", "{\"pass_sigv4a\":1}"})
    EXPECT_FALSE(parse_live_rules(broken).ok()) << broken;
}

TEST(LiveRules, NewReasonHoldsForTheNextConnection) {
  FakeHost host(FakeHost::echo_heads);
  RunningGateway gateway(config_for(host));
  LiveRules live;
  live.rules.deny = {"a.test"};
  live.rules.deny_reasons = {{"a.test", "closed for today"}};
  gateway.say(ControlType::kRules, live_rules_json(live));
  std::string answer;
  for (int tries = 0; tries < 100 && answer.find("closed") == std::string::npos; ++tries) {
    Peer client = Peer::to(gateway.tcp_port);
    client.send(connect_to(at(host)));
    answer = client.receive();
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 closed for today\r\n")) << answer;
}

// ---- AWS

constexpr std::string_view kRealKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr std::string_view kHex = "0123456789abcdef0123456789abcdef";

struct Aws {
  std::string shown_id = "caisson_AWS_ACCESS_KEY_ID_" + std::string(kHex);
  std::string shown_key = "caisson_AWS_SECRET_ACCESS_KEY_" + std::string(kHex);
  std::string shown_token = "caisson_AWS_SESSION_TOKEN_" + std::string(kHex);

  GatewayConfig config(const FakeHost& host) const {
    GatewayConfig config = config_for(host);
    std::vector<std::string> hosts{"a.test"};
    auto add = [&](const char* name, std::string_view value, const std::string& shown) {
      config.secrets.push_back({.name = name,
                                .value = std::string(value),
                                .hosts = hosts,
                                .placeholder = shown,
                                .in_body = true,
                                .any_port = true});
    };
    add("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", shown_id);
    add("AWS_SECRET_ACCESS_KEY", kRealKey, shown_key);
    add("AWS_SESSION_TOKEN", "the-real-session-token", shown_token);
    config.secrets_in_clear = true;
    config.aws_keys = {{shown_id, shown_key, "AKIDEXAMPLE"}};
    return config;
  }
  // As a client inside the cell signs it.
  std::string request(const FakeHost& host, std::string_view body, std::string_view payload,
                      std::string_view key) const {
    std::string where = at(host);
    SignedRequest request{"PUT",
                          "/bucket/a%20b?x=1",
                          {{"Host", where},
                           {"X-Amz-Date", "20261115T120000Z"},
                           {"X-Amz-Content-Sha256", std::string(payload)},
                           {"X-Amz-Security-Token", shown_token}},
                          std::string(payload),
                          "20261115T120000Z"};
    SigV4 said;
    said.access_key_id = shown_id;
    said.date = "20261115";
    said.region = "eu-west-1";
    said.service = "s3";
    said.signed_headers = {"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"};
    SigV4Style style{SigV4Style::Path::kOnce};
    std::string out = "PUT http://" + where + request.target + " HTTP/1.1\r\n";
    for (const HttpField& field : request.fields) out += field.name + ": " + field.value + "\r\n";
    out += "Authorization: " +
           sigv4_authorization(said, shown_id, sigv4_signature(request, said, style, key)) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
    return out;
  }
};

// What a host would compute over the request that reached it.
bool is_signed_right(std::string_view sent) {
  size_t end = sent.find("\r\n\r\n");
  Result<HttpHead> head = parse_request_head(sent.substr(0, end + 4));
  if (!head.ok() || !head->find("Authorization")) return false;
  Result<std::optional<SigV4>> said = parse_sigv4(*head->find("Authorization"));
  if (!said.ok() || !*said || (*said)->access_key_id != "AKIDEXAMPLE") return false;
  const std::string* payload = head->find("X-Amz-Content-Sha256");
  if (!payload) return false;
  bool is_unsigned = *payload == kUnsignedPayload || *payload == kUnsignedTrailer;
  if (!is_unsigned && *payload != sha256_hex(sent.substr(end + 4))) return false;
  SignedRequest request{head->method, head->target, head->fields, *payload,
                        sigv4_time(head->fields)};
  return sigv4_style_of(request, **said, kRealKey).has_value();
}

class AwsTest : public testing::Test {
 protected:
  // What reached the host, or what the gateway answered.
  std::string send(const std::string& request, AwsSigning how = {}) {
    received_.clear();
    GatewayConfig config = aws_.config(host_);
    config.live.aws_signing = how;
    RunningGateway gateway(config);
    Peer client = Peer::to(gateway.tcp_port);
    client.send(request);
    std::string answer = client.receive_until("\r\n\r\n");
    std::lock_guard hold(lock_);
    return received_.empty() ? answer : received_;
  }

  Aws aws_;
  std::mutex lock_;
  std::string received_;
  FakeHost host_{[this](Peer& peer) {
    std::string all = peer.receive_until("\r\n\r\n");
    size_t end = all.find("\r\n\r\n") + 4, length = 0;
    if (size_t at = all.find("Content-Length: "); at != all.npos)
      length = std::stoul(all.substr(at + 16));
    while (all.size() < end + length) all += peer.receive();
    {
      std::lock_guard hold(lock_);
      received_ = all;
    }
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  }};
};

// The values may go into bodies: an object could hold one, and be read in parts of which none is
// it.
TEST_F(AwsTest, APartIsRefusedWhereTheHostMayHaveBeenGivenAValue) {
  EXPECT_TRUE(is_signed_right(send(aws_.request(host_, "", sha256_hex(""), aws_.shown_key))));
  std::string request = aws_.request(host_, "", sha256_hex(""), aws_.shown_key);
  request.insert(request.find("Content-Length"), "Range: bytes=0-1\r\n");
  EXPECT_NE(send(request).find("403"), std::string::npos);
}

TEST_F(AwsTest, RequestSignedWithPlaceholdersIsSignedAnew) {
  std::string body = "hello";
  std::string sent = send(aws_.request(host_, body, sha256_hex(body), aws_.shown_key));
  EXPECT_TRUE(is_signed_right(sent)) << sent;
  EXPECT_NE(sent.find("the-real-session-token"), std::string::npos);
  EXPECT_EQ(sent.find("caisson_"), std::string::npos) << sent;
  EXPECT_EQ(sent.find(kRealKey), std::string::npos);
}

TEST_F(AwsTest, BodyWithAPlaceholderIsHashedAsItIsSent) {
  std::string body = "token=" + aws_.shown_token;
  std::string sent = send(aws_.request(host_, body, sha256_hex(body), aws_.shown_key));
  EXPECT_TRUE(is_signed_right(sent)) << sent;
  EXPECT_TRUE(sent.ends_with("token=the-real-session-token")) << sent;
}

TEST_F(AwsTest, UnsignedPayloadStaysUnsigned) {
  std::string sent = send(aws_.request(host_, "abc", kUnsignedPayload, aws_.shown_key));
  EXPECT_TRUE(is_signed_right(sent)) << sent;
  EXPECT_NE(sent.find("UNSIGNED-PAYLOAD"), std::string::npos);
}

TEST_F(AwsTest, ChunksWithoutSignaturesAreSignedAsSuch) {
  std::string sent = send(aws_.request(host_, "3\r\nabc\r\n", kUnsignedTrailer, aws_.shown_key));
  EXPECT_TRUE(is_signed_right(sent)) << sent;
  EXPECT_TRUE(sent.ends_with("3\r\nabc\r\n")) << sent;
}

TEST_F(AwsTest, SignatureThatIsNotThePlaceholdersIsRefused) {
  std::string sent = send(aws_.request(host_, "abc", sha256_hex("abc"), "some other key"));
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 403 ")) << sent;
  sent = send(aws_.request(host_, "abc", sha256_hex("abd"), aws_.shown_key));
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 403 ")) << sent;
}

TEST_F(AwsTest, ChunkSignaturesAreRefusedOrPassedOnAsTheyAre) {
  std::string request =
      aws_.request(host_, "abc", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", aws_.shown_key);
  EXPECT_TRUE(send(request).starts_with("HTTP/1.1 403 "));
  std::string sent = send(request, {.streaming = Unsignable::kPassOn});
  EXPECT_NE(sent.find("Credential=" + aws_.shown_id), std::string::npos) << sent;
}

TEST_F(AwsTest, PresignedAddressIsRefusedOrPassedOnAsItIs) {
  std::string request = "GET http://" + at(host_) + "/x?X-Amz-Credential=" + aws_.shown_id +
                        "%2F20261115&X-Amz-Signature=00 HTTP/1.1\r\nHost: " + at(host_) +
                        "\r\n\r\n";
  EXPECT_TRUE(send(request).starts_with("HTTP/1.1 403 "));
  std::string sent = send(request, {.presigned = Unsignable::kPassOn});
  EXPECT_NE(sent.find("X-Amz-Credential=" + aws_.shown_id), std::string::npos) << sent;
}

TEST_F(AwsTest, HostThatMayNotHaveTheKeyGetsNoSignature) {
  std::string request = aws_.request(host_, "abc", sha256_hex("abc"), aws_.shown_key);
  Aws other = aws_;
  GatewayConfig config = other.config(host_);
  for (Secret& secret : config.secrets) secret.hosts = {"b.test"};
  RunningGateway gateway(config);
  Peer client = Peer::to(gateway.tcp_port);
  client.send(request);
  EXPECT_TRUE(client.receive_all().starts_with("HTTP/1.1 403 "));
  EXPECT_EQ(host_.connections(), 0);
}

TEST_F(AwsTest, BodyBeyondTheBoundIsTooLarge) {
  std::string request = aws_.request(host_, "", sha256_hex(""), aws_.shown_key);
  std::string length = "Content-Length: 0";
  request.replace(request.find(length), length.size(), "Content-Length: 67108865");
  EXPECT_TRUE(send(request).starts_with("HTTP/1.1 413 ")) << request;
}

}  // namespace
}  // namespace caisson::gateway_tests
