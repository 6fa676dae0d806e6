#include "gateway/placeholder_substitution.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "gateway/secret_examples.h"

namespace caisson {
namespace {

using examples::host;
using examples::placeholder;
using examples::secret;
using examples::table;

const std::string kA = placeholder("A"), kB = placeholder("B", '1'), kC = placeholder("C", '2');

// A: headers only. B: bodies too. C: URLs too, for another host as well.
class SubstitutionTest : public testing::Test {
 protected:
  static std::unique_ptr<Secrets> make() {
    Secret a = secret("A", "value-of-a", {"api.example.com"});
    Secret b = secret("B", "the longer value of b, longer than its placeholder is by far",
                      {"api.example.com"}, '1');
    Secret c = secret("C", "c/ü&=value", {"api.example.com", "*.other.example"}, '2');
    b.in_body = true;
    c.in_url = true;
    return table({a, b, c});
  }

  Substitution to(std::string_view name, uint16_t port = 443, Scheme scheme = Scheme::kHttps) {
    return {*secrets_, scheme, host(name), port};
  }
  std::string header(std::string_view name, std::string value) {
    Verdict verdict = to("api.example.com").header(name, value);
    return verdict.allowed ? value : "refused: " + verdict.reason;
  }
  Verdict verdict(Substitution substitution, std::string_view name, std::string value) {
    std::string before = value;
    Verdict answer = substitution.header(name, value);
    EXPECT_TRUE(answer.allowed || value == before);
    return answer;
  }
  std::string body(const std::vector<std::string_view>& chunks) {
    Substitution substitution = to("api.example.com");
    std::string out;
    for (std::string_view chunk : chunks)
      if (Verdict v = substitution.body(chunk, out); !v.allowed) return out + "|refused";
    return substitution.finish_body(out).allowed ? out : out + "|refused";
  }

