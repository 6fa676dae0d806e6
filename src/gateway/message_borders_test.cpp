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
constexpr auto expect_websocket = expect_borders<WebSocketBorders>;
constexpr auto expect_grpc = expect_borders<GrpcBorders>;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

TEST(WebSocketBorders, EachWholeMessageEnds) {
  expect_websocket(bytes({0x81, 5}) + "tasks" + bytes({0x82, 2}) + "sk", Ends{7, 11});
  expect_websocket(bytes({0x81, 0, 0x8a, 0}), Ends{2, 4});
}

TEST(WebSocketBorders, LengthsOfEverySizeAndMasksAreRead) {
  expect_websocket(bytes({0x81, 126, 1, 0}) + std::string(256, 'x'), Ends{260});
  expect_websocket(bytes({0x82, 127, 0, 0, 0, 0, 0, 0, 0, 3}) + "abc", Ends{13});
  expect_websocket(bytes({0x81, 0x83, 1, 2, 3, 4}) + "abc" + bytes({0x81, 0}), Ends{9, 11});
}

TEST(WebSocketBorders, PartOfAMessageIsNoBorderAndAControlFrameInItIs) {
  std::string start = bytes({0x01, 2}) + "ab", ping = bytes({0x89, 1}) + "p";
  expect_websocket(start, Ends{});
  expect_websocket(start + ping + bytes({0x80, 2}) + "cd", Ends{7, 11});
}

TEST(WebSocketBorders, WhatIsNoFrameHasNoBorderFromThereOn) {
  std::string message = bytes({0x81, 1}) + "x";
  for (const std::string& other :
       {bytes({0xc1, 1}),                                // a reserved bit
        bytes({0x83, 1}),                                // an opcode that nobody knows
        bytes({0x09, 1}), bytes({0x89, 126, 0, 200}),    // a control frame in parts, and a long
        bytes({0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0})})  // longer than there can be
    expect_websocket(message + other + "x" + message + message, Ends{3});
  expect_websocket("220 harbor ready\r\n", Ends{});
}

TEST(GrpcBorders, EachMessageEnds) {
  expect_grpc(bytes({0, 0, 0, 0, 5}) + "tasks" + bytes({1, 0, 0, 0, 2}) + "sk", Ends{10, 17});
  expect_grpc(bytes({0, 0, 0, 0, 0, 0, 0, 0, 1, 0}) + std::string(256, 'x'), Ends{5, 266});
}

TEST(GrpcBorders, WhatIsNoMessageHasNoBorderFromThereOn) {
  std::string message = bytes({0, 0, 0, 0, 1}) + "x";
  expect_grpc(message + bytes({2}) + message + message, Ends{6});
  expect_grpc("{\"a\":1}", Ends{});
  expect_grpc(bytes({0, 255, 255, 255, 255}) + message, Ends{});
}

TEST(FeedMessages, EndsEachMessageAndStopsWhenTold) {
  WebSocketBorders borders;
  std::string told;
  auto feed = [&told](std::string_view piece) { return told += piece, true; };
  auto finish = [&told] { return told += '|', true; };
  std::string text = bytes({0x81, 1}) + "a" + bytes({0x81, 1}) + "b" + bytes({0x81, 2}) + "c";
  EXPECT_TRUE(feed_messages(borders, text, feed, finish));
  EXPECT_EQ(told, bytes({0x81, 1}) + "a|" + bytes({0x81, 1}) + "b|" + bytes({0x81, 2}) + "c");
  EXPECT_FALSE(feed_messages(borders, "d", feed, [] { return false; }));
}

}  // namespace
}  // namespace caisson
