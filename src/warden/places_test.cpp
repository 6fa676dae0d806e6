#include "warden/places.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace caisson::warden {

namespace {

struct Table {
  std::unique_ptr<Places> places = std::make_unique<Places>();
  void add(const std::string& path) {
    places->add(path.c_str(), static_cast<uint32_t>(path.size()));
  }
  bool has(const std::string& path) const {
    return places->has(path.c_str(), static_cast<uint32_t>(path.size()));
  }
};

}  // namespace

TEST(WardenPlaces, APlaceIsThePathItselfAndNothingNearIt) {
  Table table;
  EXPECT_FALSE(table.has("/p/sub"));
  table.add("/p/sub");
  EXPECT_TRUE(table.has("/p/sub"));
  for (const char* path : {"/p", "/p/su", "/p/sub/deep", "/p/sub2", ""})
    EXPECT_FALSE(table.has(path)) << path;
}

TEST(WardenPlaces, LettersCountWithoutTheirCase) {
  Table table;
  table.add("/p/Sub");
  EXPECT_TRUE(table.has("/P/sUB"));
}

TEST(WardenPlaces, TwiceIsOnce) {
  Table table;
  for (uint32_t i = 0; i < Places::kMost + 1; ++i) table.add("/p/sub");
  EXPECT_FALSE(table.has("/p/other"));
}

TEST(WardenPlaces, AFullTableForgetsNothingAndHasEverything) {
  Table table;
  for (uint32_t i = 0; i + 1 < Places::kMost; ++i) table.add("/p/" + std::to_string(i));
  for (uint32_t i = 0; i + 1 < Places::kMost; ++i)
    ASSERT_TRUE(table.has("/p/" + std::to_string(i))) << i;
  EXPECT_FALSE(table.has("/p/other"));
  table.add("/p/last");
  EXPECT_TRUE(table.has("/p/other"));
  table.add("/p/one-more");
  EXPECT_TRUE(table.has("/p/one-more"));
}

}  // namespace caisson::warden
