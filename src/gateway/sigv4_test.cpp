#include "gateway/sigv4.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace caisson {
namespace {

constexpr std::string_view kKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

// The example that AWS's own documentation computes step by step.
SignedRequest list_users() {
  return {"GET",
          "/?Action=ListUsers&Version=2010-05-08",
          {{"Host", "iam.amazonaws.com"},
           {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
           {"X-Amz-Date", "20150830T123600Z"}},
          sha256_hex(""),
          "20150830T123600Z"};
}

std::string authorization_of(std::string_view signature) {
  return "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date, Signature=" +
         std::string(signature);
}

constexpr std::string_view kSignature =
    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";

SigV4 parsed(const std::string& text) {
  Result<std::optional<SigV4>> said = parse_sigv4(text);
  EXPECT_TRUE(said.ok() && *said) << text;
  return said.ok() && *said ? **said : SigV4{};
}

TEST(SigV4, KnownExampleComesOutRight) {
  SigV4 said = parsed(authorization_of(kSignature));
  EXPECT_EQ(said.access_key_id, "AKIDEXAMPLE");
  EXPECT_EQ(said.region, "us-east-1");
  EXPECT_EQ(said.service, "iam");
  EXPECT_EQ(sigv4_signature(list_users(), said, {}, kKey), kSignature);
  EXPECT_EQ(sigv4_authorization(said, said.access_key_id, kSignature),
            authorization_of(kSignature));
}

TEST(SigV4, StyleIsFoundByTheKeyAlone) {
  SigV4 said = parsed(authorization_of("0"));
  SignedRequest request = list_users();
  request.target = "/a%20b/(c)?z=1&b=%2b&b=a";
  for (auto path : {SigV4Style::Path::kEncodedAgain, SigV4Style::Path::kOnce}) {
    said.signature = sigv4_signature(request, said, {path}, kKey);
    auto style = sigv4_style_of(request, said, kKey);
    ASSERT_TRUE(style);
    EXPECT_EQ(style->path, path);
    EXPECT_FALSE(sigv4_style_of(request, said, "another key that is not it"));
    SignedRequest other = request;
    other.payload = sha256_hex("something else");
    EXPECT_FALSE(sigv4_style_of(other, said, kKey));
  }
}

TEST(SigV4, CanonicalFormSortsAndFolds) {
  SigV4 said = parsed(authorization_of("0"));
  said.signed_headers = {"x-two", "host"};
  SignedRequest request{"PUT",
                        "/a%2Fb/c?b=2&a&b=1",
                        {{"Host", "h"}, {"X-Two", "  a   b "}, {"x-two", "c"}},
                        "HASH",
                        ""};
  EXPECT_EQ(sigv4_canonical(request, said, {}),
            "PUT\n/a%252Fb/c\na=&b=1&b=2\nhost:h\nx-two:a b,c\n\nhost;x-two\nHASH");
}

TEST(SigV4, OtherSchemesAndBrokenOnesAreToldApart) {
  for (const char* other : {"Bearer abc", "Basic Zm9v", "", "AWS4-HMAC-SHA256X a"}) {
    Result<std::optional<SigV4>> said = parse_sigv4(other);
    EXPECT_TRUE(said.ok() && !*said) << other;
  }
  for (const char* broken :
       {"AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature=x",
        "AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request, SignedHeaders=, Signature=x",
        "AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=/20150830/r/s/aws4_request, SignedHeaders=host, Signature=x"})
    EXPECT_FALSE(parse_sigv4(broken).ok()) << broken;
  SigV4 asymmetric = parsed(
      "AWS4-ECDSA-P256-SHA256 Credential=ID/20150830/s3/aws4_request, SignedHeaders=host, "
      "Signature=ab");
  EXPECT_EQ(asymmetric.algorithm, kSigV4a);
  EXPECT_EQ(asymmetric.service, "s3");
}

}  // namespace
}  // namespace caisson
