#include "gateway/token_mask.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "gateway/placeholder.h"
#include "gateway/secret_spellings.h"

namespace caisson {
namespace {

std::string part(std::string_view text) {
  std::string out = base64(text);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  while (out.ends_with('=')) out.pop_back();
  return out;
}

std::string payload_of(std::string_view token) {
  std::string text(split(token, '.')[1]);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  return decode_base64(text).value_or("?");
}

const std::string kHeader = part(R"({"alg":"RS256","typ":"JWT"})");
const std::string kPayload = part(
    R"({"sub":"user-1234567","exp":1999999999,"https://x.test/auth":{"account":"acct-7654321"}})");
const std::string kTokenSignature(342, 'k');
const std::string kToken = kHeader + "." + kPayload + "." + kTokenSignature;

TEST(TokenMask, ClaimsStayAndTheSignatureIsFalse) {
  Result<TokenMask> mask = mask_token(kToken, {}, "T");
  ASSERT_TRUE(mask.ok());
  EXPECT_TRUE(mask->placeholder.starts_with(kHeader + "." + kPayload + "."));
  EXPECT_EQ(mask->placeholder.size(), kToken.size());
  EXPECT_NE(mask->placeholder, kToken);
  EXPECT_TRUE(is_token_placeholder(mask->placeholder));
  EXPECT_TRUE(mask->claims.empty());
  EXPECT_NE(mask_token(kToken, {}, "T")->placeholder, mask->placeholder);
}

TEST(TokenMask, NamedClaimsAreHiddenAndTheOthersShown) {
  std::vector<std::string> claims{"sub", "https://x.test/auth.account", "absent"};
  Result<TokenMask> mask = mask_token(kToken, claims, "T");
  ASSERT_TRUE(mask.ok());
  std::string shown = payload_of(mask->placeholder);
  EXPECT_EQ(shown.find("user-1234567"), std::string::npos) << shown;
  EXPECT_NE(shown.find("1999999999"), std::string::npos) << shown;
  ASSERT_EQ(mask->claims.size(), 2u);
  EXPECT_EQ(mask->claims[0].value, "user-1234567");
  EXPECT_EQ(mask->claims[1].value, "acct-7654321");
  EXPECT_NE(shown.find(mask->claims[0].placeholder), std::string::npos) << shown;
}

TEST(TokenMask, PathLeadsIntoAnObject) {
  std::string token =
      kHeader + "." + part(R"({"auth":{"account":"acct-7654321","n":5}})") + "." + kTokenSignature;
  std::vector<std::string> claims{"auth.account", "auth.n"};
  Result<TokenMask> mask = mask_token(token, claims, "T");
  ASSERT_TRUE(mask.ok());
  ASSERT_EQ(mask->claims.size(), 1u);  // a number is hidden, and never put back
  EXPECT_EQ(mask->claims[0].value, "acct-7654321");
  EXPECT_EQ(payload_of(mask->placeholder).find(":5"), std::string::npos);
}

TEST(TokenMask, WhatIsNoTokenIsRefusedWithoutTellingIt) {
  for (const std::string& text :
       {std::string("sk-secret"), kHeader + "." + kPayload, kToken + ".x", std::string("a.b.c"),
        kHeader + "." + part("[1]") + ".x", kHeader + "." + part("{bad") + ".x",
        kHeader + "." + part(std::string(100, '[')) + ".x"}) {
    Result<TokenMask> mask = mask_token(text, {}, "T");
    ASSERT_FALSE(mask.ok()) << text;
    EXPECT_EQ(mask.error().what.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace caisson
