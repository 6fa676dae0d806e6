#include "session/crash_lines.h"

#include <gtest/gtest.h>

namespace caisson::session {
namespace {

constexpr std::string_view kCrashText =
    "before\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call "
    "first):\n"
    "  File \"<cell 1>\", line 1 in f\n  File \"<caisson>/execute.py\", line 1 in evaluate\n"
    "  File \"/proc/self/fd/4\", line 129 in main\n\nExtension modules: x";

std::string in_pieces(std::string_view text, size_t size) {
  CrashLines lines;
  std::string shown;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size())))
    shown += lines.feed(text.substr(0, size));
  return shown + lines.finish();
}

TEST(CrashLines, LeavesOutOurFramesHoweverTheyCome) {
  std::string shown = in_pieces(kCrashText, kCrashText.size());
  EXPECT_EQ(shown.find("caisson"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("/proc/self"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  File \"<cell 1>\", line 1 in f\n\nExtension modules: x"),
            std::string::npos);
  EXPECT_TRUE(shown.starts_with("before\nFatal Python error: "));
  for (size_t size : {30u, 64u, 100u}) EXPECT_EQ(in_pieces(kCrashText, size), shown) << size;
}

TEST(CrashLines, LeavesEverythingElseAsItIs) {
  constexpr std::string_view kText = "  File \"<caisson>/execute.py\", line 1 in evaluate\nFatal\n";
  for (size_t size : {1u, 7u, 1000u}) EXPECT_EQ(in_pieces(kText, size), kText);
}

TEST(CrashLines, HoldsNoLineWithoutEnd) {
  CrashLines lines;
  lines.feed("Fatal Python error: ");
  EXPECT_EQ(lines.feed(std::string(10'000, 'x')).size(),
            10'000 + std::string_view("Fatal Python error: ").size());
}

}  // namespace
}  // namespace caisson::session
