#include "mcp/framing.h"

#include <gtest/gtest.h>

namespace caisson::mcp {
namespace {

TEST(LineFramer, LinesComeOutAsTheyWentInHoweverTheyWereSplit) {
  std::string stream = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    LineFramer framer(100);
    std::vector<std::string> lines;
    for (size_t at = 0; at < stream.size(); at += piece) {
      framer.feed(std::string_view(stream).substr(at, piece));
      while (auto line = framer.next()) lines.push_back(line->text);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}\r"})) << piece;
    EXPECT_FALSE(framer.half_sent());
  }
}

TEST(LineFramer, ALineBeyondTheBoundIsToldOnceAndSkipped) {
  LineFramer framer(10);
  for (int i = 0; i < 1000; ++i) {
    framer.feed("xxxxxxx");
    EXPECT_FALSE(framer.next());
  }
  EXPECT_TRUE(framer.half_sent());
  framer.feed("xx\nnext\n");
  auto line = framer.next();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->too_long);
  EXPECT_EQ(line->text, "");
  line = framer.next();
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->too_long);
  EXPECT_EQ(line->text, "next");
}

TEST(LineFramer, ALineOfExactlyTheBoundIsTaken) {
  LineFramer framer(4);
  framer.feed("abcd\nabcde\n");
  EXPECT_FALSE(framer.next()->too_long);
  EXPECT_TRUE(framer.next()->too_long);
}

TEST(LineFramer, TheIdOfALineThatIsSkippedIsFoundWhereverItStands) {
  for (std::string line : {R"({"id":5,"params":"xxxxxxxxxxxxxxxxxxxxxxxx"})",
                           R"({"params":{"id":4,"x":"\"id\":3,"},"id":5})"})
    for (size_t piece : {1, 7, 1000}) {
      LineFramer framer(20);
      std::optional<LineFramer::Line> got;
      for (size_t at = 0; at < line.size(); at += piece) {
        framer.feed(line.substr(at, piece) + (at + piece >= line.size() ? "\n" : ""));
        if (auto one = framer.next()) got = std::move(one);
      }
      ASSERT_TRUE(got && got->too_long) << line << piece;
      EXPECT_EQ(got->id, 5) << line << piece;
    }
}

TEST(LineFramer, HalfAMessageIsNone) {
  LineFramer framer(100);
  framer.feed("{\"half\":");
  EXPECT_FALSE(framer.next());
  EXPECT_TRUE(framer.half_sent());
}

}  // namespace
}  // namespace caisson::mcp
