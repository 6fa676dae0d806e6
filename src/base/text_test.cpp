#include "base/text.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(Printable, LetsTextOfAnyScriptThrough) {
  for (const char* text :
       {"plain", "Grüße", "日本語", "नमस्ते", "עברית", "🙂", "\u200c\u200d" /* joiners */,
        "\u2010\u2030", "\u2027\u202f", "\u205f\u2070", "\u200a\u2010", "\U000e0080"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsControlsAndBytesThatAreNoText) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a\\x1b[2Jb\\x7f\\x0a");
  EXPECT_EQ(printable("\u009b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xff\xe2\x80"), "\\xff\\xe2\\x80");
}

// "rm \u202etxt.exe" would be shown as another name.
TEST(Printable, ShowsWhatTurnsTheReadingOrder) {
  EXPECT_EQ(printable("a\u202eb"), "a\\xe2\\x80\\xaeb");
  for (const char* one : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                          "\u2066", "\u2067", "\u2068", "\u2069"})
    EXPECT_TRUE(printable(one).starts_with("\\x")) << printable(one);
}

TEST(Printable, ShowsWhatIsInvisibleOrEndsALine) {
  for (const char* one : {"\u00ad", "\u180e", "\u200b", "\u2028", "\u2029", "\u2060", "\u2064",
                          "\u206f", "\ufeff", "\ufff9", "\U000e0000", "\U000e0041", "\U000e007f"})
    EXPECT_TRUE(printable(one).starts_with("\\x")) << printable(one);
}

}  // namespace
}  // namespace caisson
