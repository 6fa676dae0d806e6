#include "policy/network.h"

#include <gtest/gtest.h>

#include "policy/fake_host_files.h"
#include "policy/resolve.h"
#include "policy/schema.h"

namespace caisson {
namespace {

struct NetworkWorld : FakeHost {
  Settings settings;

  NetworkWorld& flags(std::vector<std::string> args) {
    FlagCursor cursor{args};
    Result<void> done = apply_flags(settings, cursor, nullptr, nullptr, {});
    EXPECT_TRUE(done.ok()) << done.error().what;
    return *this;
  }
  Result<Policy> try_resolve() const { return resolve(settings, caller, {{"true"}}, files); }
  Policy resolved() const {
    Result<Policy> policy = try_resolve();
    EXPECT_TRUE(policy.ok()) << policy.error().what;
    return policy.ok() ? *policy : Policy();
  }
};

std::string network_error(std::vector<std::string> args) {
  Settings settings;
  FlagCursor cursor{args};
  Result<void> done = apply_flags(settings, cursor, nullptr, nullptr, {});
  return done.ok() ? "no error" : done.error().what;
}

std::string value_of(const Policy& policy, std::string_view name) {
  for (const auto& [key, value] : policy.environment)
    if (key == name) return value;
  return "(unset)";
}

TEST(Network, NothingSaidMeansNothingReachedAndNoGateway) {
  Policy policy = NetworkWorld().resolved();
  EXPECT_FALSE(policy.network.needs_gateway());
  EXPECT_EQ(value_of(policy, "HTTPS_PROXY"), "(unset)");
}

TEST(Network, AnEmptyListMeansTheSameAsNone) {
  NetworkWorld world;
  ASSERT_TRUE(apply_policy_json(world.settings, R"({"network":{"allow":[]}})", "p.json").ok());
  EXPECT_FALSE(world.resolved().network.needs_gateway());
  EXPECT_EQ(digest(world.resolved()), digest(NetworkWorld().resolved()));
}

TEST(Network, AnAllowedHostGetsAGatewayAndTheProxyVariables) {
  Policy policy = NetworkWorld().flags({"--allow-domain", "api.github.com"}).resolved();
  EXPECT_TRUE(policy.network.needs_gateway());
  EXPECT_FALSE(policy.network.ends_tls());
  EXPECT_EQ(value_of(policy, "https_proxy"), "http://127.0.0.1:3128");
}

TEST(Network, TheOrderOfRulesIsNotPartOfThePolicy) {
  Policy one =
      NetworkWorld().flags({"--allow-domain", "a.org", "--allow-domain", "b.org"}).resolved();
  Policy two =
      NetworkWorld().flags({"--allow-domain", "b.org", "--allow-domain", "a.org"}).resolved();
  EXPECT_EQ(digest(one), digest(two));
  EXPECT_NE(digest(one), digest(NetworkWorld().flags({"--allow-domain", "a.org"}).resolved()));
}

TEST(Network, ASecretAllowsItsHostOnTheSecurePortAndEndsTls) {
  Policy policy =
      NetworkWorld().flags({"--secret", "KEY=env:API_KEY@api.anthropic.com"}).resolved();
  EXPECT_EQ(policy.network.rules.allow, std::vector<std::string>{"api.anthropic.com:443"});
  EXPECT_TRUE(policy.network.ends_tls());
}

TEST(Network, TwoSecretsOfOneNameAreRefused) {
  NetworkWorld world;
  world.flags({"--secret", "KEY=env:A@a.org", "--secret", "KEY=env:B@b.org"});
  EXPECT_NE(world.try_resolve().error().what.find("KEY"), std::string::npos);
}

TEST(Network, TheHostsNetworkAndRulesForItExcludeEachOther) {
  NetworkWorld world;
  world.flags({"--allow-domain", "a.org", "--allow-network"});
  EXPECT_FALSE(world.try_resolve().ok());
}

TEST(Network, TheLandlockTierHasNoNetworkToGiveRulesTo) {
  NetworkWorld world;
  world.flags({"--allow-domain", "a.org", "--tier", "landlock"});
  EXPECT_FALSE(world.try_resolve().ok());
}

TEST(Network, WhatIsNoRuleIsAnErrorThatNamesTheOption) {
  for (std::vector<std::string> args : {std::vector<std::string>{"--allow-domain", "*"},
                                        {"--allow-domain", "*.com"},
                                        {"--allow-domain", "https://a.org/"},
                                        {"--deny-address", "300.0.0.0/8"},
                                        {"--dns-type", "MX"},
                                        {"--forward", "0"},
                                        {"--publish", "8000:x"},
                                        {"--secret", "KEY=value@a.org"},
                                        {"--allow-request", "https://a.org/"}})
    EXPECT_EQ(network_error(args).rfind(args[0], 0), 0u) << network_error(args);
}

TEST(Network, AnAllowedPortOfTheLoopbackIsListenedOnInside) {
  Policy policy = NetworkWorld().flags({"--allow-domain", "127.0.0.1:9999"}).resolved();
  EXPECT_EQ(policy.network.loopback, std::vector<uint16_t>{9999});
  EXPECT_TRUE(policy.network.forward.empty());
  NetworkWorld file;
  ASSERT_TRUE(
      apply_policy_json(file.settings, R"({"network":{"allow":["[::1]:80"]}})", "p.json").ok());
  EXPECT_EQ(file.resolved().network.loopback, std::vector<uint16_t>{80});
  // --forward says more: no rule is asked there.
  policy = NetworkWorld().flags({"--allow-domain", "localhost:80", "--forward", "80"}).resolved();
  EXPECT_TRUE(policy.network.loopback.empty());
  EXPECT_EQ(policy.network.forward, std::vector<uint16_t>{80});
}

TEST(Network, TheLoopbackAsAWholeAndTheGatewaysOwnPortsAreErrors) {
  for (const char* whole : {"localhost", "127.0.0.1", "[::1]"})
    EXPECT_NE(network_error({"--allow-domain", whole}).find("without a port"), std::string::npos);
  EXPECT_EQ(network_error({"--deny-domain", "localhost"}), "no error");
  EXPECT_FALSE(NetworkWorld().flags({"--forward", "3128"}).try_resolve().ok());
  EXPECT_FALSE(NetworkWorld().flags({"--allow-domain", "localhost:53"}).try_resolve().ok());
  NetworkWorld many;
  for (int port = 1000; port < 1200; ++port)
    many.flags({"--allow-domain", "localhost:" + std::to_string(port)});
  EXPECT_FALSE(many.try_resolve().ok());
}

TEST(Network, APublishedPortIsItsOwnHostPortUnlessSaid) {
  EXPECT_EQ(*parse_published_port("8000"), (PublishedPort{8000, 8000}));
  EXPECT_EQ(*parse_published_port("8000:9000"), (PublishedPort{8000, 9000}));
}

TEST(Network, ASocketIsMountedAtItsOwnPathAndAnythingElseIsRefused) {
  NetworkWorld world;
  world.files.socket("/run/docker.sock").file("/run/plain");
  Policy policy = world.flags({"--allow-socket", "/run/docker.sock"}).resolved();
  EXPECT_EQ(policy.mounts.back().target, "/run/docker.sock");
  EXPECT_FALSE(NetworkWorld().flags({"--allow-socket", "/run/docker.sock"}).try_resolve().ok());
  NetworkWorld other;
  other.files.file("/run/plain");
  EXPECT_FALSE(other.flags({"--allow-socket", "/run/plain"}).try_resolve().ok());
}

}  // namespace
}  // namespace caisson
