#include "policy/loopback_ports.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using Ports = std::vector<uint16_t>;

TEST(LoopbackPorts, EveryRuleThatNamesTheLoopbackWithAPortCounts) {
  RuleTexts rules;
  rules.allow = {"127.0.0.1:9999", "[::1]:80",    "LOCALHOST.:3000", "127.7.7.7:7", "localhost:80",
                 "10.1.2.3:5432",  "example.com", "local.test:8",    "[::2]:9",     "localhost"};
  rules.requests = {"GET http://127.0.0.1:8080/x", "GET https://localhost/*",
                    "GET https://example.com/*"};
  EXPECT_EQ(loopback_ports(rules), (Ports{7, 80, 443, 3000, 8080, 9999}));
  EXPECT_EQ(loopback_ports({}), Ports{});
}

TEST(LoopbackPorts, AnAddressThatATranslatorWouldTakeThereDoesNot) {
  EXPECT_EQ(loopback_ports({.allow = {"[64:ff9b::7f00:1]:80", "[2002:7f00:1::]:80"}}), Ports{});
  EXPECT_EQ(loopback_ports({.allow = {"[::ffff:127.0.0.1]:80"}}), Ports{80});  // that is IPv4
}

TEST(LoopbackPorts, WhatIsDeniedIsLeftToTheCell) {
  for (const char* denial : {"127.0.0.1:80", "127.0.0.1", "*:80", "*"})
    EXPECT_EQ(loopback_ports({.allow = {"127.0.0.1:80"}, .deny = {denial}}), Ports{}) << denial;
  EXPECT_EQ(loopback_ports({.allow = {"127.0.0.1:80"}, .denied_addresses = {"127.0.0.0/8"}}),
            Ports{});
  EXPECT_EQ(loopback_ports({.allow = {"127.0.0.1:80", "[::1]:80"}, .deny = {"127.0.0.1"}}),
            Ports{80});
}

TEST(LoopbackPorts, ARuleWithoutAPortIsAnErrorThatSaysWhatToWrite) {
  for (const char* text : {"localhost", "LocalHost.", "127.0.0.1", "127.9.9.9", "[::1]"}) {
    Result<void> checked = check_loopback_rule(text);
    ASSERT_FALSE(checked.ok()) << text;
    EXPECT_NE(checked.error().hint.find("--forward PORT"), std::string::npos);
  }
  for (const char* text : {"localhost:1", "[::1]:80", "local.test", "10.1.2.3", "*.localhost.test"})
    EXPECT_TRUE(check_loopback_rule(text).ok()) << text;
}

}  // namespace
}  // namespace caisson
