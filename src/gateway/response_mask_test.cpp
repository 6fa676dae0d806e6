#include "gateway/response_mask.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "gateway/secret_examples.h"
#include "gateway/secret_spellings.h"

namespace caisson {
namespace {

using examples::host;
using examples::placeholder;
using examples::secret;
using examples::table;
using Length = ResponseMask::Length;

const std::string kValue = "s3cr3t/with+odd=\"chars\"";
const std::string kFirst = placeholder("A");

class ResponseMaskTest : public testing::Test {
 protected:
  std::string body(const std::vector<std::string_view>& chunks, Length length = Length::kFree) {
    ResponseMask mask(*secrets_, length);
    std::string out;
    for (std::string_view chunk : chunks) mask.body(chunk, out);
    mask.finish_body(out);
    return out;
  }

  std::unique_ptr<Secrets> secrets_ = table(
      {secret("A", kValue, {"api.example.com"}), secret("B", "value-of-b", {"b.example"}, '1')});
};

TEST_F(ResponseMaskTest, EverySpellingIsHiddenWhereverTheBodyIsCut) {
  for (const std::string& spelling : spellings_of(kValue)) {
    std::string text = "{\"k\": \"s3c" + spelling + "s3cr3t\"}";
    std::string_view all = text;
    for (size_t at = 0; at <= all.size(); ++at)
      ASSERT_EQ(body({all.substr(0, at), all.substr(at)}), "{\"k\": \"s3c" + kFirst + "s3cr3t\"}")
          << spelling;
  }
}

TEST_F(ResponseMaskTest, Base64OfTheWholeHeaderShowsNothingOfTheValue) {
  for (std::string user : {"u:", "us:", "use:"}) {
    std::string masked = body({base64(user + kValue + ":tail")});
    EXPECT_NE(masked.find(kFirst), std::string::npos);
    EXPECT_EQ(masked.find(base64_inside(kValue, user.size())), std::string::npos);
  }
}

TEST_F(ResponseMaskTest, TheLastBitsAtTheEndOfBase64AreHiddenToo) {
  EXPECT_EQ(body({"\"" + base64("me:" + kValue) + "\""}).substr(0, 5 + kFirst.size()),
            "\"bWU6" + kFirst);
  for (std::string user : {"", "u:", "us:"}) {
    std::string text = base64(user + kValue), masked = body({text});
    std::string padding = text.substr(std::min(text.find('='), text.size()));
    EXPECT_TRUE(masked.ends_with(kFirst + padding)) << masked;
  }
}

TEST_F(ResponseMaskTest, AFieldWhoseNameTellsAValueIsDropped) {
  auto secrets = table({secret("A", "Sk-Key_1.abcDEF", {"api.example.com"}),
                        secret("B", "user:pass-word", {"b.example"}, '1')});
  for (const char* name : {"Sk-Key_1.abcDEF", "sk-key_1.abcdef", "X-SK-KEY-1-ABCDEF", "x-User"}) {
    ResponseMask mask(*secrets, Length::kFree);
    std::vector<HttpField> fields{{"X-Before", "1"}, {name, "pass-word"}, {"X-User", "pass"}};
    mask.fields(fields);
    ASSERT_EQ(fields.size(), 2u) << name;
    EXPECT_EQ(fields[1].value, "pass");
    EXPECT_TRUE(mask.masked());
  }
}

TEST_F(ResponseMaskTest, AFieldWhoseValueTellsOneKeepsItsName) {
  ResponseMask mask(*secrets_, Length::kFree);
  std::vector<HttpField> fields{{"X-Seen", "Bearer " + kValue}, {"Vary", "Accept"}};
  mask.fields(fields);
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].value, "Bearer " + kFirst);
}

TEST_F(ResponseMaskTest, SecretsOfOtherHostsAreHiddenToo) {
  EXPECT_EQ(body({"value-of-b"}), placeholder("B", '1'));
}

