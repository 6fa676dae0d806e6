#include "gateway/placeholder.h"

#include <gtest/gtest.h>

#include "gateway/secret_examples.h"

namespace caisson {
namespace {

using examples::placeholder;
using examples::secret;
using examples::table;

TEST(Placeholder, IsOfOneFormAndNeverTheSame) {
  std::string one = *make_placeholder("GITHUB_TOKEN"), other = *make_placeholder("GITHUB_TOKEN");
  EXPECT_TRUE(one.starts_with("caisson_GITHUB_TOKEN_"));
  EXPECT_EQ(one.size(), 8 + 12 + 1 + 32u);
  EXPECT_NE(one, other);
  EXPECT_TRUE(is_placeholder(one));
}

TEST(Placeholder, OtherFormsAreNone) {
  EXPECT_TRUE(is_placeholder(placeholder("A")));
  EXPECT_TRUE(is_placeholder(placeholder(std::string(64, 'N'))));
  EXPECT_FALSE(is_placeholder(placeholder(std::string(65, 'N'))));
  EXPECT_FALSE(is_placeholder(placeholder("")));
  EXPECT_FALSE(is_placeholder(placeholder("A-B")));
  EXPECT_FALSE(is_placeholder(placeholder("A", 'g')));
  EXPECT_FALSE(is_placeholder(placeholder("A") + "0"));
  EXPECT_FALSE(is_placeholder("x" + placeholder("A")));
  EXPECT_FALSE(is_placeholder(""));
}

TEST(PlaceholderScan, FindsAPlaceholderWhereverTheStreamIsCut) {
  auto secrets = table({secret("A", "value-of-a", {"example.com"}),
                        secret("LONGER_NAME", "value-of-b", {"example.com"}, '1')});
  for (const Secret& wanted : secrets->all()) {
    std::string text = "GET /?q=caisson_" + wanted.placeholder + "&r HTTP/1.1";
    for (size_t a = 0; a <= text.size(); ++a)
      for (size_t b = a; b <= text.size(); ++b) {
        PlaceholderScan scan(*secrets);
        const Secret* found = nullptr;
        for (auto [from, to] : {std::pair{size_t{0}, a}, {a, b}, {b, text.size()}})
          if (!found) found = scan.feed(std::string_view(text).substr(from, to - from));
        ASSERT_EQ(found, &wanted) << "cut at " << a << " and " << b;
      }
    PlaceholderScan bytes(*secrets);
    const Secret* found = nullptr;
    for (char& c : text)
      if (!found) found = bytes.feed({&c, 1});
    EXPECT_EQ(found, &wanted);
  }
}

TEST(PlaceholderScan, PassesWhatOnlyLooksLikeOne) {
  auto secrets = table({secret("A", "value-of-a", {"example.com"})});
  std::string almost = placeholder("A", '0');
  almost.back() = '1';
  PlaceholderScan scan(*secrets);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(scan.feed(almost), nullptr);
  EXPECT_EQ(scan.feed(placeholder("B")), nullptr);
  EXPECT_EQ(PlaceholderScan::find(*secrets, almost), nullptr);
  EXPECT_EQ(PlaceholderScan::find(*secrets, "x" + placeholder("A")), &secrets->all()[0]);
}

TEST(PlaceholderScan, WithoutSecretsFindsNothing) {
  auto secrets = table({});
  PlaceholderScan scan(*secrets);
  EXPECT_EQ(scan.feed(placeholder("A")), nullptr);
}

}  // namespace
}  // namespace caisson
