#include "gateway/websocket_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

// Each frame as "H(header)payload" and what it ends: a message "|", a part of one "-", a control
// frame ".". What is none is "B(begun header)" and the rest.
std::string frames_of(std::string_view text, size_t piece) {
  WebSocketFrames frames;
  std::string told, payload, rest;
  for (size_t at = 0; at < text.size();) {
    std::string_view bytes = text.substr(at, piece);
    FrameStep step = frames.next(bytes);
    if (step.used == 0) return "no step";
    std::string_view used = bytes.substr(0, step.used);
    if (step.part == FramePart::kHeader) told += "H(" + std::string(frames.header()) + ")";
    if (step.part == FramePart::kPayload) payload += used;
    if (step.part == FramePart::kBroken) told += "B(" + std::string(frames.header()) + ")";
    if (step.part == FramePart::kNoFrame) rest += used;
    if (step.ends_frame) {
      told += payload + (frames.is_control() ? "." : frames.ends_message() ? "|" : "-");
      payload.clear();
    }
    at += step.used;
  }
  return told + payload + rest + std::string(frames.begun_header());
}

void expect_frames(std::string_view text, const std::string& told) {
  for (size_t piece : {size_t{1}, size_t{2}, size_t{7}, text.size() + 1})
    EXPECT_EQ(frames_of(text, piece), told) << "in pieces of " << piece;
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

std::string header(std::initializer_list<int> values) { return "H(" + bytes(values) + ")"; }

TEST(WebSocketFrames, EachMessageEnds) {
  expect_frames(bytes({0x81, 5}) + "tasks" + bytes({0x82, 2}) + "sk",
                header({0x81, 5}) + "tasks|" + header({0x82, 2}) + "sk|");
  expect_frames(bytes({0x81, 0, 0x8a, 0, 0x81}),
                header({0x81, 0}) + "|" + header({0x8a, 0}) + "." + bytes({0x81}));
}

TEST(WebSocketFrames, LengthsOfEverySizeAndMasksAreRead) {
  std::string many(256, 'x');
  expect_frames(bytes({0x81, 126, 1, 0}) + many, header({0x81, 126, 1, 0}) + many + "|");
  expect_frames(bytes({0x82, 127, 0, 0, 0, 0, 0, 0, 0, 3}) + "abc",
                header({0x82, 127, 0, 0, 0, 0, 0, 0, 0, 3}) + "abc|");
  expect_frames(bytes({0x81, 0x83, 1, 2, 3, 4}) + "abc" + bytes({0x81, 0}),
                header({0x81, 0x83, 1, 2, 3, 4}) + "abc|" + header({0x81, 0}) + "|");
}

TEST(WebSocketFrames, MessageGoesOnBehindAControlFrame) {
  std::string start = bytes({0x01, 2}) + "ab", ping = bytes({0x89, 1}) + "p";
  expect_frames(start, header({0x01, 2}) + "ab-");
  expect_frames(start + ping + bytes({0x80, 2}) + "cd",
                header({0x01, 2}) + "ab-" + header({0x89, 1}) + "p." + header({0x80, 2}) + "cd|");
}

TEST(WebSocketFrames, WhatIsNoFrameHasNoneFromThereOn) {
  std::string message = bytes({0x81, 1}) + "x";
  for (const std::string& other :
       {bytes({0xc1, 1}),                                // a reserved bit
        bytes({0x83, 1}),                                // an opcode that nobody knows
        bytes({0x09, 1}), bytes({0x89, 126}),            // a control frame in parts, and a long
        bytes({0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0})})  // longer than there can be
    expect_frames(message + other + "x" + message,
                  header({0x81, 1}) + "x|B(" + other + ")x" + message);
  expect_frames("220 harbor ready\r\n", "B(22)0 harbor ready\r\n");
}

}  // namespace
}  // namespace caisson