TEST_F(ResponseMaskTest, OtherTextPassesAtOnce) {
  ResponseMask mask(*secrets_, Length::kFree);
  std::string out;
  mask.body("data: {\"delta\": \"hello\"}\n\n", out);
  EXPECT_EQ(out, "data: {\"delta\": \"hello\"}\n\n");
  EXPECT_FALSE(mask.masked());
  mask.body(kValue.substr(0, 5), out);
  EXPECT_TRUE(out.ends_with("\n\n"));  // held: it may become the value
  mask.body("!", out);
  EXPECT_TRUE(out.ends_with("\n\n" + kValue.substr(0, 5) + "!"));
  EXPECT_FALSE(mask.masked());
}

TEST_F(ResponseMaskTest, ABodyThatEndsInsideAValueKeepsItsBytes) {
  EXPECT_EQ(body({"x" + kValue.substr(0, 10)}), "x" + kValue.substr(0, 10));
}

TEST_F(ResponseMaskTest, AMaskCanKeepTheLength) {
  for (const std::string& spelling : spellings_of(kValue)) {
    std::string masked = body({"<" + spelling + ">"}, Length::kKept);
    ASSERT_EQ(masked.size(), spelling.size() + 2);
    EXPECT_EQ(masked.find(spelling), std::string::npos);
    EXPECT_TRUE(masked.starts_with("<caisson_A_"));
  }
  auto longer = table({secret("A", std::string(50, 'v'), {"api.example.com"})});
  ResponseMask mask(*longer, Length::kKept);
  std::string out;
  mask.body(std::string(50, 'v'), out);
  EXPECT_EQ(out, kFirst + std::string(50 - kFirst.size(), '*'));
}

TEST_F(ResponseMaskTest, HeadersAreMaskedAndTheMaskIsOnRecord) {
  ResponseMask mask(*secrets_, Length::kKept);
  std::string value = "https://x.example/?token=" + percent_encoded(kValue);
  mask.header(value);
  EXPECT_EQ(value, "https://x.example/?token=" + kFirst);
  EXPECT_TRUE(mask.masked());
  std::string other = "text/plain";
  mask.header(other);
  EXPECT_EQ(other, "text/plain");
}

TEST_F(ResponseMaskTest, EncodedBodiesCanNotBeRead) {
  for (std::string_view each : {"", "identity", " Identity ", "identity, identity"})
    EXPECT_TRUE(ResponseMask::can_read(each)) << each;
  for (std::string_view each : {"gzip", "br", "identity, gzip", "zstd,identity", "x"})
    EXPECT_FALSE(ResponseMask::can_read(each)) << each;
  EXPECT_TRUE(ResponseMask::must_ask_identity(*secrets_, host("api.example.com"), 443));
  EXPECT_FALSE(ResponseMask::must_ask_identity(*secrets_, host("other.example"), 443));
}

TEST_F(ResponseMaskTest, FramingFollowsFromTheLength) {
  EXPECT_EQ(ResponseMask::plan(std::nullopt), BodyPlan::kUnsized);
  EXPECT_EQ(ResponseMask::plan(0), BodyPlan::kGather);
  EXPECT_EQ(ResponseMask::plan(kMaxGathered), BodyPlan::kGather);
  EXPECT_EQ(ResponseMask::plan(kMaxGathered + 1), BodyPlan::kAsIs);
}

TEST_F(ResponseMaskTest, OfTwoValuesTheLongerIsHiddenAsAWhole) {
  auto secrets = table({secret("A", "password", {"a.example"}),
                        secret("B", "password-of-production", {"a.example"}, '1')});
  std::string_view text = "password-of-production password-of-p";
  for (size_t at = 0; at <= text.size(); ++at) {
    ResponseMask mask(*secrets, Length::kFree);
    std::string out;
    mask.body(text.substr(0, at), out);
    mask.body(text.substr(at), out);
    mask.finish_body(out);
    EXPECT_EQ(out, placeholder("B", '1') + " " + kFirst + "-of-p");
  }
}

}  // namespace
}  // namespace caisson
