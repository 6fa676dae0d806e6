#include "cli/gateway_masks.h"

#include <gtest/gtest.h>

#include "gateway/secret.h"
#include "policy/fake_host_files.h"

namespace caisson {
namespace {

constexpr const char* kValue = "sk-0123456789abcdef";

struct Given {
  NetworkDetails details;
  Caller caller;
  FakeHostFiles files;

  MaskSpec& variable(const std::string& name, const std::string& value) {
    caller.environment[name] = value;
    details.masks.push_back({.from = name, .hosts = {"api.test"}});
    return details.masks.back();
  }
  MaskSpec& file(const std::string& path, const std::string& text) {
    files.file(path, text);
    details.masks.push_back({.source = SecretSource::kFile, .from = path, .hosts = {"api.test"}});
    return details.masks.back();
  }
  Result<Masks> make() const { return make_masks(details, caller, files); }
};

TEST(GatewayMasks, VariableIsAPlaceholderAndItsValueTheGateways) {
  Given given;
  given.variable("KEY", kValue);
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  ASSERT_EQ(masks->secrets.size(), 1u);
  EXPECT_EQ(masks->secrets[0].value, kValue);
  ASSERT_EQ(masks->variables.size(), 1u);
  EXPECT_EQ(masks->variables[0].second, masks->secrets[0].placeholder);
  EXPECT_TRUE(Secrets::make(masks->secrets).ok());
}

TEST(GatewayMasks, OnlyWhatIsExtractedIsReplaced) {
  Given given;
  given.file("/home/me/.conf", "user=me\nkey=" + std::string(kValue) + "\ncopy " + kValue + "\n")
      .extract = "key=(\\S+)";
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  ASSERT_EQ(masks->files.size(), 1u);
  const std::string& placeholder = masks->secrets.at(0).placeholder;
  EXPECT_EQ(masks->files[0].content, "user=me\nkey=" + placeholder + "\ncopy " + kValue + "\n");
  given.details.masks[0].duplicates = true;
  masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_EQ(masks->files[0].content.find(kValue), std::string::npos);
  EXPECT_EQ(masks->secrets.size(), 1u);
}

TEST(GatewayMasks, EveryMatchIsASecretOfItsOwn) {
  Given given;
  given.file("/f", "k=first-secret k=other-secret k=first-secret").extract = "k=([a-z-]+)";
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_EQ(masks->secrets.size(), 2u);
  EXPECT_EQ(masks->files[0].content.find("secret"), std::string::npos);
}

TEST(GatewayMasks, WithoutAMatchItIsShownHiddenOrAnError) {
  Given given;
  MaskSpec& spec = given.variable("KEY", "nothing to see");
  spec.extract = "key=(.+)";
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_EQ(masks->variables.at(0).second, "nothing to see");
  EXPECT_EQ(masks->warnings.size(), 1u);
  spec.no_match = NoMatch::kDeny;
  masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_TRUE(masks->variables.empty());
  spec.no_match = NoMatch::kError;
  EXPECT_FALSE(given.make().ok());

  Given file;
  file.file("/f", "text").extract = "key=(.+)";
  file.details.masks[0].no_match = NoMatch::kDeny;
  masks = file.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_EQ(masks->files.at(0).content, "");
}

TEST(GatewayMasks, WhatIsNotThereHasNothingToHide) {
  Given given;
  given.details.masks = {{.from = "UNSET", .hosts = {"api.test"}},
                         {.source = SecretSource::kFile, .from = "/absent", .hosts = {"api.test"}}};
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_TRUE(masks->secrets.empty() && masks->variables.empty() && masks->files.empty());
}

TEST(GatewayMasks, WhatNoRequestCanCarryIsHiddenAndNeverPutBack) {
  Given given;
  given.file("/key.pem", "-----BEGIN-----\nline\n-----END-----\n");
  given.variable("SHORT", "abc");
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  EXPECT_TRUE(masks->secrets.empty());
  EXPECT_EQ(masks->files.at(0).content.find("line"), std::string::npos);
  EXPECT_NE(masks->variables.at(0).second, "abc");
  for (const std::string& warning : masks->warnings)
    EXPECT_EQ(warning.find("abc"), std::string::npos);
}

TEST(GatewayMasks, KeysOfAwsArePairedByTheirUsualNamesAndByOthers) {
  Given given;
  given.variable("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE");
  given.variable("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-K7MDENG");
  given.caller.environment["OTHER_ID"] = "AKIAOTHER";
  given.variable("OTHER_KEY", "another-secret-key");
  given.details.aws_pairs = {{"OTHER_ID", "OTHER_KEY", ""}};
  Result<Masks> masks = given.make();
  ASSERT_TRUE(masks.ok());
  ASSERT_EQ(masks->aws_keys.size(), 2u);
  EXPECT_EQ(masks->aws_keys[0].shown_id, "AKIAOTHER");  // not masked: known by itself
  EXPECT_EQ(masks->aws_keys[0].id, "AKIAOTHER");
  EXPECT_EQ(masks->aws_keys[1].id, "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(masks->aws_keys[1].shown_id, masks->variables[0].second);
}

}  // namespace
}  // namespace caisson
