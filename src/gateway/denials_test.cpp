#include "gateway/denials.h"

#include <gtest/gtest.h>

#include "gateway/control_frames.h"
#include "gateway/traffic.h"

namespace caisson {
namespace {

ToldDenial denial_of(std::string host) { return {{false, "rule", "why", "how"}, host, 443, "tcp"}; }

TEST(Denials, AreToldOnceAndCountedAtTheEnd) {
  std::vector<std::string> told;
  Denials denials([&](const std::string& json) { told.push_back(json); });
  for (int i = 0; i < 3; ++i) denials.tell(denial_of("a.test"));
  denials.tell(denial_of("b.test"));
  EXPECT_EQ(told.size(), 2u);
  denials.tell_counts();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NE(told[2].find("\"count\":3"), std::string::npos);
  EXPECT_EQ(denials.total(), 4u);
}

TEST(Denials, ACellThatMakesUpNamesIsBoundedAndHidesNothingBehindThem) {
  std::vector<std::string> told;
  Denials denials([&](const std::string& json) { told.push_back(json); });
  auto was_told = [&](std::string_view text) {
    return std::ranges::count_if(
        told, [&](const std::string& json) { return json.find(text) != std::string::npos; });
  };
  constexpr size_t kMany = 2000, kFirst = Denials::kRoom.shared + Denials::kRoom.first;
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < kMany; ++i) denials.tell(denial_of("n" + std::to_string(i) + ".test"));
  denials.tell(denial_of("evil.test"));
  EXPECT_EQ(told.size(), kFirst);
  ToldDenial other = denial_of("other.test");
  other.protocol = "http";
  EXPECT_TRUE(denials.tell(other));
  EXPECT_EQ(was_told("other.test"), 1);
  EXPECT_EQ(was_told("evil.test"), 0);
  told.clear();
  denials.tell_counts();
  EXPECT_EQ(was_told("evil.test"), 1);
  EXPECT_EQ(told.size(), kFirst + Denials::kRoom.last);
  EXPECT_EQ(denials.untold(), kMany + 1 - kFirst - Denials::kRoom.last);
  EXPECT_FALSE(denials.lost_count());
  EXPECT_EQ(denials.total(), 2 * kMany + 2);
}

TEST(Denials, TextOfACellIsMadePrintable) {
  std::string told;
  Denials denials([&](const std::string& json) { told = json; });
  denials.tell(denial_of("a\x1b[31m\xff"));
  EXPECT_EQ(told.find('\x1b'), std::string::npos);
  EXPECT_EQ(told.find('\xff'), std::string::npos);
}

TEST(ControlFrames, ComeOutOfAStreamInPieces) {
  std::string stream =
      control_frame(ControlType::kRules, "{}") + control_frame(ControlType::kEnd, "");
  std::string received;
  std::string types;
  bool broken = false;
  for (char byte : stream) {
    received += byte;
    while (auto frame = take_control_frame(received, broken)) types += frame->type;
  }
  EXPECT_EQ(types, "LE");
  EXPECT_FALSE(broken);
  received = std::string("\xff\xff\xff\xff", 4) + "L";
  EXPECT_FALSE(take_control_frame(received, broken));
  EXPECT_TRUE(broken);
}

TEST(Traffic, ASpentBudgetStaysSpent) {
  Traffic traffic(100, 0);
  EXPECT_TRUE(traffic.count(Way::kUp, 90));
  EXPECT_FALSE(traffic.count(Way::kUp, 20));
  EXPECT_FALSE(traffic.count(Way::kUp, 1));
  EXPECT_TRUE(traffic.count(Way::kDown, 1'000'000));
}

}  // namespace
}  // namespace caisson
