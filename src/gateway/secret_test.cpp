#include "gateway/secret.h"

#include <gtest/gtest.h>

#include "gateway/secret_examples.h"

namespace caisson {
namespace {

using examples::host;
using examples::secret;
using examples::table;

TEST(Secrets, AreForTheirHostsAloneAndForHttpsUnlessAPortIsSaid) {
  auto secrets = table({secret("A", "value-of-a", {"api.example.com", "*.hub.example.com:8443"}),
                        secret("B", "value-of-b", {"10.1.2.3"}, '1')});
  EXPECT_TRUE(secrets->may_have(0, host("api.example.com"), 443));
  EXPECT_FALSE(secrets->may_have(0, host("api.example.com"), 22));
  EXPECT_FALSE(secrets->may_have(0, host("api.example.com"), 8443));
  EXPECT_FALSE(secrets->may_have(0, host("xapi.example.com"), 443));
  EXPECT_FALSE(secrets->may_have(0, host("example.com"), 443));
  EXPECT_TRUE(secrets->may_have(0, host("eu.hub.example.com"), 8443));
  EXPECT_FALSE(secrets->may_have(0, host("hub.example.com"), 8443));
  EXPECT_FALSE(secrets->may_have(1, host("api.example.com"), 443));
  EXPECT_TRUE(secrets->may_have(1, host("10.1.2.3"), 443));

  EXPECT_TRUE(secrets->any_for(host("10.1.2.3"), 443));
  EXPECT_TRUE(secrets->any_for(host("api.example.com"), 443));
  EXPECT_FALSE(secrets->any_for(host("api.example.com"), 22));
  EXPECT_FALSE(secrets->any_for(host("other.example.com"), 443));
}

TEST(Secrets, NoneIsATableToo) {
  auto secrets = table({});
  EXPECT_TRUE(secrets->empty());
  EXPECT_FALSE(secrets->any_for(host("api.example.com"), 443));
  EXPECT_FALSE(secrets->placeholders().find("anything"));
}

TEST(Secrets, WhatTheMaskAndTheTablesRelyOnIsCheckedAgain) {
  auto refused = [](Secret one) { return !Secrets::make({std::move(one)}).ok(); };
  EXPECT_FALSE(refused(secret("A", "value-of-a", {"example.com"})));
  EXPECT_TRUE(refused(secret("A", "short", {"example.com"})));
  EXPECT_TRUE(refused(secret("A", std::string(64 * 1024 + 1, 'x'), {"example.com"})));
  EXPECT_TRUE(refused(secret("A", "value\r\nX-Evil: 1", {"example.com"})));
  EXPECT_TRUE(refused(secret("A", std::string("value\0of-a", 10), {"example.com"})));
  EXPECT_TRUE(refused(secret("A", "value-of-a", {})));
  EXPECT_TRUE(refused(secret("A", "value-of-a", {"*"})));
  EXPECT_TRUE(refused(secret("A", "value-of-a", {"exa mple.com"})));
  EXPECT_TRUE(refused({"A", "value-of-a", {"example.com"}, "my-placeholder"}));
}

TEST(Secrets, ErrorsDoNotTellTheValue) {
  auto made = Secrets::make({secret("A", "short", {"example.com"})});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what.find("short"), std::string::npos);
  EXPECT_NE(made.error().what.find("secret A"), std::string::npos);
}

TEST(Secrets, TheirNumberAndSizeAreBounded) {
  std::vector<Secret> many;
  for (int i = 0; i < 64; ++i)
    many.push_back(secret("S" + std::to_string(i), "value-of-it", {"example.com"}));
  EXPECT_TRUE(Secrets::make(many).ok());
  many.push_back(secret("ONE_MORE", "value-of-it", {"example.com"}));
  EXPECT_FALSE(Secrets::make(many).ok());

  std::string half(64 * 1024, 'x');
  std::vector<Secret> large{secret("A", half, {"example.com"}), secret("B", half, {"example.com"})};
  EXPECT_TRUE(Secrets::make(large).ok());
  large.push_back(secret("C", "value-of-c", {"example.com"}));
  EXPECT_FALSE(Secrets::make(large).ok());
}

TEST(Secrets, TwoWithOnePlaceholderAreRefused) {
  EXPECT_FALSE(Secrets::make({secret("A", "value-of-a", {"example.com"}),
                              secret("A", "value-of-b", {"example.com"})})
                   .ok());
}

TEST(Secrets, MaskIsForEveryPortThatIsReadAndAsksForNoneButTheUsual) {
  Secret mask = secret("A", "value-of-a", {"example.com", "b.example.com:8443"});
  mask.any_port = true;
  Result<std::unique_ptr<Secrets>> secrets = Secrets::make({mask});
  ASSERT_TRUE(secrets.ok());
  EXPECT_TRUE((*secrets)->any_for(host("example.com"), 22));
  EXPECT_FALSE((*secrets)->must_read(host("example.com"), 22));
  EXPECT_TRUE((*secrets)->must_read(host("example.com"), 443));
  EXPECT_TRUE((*secrets)->must_read(host("b.example.com"), 8443));
  EXPECT_FALSE((*secrets)->must_read(host("b.example.com"), 443));
}

}  // namespace
}  // namespace caisson
