#include "gateway/websocket_mask.h"

#include <gtest/gtest.h>

#include <optional>

#include "gateway/secret_examples.h"

namespace caisson {
namespace {

using examples::placeholder;
using examples::secret;
using examples::table;

const std::string kMaskedValue = "sk-0123456789abcdef0123456789";
const std::string kMask = placeholder("A").substr(0, kMaskedValue.size());

enum Opcode : int { kGoesOn = 0, kText = 1, kClose = 8, kPing = 9 };

std::string frame(int opcode, bool final, std::string_view payload) {
  std::string text{static_cast<char>(opcode | (final ? 0x80 : 0))};
  text += static_cast<char>(payload.size());
  return text.append(payload);
}

std::string message(std::string_view payload) { return frame(kText, true, payload); }

// In frames of so many bytes, with `between` in front of each but the first.
std::string message_in_frames(std::string_view payload, size_t size,
                              std::string_view between = {}) {
  std::string text;
  for (size_t at = 0; at < payload.size(); at += size) {
    if (at != 0) text += between;
    text += frame(at == 0 ? kText : kGoesOn, at + size >= payload.size(), payload.substr(at, size));
  }
  return text;
}

class WebSocketMaskTest : public testing::Test {
 protected:
  // Fed in pieces of that size; nullopt when the mask gives up.
  std::optional<std::string> masked(std::string_view text, size_t piece) {
    WebSocketMask mask(*secrets_);
    std::string out;
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
      if (!mask.feed(text.substr(0, piece), out)) return std::nullopt;
    return out + mask.finish();
  }

  void expect_masked(const std::string& text, const std::string& expected) {
    for (size_t piece : {size_t{1}, size_t{2}, size_t{7}, text.size() + 1})
      EXPECT_EQ(masked(text, piece), expected) << "in pieces of " << piece;
  }

  std::unique_ptr<Secrets> secrets_ = table({secret("A", kMaskedValue, {"api.example.com"})});
};

TEST_F(WebSocketMaskTest, ValueInOneFrameIsMasked) {
  expect_masked(message("<" + kMaskedValue + ">") + message("x"),
                message("<" + kMask + ">") + message("x"));
}

TEST_F(WebSocketMaskTest, ValueAcrossFramesIsMaskedAndTheFramesStay) {
  for (size_t size = 1; size < kMaskedValue.size() + 2; ++size)
    expect_masked(message_in_frames("<" + kMaskedValue + "sk-0>", size),
                  message_in_frames("<" + kMask + "sk-0>", size));
}

TEST_F(WebSocketMaskTest, ControlFramesBetweenThemAreNoBorder) {
  std::string ping = frame(kPing, true, "sk-01"), close = frame(kClose, true, kMaskedValue);
  std::string masked_close = frame(kClose, true, kMask);
  expect_masked(message_in_frames(kMaskedValue, 5, ping), message_in_frames(kMask, 5, ping));
  expect_masked(message_in_frames(kMaskedValue, 5, ping + close),
                message_in_frames(kMask, 5, ping + masked_close));
  expect_masked(message_in_frames(kMaskedValue, 5, frame(kGoesOn, false, "")),
                message_in_frames(kMask, 5, frame(kGoesOn, false, "")));
}

// Whoever reads them may join them all the same.
TEST_F(WebSocketMaskTest, FramesThatShouldBeContinuationsAreJoinedToo) {
  std::string_view value = kMaskedValue, mask = kMask;
  expect_masked(frame(kText, false, value.substr(0, 9)) + frame(kText, true, value.substr(9)),
                frame(kText, false, mask.substr(0, 9)) + frame(kText, true, mask.substr(9)));
}

TEST_F(WebSocketMaskTest, BeginningOfAValueGoesOnWithItsMessage) {
  WebSocketMask mask(*secrets_);
  std::string out, all = message_in_frames("task sk-012345678", 7, frame(kPing, true, "p"));
  EXPECT_TRUE(mask.feed(std::string_view(all).substr(0, all.size() - 1), out));
  EXPECT_LT(out.size(), all.size() - 1);
  EXPECT_TRUE(mask.feed(std::string_view(all).substr(all.size() - 1), out));
  EXPECT_EQ(out, all);
}

TEST_F(WebSocketMaskTest, NothingWaitsWhereNothingIsHeld) {
  WebSocketMask mask(*secrets_);
  std::string out, start = frame(kText, false, "hello") + frame(kPing, true, "p");
  EXPECT_TRUE(mask.feed(start, out));
  EXPECT_EQ(out, start);
}

TEST_F(WebSocketMaskTest, SilenceDecidesNothingInsideAMessage) {
  WebSocketMask mask(*secrets_);
  std::string out;
  EXPECT_TRUE(mask.feed(frame(kText, false, "sk-01"), out));
  EXPECT_FALSE(mask.silence_decides());
  EXPECT_TRUE(mask.feed(frame(kPing, true, ""), out));
  EXPECT_FALSE(mask.silence_decides());
  EXPECT_TRUE(mask.feed(frame(kGoesOn, true, ""), out));
  EXPECT_FALSE(mask.silence_decides());  // nothing is held any more
  EXPECT_EQ(out.size(), 5u + 3 * 2);
}

TEST_F(WebSocketMaskTest, SilenceDecidesInWhatIsNoWebSocket) {
  WebSocketMask mask(*secrets_);
  std::string out;
  EXPECT_TRUE(mask.feed("220 harbor sk-01", out));
  EXPECT_TRUE(mask.silence_decides());
  EXPECT_EQ(out, "220 harbor ");
  EXPECT_EQ(mask.let_go(), "sk-01");
  EXPECT_FALSE(mask.silence_decides());
}

TEST_F(WebSocketMaskTest, WhatIsNoWebSocketIsMaskedAsAStream) {
  expect_masked(kMaskedValue + " and " + kMaskedValue, kMask + " and " + kMask);
  expect_masked(message("x") + kMaskedValue, message("x") + kMask);
  std::string_view value = kMaskedValue;  // begins in a frame's payload
  std::string masked_start = frame(kText, false, "sk-01");
  masked_start.replace(2, 5, kMask.substr(0, 5));
  expect_masked(frame(kText, false, "sk-01") + kMaskedValue.substr(5),
                masked_start + kMask.substr(5));
  // Held bytes with a header among them are no stream of either kind.
  std::string two =
      frame(kText, false, value.substr(0, 3)) + frame(kGoesOn, false, value.substr(3, 2));
  for (size_t piece : {size_t{1}, two.size() + kMaskedValue.size()})
    EXPECT_EQ(masked(two + kMaskedValue.substr(5), piece), std::nullopt);
}

TEST_F(WebSocketMaskTest, StreamThatEndsAnywhereIsTold) {
  std::string all = message_in_frames("a sk-012345 b", 3, frame(kPing, true, "sk-"));
  for (size_t size = 0; size <= all.size(); ++size)
    expect_masked(all.substr(0, size), all.substr(0, size));
}

TEST_F(WebSocketMaskTest, FramesBehindHeldBytesAreBounded) {
  std::string start = frame(kText, false, "sk-01"), empty = frame(kGoesOn, false, "");
  std::string many;
  while (many.size() < WebSocketMask::kMostBetween) many += empty;
  EXPECT_TRUE(masked(start + many, many.size() + 9));
  EXPECT_EQ(masked(start + many + empty, 1000), std::nullopt);
  // Behind what is decided there is no bound.
  std::string no_start = frame(kText, false, "hello");
  expect_masked(no_start + many + many, no_start + many + many);
}

}  // namespace
}  // namespace caisson
