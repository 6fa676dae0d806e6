#include "rules/secret_spec.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using namespace std::string_literals;

TEST(SecretSpec, AVariableForOneHost) {
  auto spec = parse_secret("ANTHROPIC_API_KEY=env:MY_KEY@api.anthropic.com");
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, (SecretSpec{.name = "ANTHROPIC_API_KEY",
                               .source = SecretSource::kEnvironment,
                               .from = "MY_KEY",
                               .hosts = {"api.anthropic.com"}}));
}

TEST(SecretSpec, AFileForSeveralHostsInBodiesAndUrls) {
  auto spec =
      parse_secret("T=file:/run/k@b,c;d/token@api.example.com,*.x.example:8443,[::1]:80;body;url");
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, (SecretSpec{.name = "T",
                               .source = SecretSource::kFile,
                               .from = "/run/k@b,c;d/token",
                               .hosts = {"api.example.com", "*.x.example:8443", "[::1]:80"},
                               .in_body = true,
                               .in_url = true}));
  EXPECT_TRUE(parse_secret("T=env:V@example.com;url")->in_url);
  EXPECT_FALSE(parse_secret("T=env:V@example.com;url")->in_body);
}

TEST(SecretSpec, WhatIsNotOfThatFormIsRefused) {
  for (std::string_view bad : {"",
                               "T",
                               "T=",
                               "T=env:V",
                               "T=env:V@",
                               "T=env:@example.com",
                               "T=file:@example.com",
                               "T=V@example.com",
                               "T=cmd:V@example.com",
                               "=env:V@example.com",
                               "1T=env:V@example.com",
                               "T-T=env:V@example.com",
                               "T T=env:V@example.com",
                               "T=env:V-V@example.com",
                               "T=env:V@example.com,",
                               "T=env:V@,example.com",
                               "T=env:V@example.com;",
                               "T=env:V@example.com;head",
                               "T=env:V@example.com;body;body",
                               "T=env:V@;body",
                               "T=env:V@*",
                               "T=env:V@*.com",
                               "T=env:V@exa mple.com",
                               "T=env:V@https://example.com",
                               "T=env:V@example.com:0",
                               "T=file:a\nb@example.com",
                               "T@example.com=env:V"})
    EXPECT_FALSE(parse_secret(bad)) << bad;
  EXPECT_FALSE(parse_secret("T=file:a\0b@example.com"s));
  EXPECT_TRUE(parse_secret(std::string(64, 'N') + "=env:V@example.com"));
  EXPECT_FALSE(parse_secret(std::string(65, 'N') + "=env:V@example.com"));
}

TEST(SecretSpec, TheNumberOfHostsIsBounded) {
  std::string text = "T=env:V@example.com";
  for (size_t i = 1; i < kMaxSecretHosts; ++i) text += ",example.com";
  EXPECT_TRUE(parse_secret(text));
  EXPECT_FALSE(parse_secret(text + ",example.com"));
}

TEST(SecretSpec, ACredentialGivenByMistakeIsNotRepeatedInTheError) {
  for (std::string_view text : {"KEY=sk-live-123@example.com", "sk-live-123@example.com",
                                "sk-live-123", "KEY=sk-live-123", "KEY=p@sk-live-123"}) {
    auto spec = parse_secret(text);
    ASSERT_FALSE(spec);
    EXPECT_EQ((spec.error().what + spec.error().hint).find("sk-live"), std::string::npos) << text;
    EXPECT_FALSE(spec.error().hint.empty());
  }
}

class SecretValue : public testing::Test {
 protected:
  std::string from_variable(std::string value) { return take(variable_, std::move(value)); }
  std::string from_file(std::string value) { return take(file_, std::move(value)); }

 private:
  static std::string take(const SecretSpec& spec, std::string value) {
    auto checked = check_secret_value(spec, std::move(value));
    return checked ? *checked : "error: " + checked.error().what;
  }
  SecretSpec variable_ = *parse_secret("T=env:V@example.com");
  SecretSpec file_ = *parse_secret("T=file:/run/token@example.com");
};

TEST_F(SecretValue, IsTakenAsItIsButForAFilesLastNewline) {
  EXPECT_EQ(from_variable("12345678"), "12345678");
  EXPECT_EQ(from_variable(" pass word\t "), " pass word\t ");
  EXPECT_EQ(from_file("12345678\n"), "12345678");
  EXPECT_EQ(from_file("12345678\r\n"), "12345678");
  EXPECT_EQ(from_file("12345678"), "12345678");
  EXPECT_EQ(from_variable("grüße-passwort"), "grüße-passwort");
  EXPECT_EQ(from_variable(std::string(64 * 1024, 'x')).size(), 64 * 1024u);
}

TEST_F(SecretValue, WhatCanNotBeSentOrMaskedIsRefused) {
  EXPECT_EQ(from_variable(""), "error: secret T: env:V is empty");
  EXPECT_EQ(from_file("\n"), "error: secret T: file:/run/token is empty");
  EXPECT_EQ(from_variable("1234567"), "error: secret T: env:V has fewer than 8 bytes");
  EXPECT_TRUE(from_variable(std::string(64 * 1024 + 1, 'x')).starts_with("error"));
  for (const std::string& bad :
       {"12345678\n"s, "1234\r5678"s, "1234\0005678"s, "1234\x1b[5678"s, "12345678\x7f"s})
    EXPECT_TRUE(from_variable(bad).starts_with("error")) << bad;
  EXPECT_TRUE(from_file("12345678\n\n").starts_with("error"));
  EXPECT_TRUE(from_file("first line\nsecond line\n").starts_with("error"));
}

}  // namespace
}  // namespace caisson
