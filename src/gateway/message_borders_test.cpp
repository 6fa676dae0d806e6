#include "gateway/message_borders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson {
namespace {

// Where messages end in `text`, fed in pieces of that size.
template <typename Borders>
std::vector<size_t> borders_of(std::string_view text, size_t piece) {
  Borders borders;
  std::vector<size_t> ends;
  size_t at = 0;
  for (; at < text.size();) {
    BorderStep step = borders.next(text.substr(at, piece));
    at += step.used;
    if (step.used == 0) return {SIZE_MAX};
    if (step.ends_message) ends.push_back(at);
  }
  return ends;
}

template <typename Borders>
void expect_borders(std::string_view text, const std::vector<size_t>& ends) {
  for (size_t piece : {size_t{1}, size_t{2}, size_t{7}, text.size() + 1})
    EXPECT_EQ(borders_of<Borders>(text, piece), ends) << "in pieces of " << piece;
}

using Ends = std::vector<size_t>;
constexpr auto expect_grpc = expect_borders<GrpcBorders>;

std::string border_bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

TEST(GrpcBorders, EachMessageEnds) {
  expect_grpc(border_bytes({0, 0, 0, 0, 5}) + "tasks" + border_bytes({1, 0, 0, 0, 2}) + "sk",
              Ends{10, 17});
  expect_grpc(border_bytes({0, 0, 0, 0, 0, 0, 0, 0, 1, 0}) + std::string(256, 'x'), Ends{5, 266});
}

TEST(GrpcBorders, WhatIsNoMessageHasNoBorderFromThereOn) {
  std::string message = border_bytes({0, 0, 0, 0, 1}) + "x";
  expect_grpc(message + border_bytes({2}) + message + message, Ends{6});
  expect_grpc("{\"a\":1}", Ends{});
  expect_grpc(border_bytes({0, 255, 255, 255, 255}) + message, Ends{});
}

TEST(FeedMessages, EndsEachMessageAndStopsWhenTold) {
  GrpcBorders borders;
  std::string told;
  auto feed = [&told](std::string_view piece) { return told += piece, true; };
  auto finish = [&told] { return told += '|', true; };
  std::string one = border_bytes({0, 0, 0, 0, 1}), two = border_bytes({0, 0, 0, 0, 2});
  EXPECT_TRUE(feed_messages(borders, one + "a" + one + "b" + two + "c", feed, finish));
  EXPECT_EQ(told, one + "a|" + one + "b|" + two + "c");
  EXPECT_FALSE(feed_messages(borders, "d", feed, [] { return false; }));
}

}  // namespace
}  // namespace caisson
