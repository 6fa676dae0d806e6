#include "base/kind_room.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using Room = KindRoom<std::string>;

void offer(Room& room, const std::string& kind, const std::string& text) {
  room.offer(kind, kind + text, text);
}

bool has(const Room& room, const std::string& text) {
  return std::ranges::count(room.list(), text) == 1;
}

TEST(KindRoom, AFloodOfOneKindLeavesRoomForTheOthersAndForItsEnd) {
  Room room({100, 10, 10});
  for (int i = 0; i < 150; ++i) offer(room, "dns", "junk" + std::to_string(i));
  offer(room, "dns", "the last name");
  offer(room, "tcp", "a port");
  EXPECT_TRUE(has(room, "junk0"));
  EXPECT_TRUE(has(room, "the last name"));
  EXPECT_TRUE(has(room, "a port"));
  EXPECT_EQ(room.list().size(), 121u);
  EXPECT_EQ(room.left_out(), 31u);
}

TEST(KindRoom, WhatComesAgainIsNeitherKeptNorCountedTwice) {
  Room room({2, 1, 1});
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 9; ++i) offer(room, "dns", std::to_string(i));
  EXPECT_EQ(room.list().size(), 4u);
  EXPECT_EQ(room.left_out(), 5u);
  EXPECT_FALSE(room.lost_count());
}

TEST(KindRoom, AFewAreInTheirOrder) {
  Room room({100, 10, 10});
  for (const char* text : {"c", "a", "b"}) offer(room, text, text);
  EXPECT_EQ(room.list(), (std::vector<std::string>{"c", "a", "b"}));
}

TEST(KindRoom, OfManyKindsTakeTurns) {
  Room room({100, 10, 10});
  for (int i = 0; i < 99; ++i) offer(room, "dns", "junk" + std::to_string(i));
  offer(room, "tcp", "a port");
  std::vector<std::string> list = room.list();
  ASSERT_EQ(list.size(), 100u);
  list.resize(Room::kFew);
  EXPECT_EQ(std::ranges::count(list, "a port"), 1);
  EXPECT_EQ(std::ranges::count(list, "junk0"), 1);
  EXPECT_EQ(std::ranges::count(list, "junk98"), 1);
}

TEST(KindRoom, ItsMemoryIsBoundedAndItSaysWhenItLostCount) {
  Room room({100, 10, 10});
  for (size_t i = 0; i < Room::kMostCounted + 50; ++i)
    offer(room, "kind" + std::to_string(i % 40), std::to_string(i));
  EXPECT_TRUE(room.lost_count());
  EXPECT_LE(room.list().size(), 100 + (Room::kMostKinds + 1) * 20);
  EXPECT_EQ(room.left_out(), Room::kMostCounted - room.list().size());
}

}  // namespace
}  // namespace caisson
