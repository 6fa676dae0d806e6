#include "gateway/secret_spellings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace caisson {
namespace {

bool knows(std::string_view value, std::string_view spelling) {
  return std::ranges::count(spellings_of(value), spelling) == 1;
}

TEST(SecretSpellings, EveryBase64AlignmentIsKnownWhateverStandsAround) {
  for (std::string value : {"12345678", "123456789", "1234567890", "k\xff\xfe\xfd?>+/k"}) {
    for (size_t before = 0; before < 7; ++before)
      for (size_t after = 0; after < 7; ++after) {
        std::string all = base64(std::string(before, 'u') + value + std::string(after, '\xff'));
        std::string inside = base64_inside(value, before);
        EXPECT_NE(all.find(inside), std::string::npos) << before << " " << after;
        EXPECT_GE(inside.size(), value.size());
        EXPECT_TRUE(knows(value, inside));
      }
  }
}

TEST(SecretSpellings, TheEndOfBase64IsKnownWholeWithItsLastBits) {
  for (std::string value : {"12345678", "123456789", "1234567890"})
    for (size_t before = 0; before < 7; ++before) {
      std::string all = base64(std::string(before, 'u') + value);
      std::string digits = all.substr(0, all.find('='));
      std::string end = base64_at_end(value, before);
      EXPECT_TRUE(digits.ends_with(end)) << before;
      EXPECT_LE(digits.size() - end.size(), (before * 8 + 5) / 6);  // nothing but what is before
      EXPECT_TRUE(knows(value, end)) << before;
    }
}

TEST(SecretSpellings, Base64OfUrlsAndInJsonIsKnown) {
  std::string value = "\xff\xef\xbf\xff\xef\xbf\xff\xef\xbf";
  EXPECT_EQ(base64_inside(value, 0), "/++//++//++/");
  EXPECT_TRUE(knows(value, "_--__--__--_"));
  EXPECT_TRUE(knows(value, "\\/++\\/\\/++\\/\\/++\\/"));
}

TEST(SecretSpellings, PercentEncodersDifferAndAllAreKnown) {
  std::string_view value = "a/b+c=d e'f";
  for (std::string_view each :
       {"a%2Fb%2Bc%3Dd%20e%27f", "a%2fb%2bc%3dd%20e%27f", "a/b%2Bc%3Dd%20e%27f",
        "a%2Fb%2Bc%3Dd+e%27f", "a%2Fb%2Bc%3Dd%20e'f", "a/b+c=d%20e'f"})
    EXPECT_TRUE(knows(value, each)) << each;
  EXPECT_EQ(percent_encoded(value), "a%2Fb%2Bc%3Dd%20e%27f");
}

TEST(SecretSpellings, JsonEncodersDifferAndAllAreKnown) {
  std::string_view value = "p\"w\\d/<ü🙂>\t";
  for (std::string_view each :
       {"p\\\"w\\\\d/<ü🙂>\\t", "p\\\"w\\\\d\\/<ü🙂>\\t",
        "p\\\"w\\\\d/<\\u00fc\\ud83d\\ude42>\\t", "p\\\"w\\\\d\\/<\\u00fc\\ud83d\\ude42>\\t",
        "p\\\"w\\\\d/\\u003cü🙂\\u003e\\t"})
    EXPECT_TRUE(knows(value, each)) << each;
}

TEST(SecretSpellings, HtmlAndHexAreKnown) {
  EXPECT_TRUE(knows("a<b>&\"c'd", "a&lt;b&gt;&amp;&quot;c&#x27;d"));
  EXPECT_TRUE(knows("a<b>&\"c'd", "a&lt;b&gt;&amp;&#34;c&#39;d"));
  EXPECT_TRUE(knows("password!", "70617373776f726421"));
  EXPECT_TRUE(knows("password!", "70617373776F726421"));
}

TEST(SecretSpellings, ValuesThatAreNoUtf8AreSpelledWithoutHarm) {
  for (const std::string& each : spellings_of("\xff\xfe\xc3(\xed\xa0\x80\xf0"))
    EXPECT_GE(each.size(), 8u);
}

TEST(SecretSpellings, AnOrdinaryTokenHasFewSpellings) {
  std::vector<std::string> all = spellings_of("ghp_0123456789abcdefghijABCDEFGHIJ");
  EXPECT_LE(all.size(), 11u);  // three alignments of base64, two of them with a last digit too
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

TEST(DecodeBase64, TakesWhatEncodersWriteAndNothingElse) {
  for (std::string text : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd?>"}) {
    std::string encoded = base64(text);
    EXPECT_EQ(decode_base64(encoded), text);
    EXPECT_EQ(decode_base64(encoded.substr(0, encoded.find('='))), text);
  }
  for (std::string_view bad :
       {"a", "YQ===", "YR==", "Y=Q=", "YW Jj", "YW\nJj", "_-8=", "=", "===="})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

}  // namespace
}  // namespace caisson