  std::unique_ptr<Secrets> secrets_ = make();
};

TEST_F(SubstitutionTest, HeadersGetTheValueForTheSecretsHost) {
  EXPECT_EQ(header("Authorization", "Bearer " + kA), "Bearer value-of-a");
  EXPECT_EQ(header("x-api-key", kA), "value-of-a");
  EXPECT_EQ(header("Cookie", "s=" + kA + "; t=" + kA), "s=value-of-a; t=value-of-a");
  EXPECT_EQ(header("X", kA + kC), "value-of-ac/ü&=value");
  EXPECT_EQ(header("Authorization", "Bearer other"), "Bearer other");
}

TEST_F(SubstitutionTest, BasicCredentialsAreLookedInto) {
  std::string encoded = base64("user:" + kA);
  EXPECT_EQ(header("authorization", "Basic " + encoded), "Basic " + base64("user:value-of-a"));
  EXPECT_EQ(header("AUTHORIZATION", "bASIC   " + encoded), "Basic " + base64("user:value-of-a"));
  EXPECT_EQ(header("Authorization", "Basic " + base64(kA + ":")), "Basic " + base64("value-of-a:"));
  // A secret that is the encoded pair already.
  EXPECT_EQ(header("Authorization", "Basic " + kA), "Basic value-of-a");
  // Not for us to decode.
  for (const std::string& other : std::vector<std::string>{
           "Basic", "Basic ", "Basic !!!", "Basicx " + encoded, "Bearer " + encoded,
           "Basic " + base64("user:pass"), "Basic " + encoded + "=="})
    EXPECT_EQ(header("Authorization", other), other);
}

TEST_F(SubstitutionTest, BasicCredentialsForTheWrongHostAreRefused) {
  Verdict v = verdict(to("evil.example"), "Authorization", "Basic " + base64("u:" + kA));
  EXPECT_FALSE(v.allowed);
}

TEST_F(SubstitutionTest, AnotherHostIsRefusedAndToldHowToAllow) {
  Verdict v = verdict(to("evil.example"), "Authorization", "Bearer " + kA);
  EXPECT_FALSE(v.allowed);
  EXPECT_EQ(v.rule, "secret A@api.example.com");
  EXPECT_EQ(v.reason,
            "the placeholder of secret A was sent to evil.example:443, which may not have it");
  EXPECT_EQ(v.how_to_allow, "--secret 'A=…@api.example.com,evil.example'");
  EXPECT_FALSE(verdict(to("api.example.com", 8443), "Authorization", kA).allowed);
  EXPECT_FALSE(verdict(to("sub.api.example.com"), "Authorization", kA).allowed);
  EXPECT_FALSE(verdict(to("10.1.2.3"), "Authorization", kA).allowed);
  EXPECT_TRUE(verdict(to("x.other.example"), "Authorization", kC).allowed);
  EXPECT_FALSE(verdict(to("x.other.example"), "Authorization", kC + kA).allowed);
}

TEST_F(SubstitutionTest, PlainHttpIsRefusedEvenForTheSecretsHost) {
  auto secrets = table({secret("A", "value-of-a", {"api.example.com:80"})});
  Substitution substitution(*secrets, Scheme::kHttp, host("api.example.com"), 80);
  std::string value = kA;
  Verdict v = substitution.header("Authorization", value);
  EXPECT_FALSE(v.allowed);
  EXPECT_EQ(v.how_to_allow, "use https");
  EXPECT_EQ(value, kA);
  Substitution tls(*secrets, Scheme::kHttps, host("api.example.com"), 80);
  EXPECT_TRUE(tls.header("Authorization", value).allowed);
}

TEST_F(SubstitutionTest, HeadersThatServersRepeatAreNoPlace) {
  for (std::string_view name :
       {"Host", "User-Agent", "REFERER", "origin", "Accept", "accept-language", "X-Forwarded-For",
        "Content-Type", "If-Match", "Via", ":authority", "Sec-WebSocket-Protocol", "Range",
        "traceparent"}) {
    Verdict v = verdict(to("api.example.com"), name, "x " + kA);
    EXPECT_FALSE(v.allowed) << name;
    EXPECT_EQ(header(name, "plain"), "plain");
  }
  EXPECT_FALSE(verdict(to("api.example.com"), kA, "x").allowed);
  for (std::string_view name :
       {"Authorization", "X-Api-Key", "PRIVATE-TOKEN", "Hostess", "Fromage"})
    EXPECT_TRUE(verdict(to("api.example.com"), name, kA).allowed) << name;
}

TEST_F(SubstitutionTest, VerdictsTellNeitherValueNorPlaceholder) {
  for (std::string_view name : {"Host", "Authorization"})
    for (std::string_view where : {"evil.example", "api.example.com"})
      for (const std::string& text : {kA, kB, kC}) {
        Verdict v = verdict(to(where), name, text);
        std::string all = v.rule + v.reason + v.how_to_allow;
        EXPECT_EQ(all.find("value"), std::string::npos);
        EXPECT_EQ(all.find("caisson_"), std::string::npos);
      }
}

TEST_F(SubstitutionTest, UrlsNeedToBeAskedForAndAreEncoded) {
  std::string path = "/v1?key=" + kC + "&x";
  EXPECT_TRUE(to("api.example.com").target(path).allowed);
  EXPECT_EQ(path, "/v1?key=c%2F%C3%BC%26%3Dvalue&x");
  path = "/v1?key=" + kA;
  Verdict v = to("api.example.com").target(path);
  EXPECT_FALSE(v.allowed);
  EXPECT_EQ(v.how_to_allow, "--secret 'A=…@api.example.com;url'");
  EXPECT_EQ(path, "/v1?key=" + kA);
  path = "/plain";
  EXPECT_TRUE(to("evil.example").target(path).allowed);
}

TEST_F(SubstitutionTest, BodiesAreRewrittenWhereverTheyAreCut) {
  std::string value = secrets_->all()[1].value;
  std::string text = "{\"a\":\"" + kB + kB + "\",\"caisson_B_\":\"caisson_" + kB + "\"}";
  std::string expected =
      "{\"a\":\"" + value + value + "\",\"caisson_B_\":\"caisson_" + value + "\"}";
  std::string_view all = text;
  for (size_t a = 0; a <= all.size(); ++a)
    for (size_t b = a; b <= all.size(); ++b)
      ASSERT_EQ(body({all.substr(0, a), all.substr(a, b - a), all.substr(b)}), expected);
}

TEST_F(SubstitutionTest, ABodyThatEndsInsideAPlaceholderKeepsItsBytes) {
  EXPECT_EQ(body({"x", std::string_view(kB).substr(0, 20)}), "x" + kB.substr(0, 20));
  EXPECT_EQ(body({}), "");
}

TEST_F(SubstitutionTest, ABodyWithoutLeaveIsRefusedBeforeThePlaceholderWentOut) {
  std::string_view a = kA;
  EXPECT_EQ(body({"before ", a.substr(0, 9), a.substr(9), " after"}), "before |refused");
  Substitution substitution = to("api.example.com");
  std::string out;
  Verdict v = substitution.body(kA, out);
  EXPECT_EQ(v.how_to_allow, "--secret 'A=…@api.example.com;body'");
  // And stays so.
  EXPECT_FALSE(substitution.body("more", out).allowed);
  EXPECT_FALSE(substitution.finish_body(out).allowed);
  EXPECT_EQ(out, "");
}

TEST_F(SubstitutionTest, FramingFollowsFromWhatMayBePutIn) {
  Substitution with = to("api.example.com"), without = to("x.other.example");
  EXPECT_EQ(with.body_plan(100), BodyPlan::kGather);
  EXPECT_EQ(with.body_plan(kMaxGathered), BodyPlan::kGather);
  EXPECT_EQ(with.body_plan(kMaxGathered + 1), BodyPlan::kUnsized);
  EXPECT_EQ(with.body_plan(std::nullopt), BodyPlan::kUnsized);
  EXPECT_EQ(without.body_plan(100), BodyPlan::kAsIs);
  EXPECT_EQ(without.body_plan(std::nullopt), BodyPlan::kAsIs);
  EXPECT_EQ(to("api.example.com", 80, Scheme::kHttp).body_plan(100), BodyPlan::kAsIs);

  Secret same = secret("B", std::string(kB.size(), 'x'), {"api.example.com"}, '1');
  same.in_body = true;
  auto secrets = table({same});
  Substitution keeps(*secrets, Scheme::kHttps, host("api.example.com"), 443);
  EXPECT_EQ(keeps.body_plan(100), BodyPlan::kAsIs);
}

TEST_F(SubstitutionTest, WhatWasUsedIsOnRecord) {
  Substitution substitution = to("api.example.com");
  std::string value = kC, out;
  EXPECT_TRUE(substitution.used().empty());
  EXPECT_TRUE(substitution.header("X-Key", value).allowed);
  EXPECT_TRUE(substitution.body(kB, out).allowed);
  EXPECT_EQ(substitution.used(), (std::vector<std::string_view>{"B", "C"}));
}

TEST_F(SubstitutionTest, AValueThatLooksLikeAPlaceholderIsNotReplacedAgain) {
  auto secrets = table({secret("A", kB, {"api.example.com"}),
                        secret("B", "value-of-b", {"elsewhere.example"}, '1')});
  Substitution substitution(*secrets, Scheme::kHttps, host("api.example.com"), 443);
  std::string value = kA;
  EXPECT_TRUE(substitution.header("Authorization", value).allowed);
  EXPECT_EQ(value, kB);
}

}  // namespace
}  // namespace caisson
