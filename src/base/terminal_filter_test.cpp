#include "base/terminal_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "base/terminal_rules.h"
#include "base/text.h"

namespace caisson {
namespace {

using Mode = TerminalFilter::Mode;
using namespace std::string_literals;

// Whole, and split at every byte: the same, or it is a finding of its own.
std::string filtered(std::string_view input, Mode mode) {
  TerminalFilter whole(mode);
  std::string expected = whole.feed(input);
  for (size_t at = 0; at <= input.size(); ++at) {
    TerminalFilter halves(mode);
    std::string got = halves.feed(input.substr(0, at));
    EXPECT_EQ(got + halves.feed(input.substr(at)), expected) << "split at " << at;
  }
  TerminalFilter bytes(mode);
  std::string got;
  for (char c : input) got += bytes.feed({&c, 1});
  EXPECT_EQ(got, expected) << "byte by byte";
  EXPECT_EQ(bytes.finish(), whole.finish());
  return expected;
}
std::string plain(std::string_view input) { return filtered(input, Mode::kPlain); }
std::string interactive(std::string_view input) { return filtered(input, Mode::kInteractive); }

std::string csi(std::string_view rest) { return "\x1b[" + std::string(rest); }

TEST(TerminalFilterPlain, TextPassesAsItIs) {
  for (std::string_view text :
       {"hello\n", "a\tb\r\n", "x\by\a", "grüße 漢字 🙂", "\xc2\xa0\xed\x9f\xbf"})
    EXPECT_EQ(plain(text), text);
}

TEST(TerminalFilterPlain, ColoursPass) {
  for (std::string_view code : {"\x1b[m", "\x1b[1;31m", "\x1b[38;2;1;2;3m", "\x1b[4:3m"})
    EXPECT_EQ(plain(code), code);
}

TEST(TerminalFilterPlain, EveryOtherSequenceIsDropped) {
  for (std::string_view code : {"\x1b[2J",
                                "\x1b[H",
                                "\x1b[?1049h",
                                "\x1b[>4;2m",
                                "\x1b[?4m",
                                "\x1b[6n",
                                "\x1b[21t",
                                "\x1b[5i",
                                "\x1b"
                                "c",
                                "\x1b"
                                "7",
                                "\x1b(0",
                                "\x1b%@",
                                "\x1b]0;title\x07",
                                "\x1b]52;c;eA==\x1b\\",
                                "\x1b]8;;http://x/\x1b\\",
                                "\x1bP$qm\x1b\\",
                                "\x1b_x\x1b\\",
                                "\x1b^x\x1b\\",
                                "\x1bXx\x1b\\",
                                "\x1bktitle\x1b\\",
                                "\x1b[1 m",
                                "\x1b[1$m"})
    EXPECT_EQ(plain("a" + std::string(code) + "b"), "ab") << printable(code);
}

TEST(TerminalFilterPlain, ControlCodesOfSerialLinesAreDropped) {
  for (char c = 1; c < 0x20; ++c) {
    bool kept = "\n\t\r\b\a"s.find(c) != std::string::npos;
    std::string text = {'a', c};
    EXPECT_EQ(plain(text), kept ? text : "a") << int(c);
  }
  EXPECT_EQ(plain("a\0b\x7f"s), "ab");
}

TEST(TerminalFilterPlain, EightBitControlsAreDroppedAndBadBytesReplaced) {
  EXPECT_EQ(plain("a\xc2\x9b"
                  "31mb"),
            "a31mb");
  EXPECT_EQ(plain("\xc2\x80\xc2\x9f\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(plain("a\x9b"
                  "31m"),
            "a\xef\xbf\xbd"
            "31m");
  EXPECT_EQ(plain("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(plain("\xe2\x82x"), "\xef\xbf\xbdx");            // broken off
  EXPECT_EQ(plain("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
  EXPECT_EQ(plain("\xc2\x1b[1mx"), "\xef\xbf\xbd\x1b[1mx");
}

TEST(TerminalFilterPlain, AStringThatNeverEndsHidesNoMoreThanItsLine) {
  EXPECT_EQ(plain("a\x1b]0;bc\nrest\n"), "a\nrest\n");
  EXPECT_EQ(plain("a\x1bPbc\x18rest"), "arest");
  EXPECT_EQ(plain("a\x1b]0;b\x1b[1mc"), "a\x1b[1mc");
}

TEST(TerminalFilterPlain, TooLongASequenceIsDroppedToItsEnd) {
  std::string fits = "\x1b[" + std::string(128, ';') + "m";
  EXPECT_EQ(plain(fits), fits);
  EXPECT_EQ(plain("\x1b[" + std::string(129, ';') + "mx"), "x");
  EXPECT_EQ(plain("\x1b[999999mx"), "x");
}

TEST(TerminalFilterPlain, ControlCodesInsideASequenceAreObeyedAsTerminalsDo) {
  EXPECT_EQ(plain("\x1b[3\n1mx"), "\n\x1b[31mx");
  EXPECT_EQ(plain("\x1b[3\x18"
                  "1mx"),
            "1mx");
  EXPECT_EQ(plain("\x1b[3\x1b[1mx"), "\x1b[1mx");
  EXPECT_EQ(plain("\x1b[3\xc3\xa4mx"), "\xc3\xa4mx");
}

TEST(TerminalFilterPlain, FinishEndsColoursAndHalfCharacters) {
  TerminalFilter filter(Mode::kPlain);
  EXPECT_EQ(filter.feed("\x1b[31mred\xe2\x82"), "\x1b[31mred");
  EXPECT_EQ(filter.finish(), "\xef\xbf\xbd\x1b[0m");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_EQ(filter.feed("\x1b[31mred\x1b[0m\x1b[3"), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_EQ(filter.feed("1m"), "1m");  // nothing is left of the half sequence
}

TEST(TerminalFilterInteractive, WhatFullScreenProgramsNeedPasses) {
  for (std::string_view code : {"\x1b[?1049h",
                                "\x1b[?25l",
                                "\x1b[H",
                                "\x1b[10;20H",
                                "\x1b[2J",
                                "\x1b[K",
                                "\x1b[1;24r",
                                "\x1b[?1000;1006h",
                                "\x1b[?2004h",
                                "\x1b[?1004l",
                                "\x1b[6n",
                                "\x1b[5n",
                                "\x1b[c",
                                "\x1b[0c",
                                "\x1b[>c",
                                "\x1b[>0q",
                                "\x1b[>4;2m",
                                "\x1b[?u",
                                "\x1b[>1u",
                                "\x1b[<u",
                                "\x1b[=1;1u",
                                "\x1b[2 q",
                                "\x1b[!p",
                                "\x1b[?2026$p",
                                "\x1b[18t",
                                "\x1b[14t",
                                "\x1b[22;0;0t",
                                "\x1b[23;0t",
                                "\x1b[?1s",
                                "\x1b[?1r",
                                "\x1b[4h",
                                "\x1b[?12;25h",
                                "\x1b"
                                "7",
                                "\x1b"
                                "8",
                                "\x1b=",
                                "\x1b>",
                                "\x1b(0",
                                "\x1b(B",
                                "\x1b)0",
                                "\x1bM",
                                "\x1b"
                                "c",
                                "\x1b#8",
                                "\x1b%G",
                                "\x0e\x0f",
                                "\x1b]0;vim\x07",
                                "\x1b]2;a – b\x1b\\",
                                "\x1b]11;?\x07",
                                "\x1b]4;1;?\x1b\\",
                                "\x1b]104\x07",
                                "\x1b]112\x07"})
    EXPECT_EQ(interactive(code), code) << printable(code);
}

TEST(TerminalFilterInteractive, WhatTypesTheProgramsTextIntoTheInputIsDropped) {
  for (std::string_view code : {"\x05", "\x1b[21t", "\x1b[20t", "\x1b[020t", "\x1bP$qm\x1b\\",
                                "\x1bP+q544e\x1b\\", "\x1b]50;?\x07", "\x1b]52;c;?\x07", "\x1b[&w",
                                "\x1b[1$w", "\x1b[#S", "\x1bP1;1|17/68656c6c6f\x1b\\", "\x1b[1*z"})
    EXPECT_EQ(interactive("a" + std::string(code) + "b"), "ab") << printable(code);
}

TEST(TerminalFilterInteractive, WhatReachesBeyondTheScreenIsDropped) {
  for (std::string_view code : {"\x1b]52;c;cm0gLXJmIH4=\x07",
                                "\x1b]8;;file:///x\x1b\\",
                                "\x1b]7;file://h/\x07",
                                "\x1b]9;note\x07",
                                "\x1b]777;notify;a;b\x07",
                                "\x1b]1337;File=:AA\x07",
                                "\x1b]133;A\x07",
                                "\x1b]4;1;red\x07",
                                "\x1b]10;#000\x07",
                                "\x1b]11;?;x\x07",
                                "\x1b]\x07",
                                "\x1b];x\x07",
                                "\x1b]0\x07",
                                "\x1b[5i",
                                "\x1b[?5i",
                                "\x1b[i",
                                "\x1b[1;1;1;1;1;1*y",
                                "\x1b[3;0;0t",
                                "\x1b[8;10;10t",
                                "\x1b[2t",
                                "\x1b[>1t",
                                "\x1b[2h",
                                "\x1b[12h",
                                "\x1b[1q",
                                "\x1b_Gf=100;AAAA\x1b\\",
                                "\x1b^x\x1b\\",
                                "\x1bXx\x1b\\",
                                "\x1bktitle\x1b\\",
                                "\x1bPq#0\x1b\\",
                                "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"})
    EXPECT_EQ(interactive("a" + std::string(code) + "b").find('\x1b'), std::string::npos)
        << printable(code);
}

TEST(TerminalFilterInteractive, WhatWouldMakeTheTerminalReadOtherwiseThanWeIsDropped) {
  for (std::string_view code : {"\x1b[?2l", "\x1b[?2h", "\x1b[?38h", "\x1b[?42h", "\x1b[?46h",
                                "\x1b[?25;46h", "\x1b[?46s", "\x1b%@", "\x1b F", "\x1b G",
                                "\x1b[61\"p", "\x1b[62;1\"p", "\x1b[?1001h", "\x1b[?99999999h"})
    EXPECT_EQ(interactive("a" + std::string(code) + "b"), "ab") << printable(code);
}

TEST(TerminalFilterInteractive, ATitleIsTextAndBounded) {
  EXPECT_EQ(interactive("\x1b]0;a\nb\x07"), "");
  EXPECT_EQ(interactive("\x1b]0;a\xc2\x9c"
                        "b\x07"),
            "");
  EXPECT_EQ(interactive("\x1b]0;a\xff"
                        "b\x07"),
            "");
  EXPECT_EQ(interactive("\x1b]0;a\x7f\x07"), "");
  std::string fits = "\x1b]0;" + std::string(510, 'x') + "\x07";
  EXPECT_EQ(interactive(fits), fits);
  EXPECT_EQ(interactive("\x1b]0;" + std::string(511, 'x') + "\x07y"), "y");
}

TEST(TerminalFilterInteractive, ColoursAndSizesInColonsPass) {
  EXPECT_EQ(interactive("\x1b[58:2::1:2:3m"), "\x1b[58:2::1:2:3m");
  EXPECT_EQ(interactive("\x1b[99999Bx"), "\x1b[99999Bx");
  EXPECT_EQ(interactive("\x1b[2147483647bx"), "x");
}

TEST(TerminalFilterInteractive, FinishGivesTheTerminalBack) {
  TerminalFilter filter(Mode::kInteractive);
  filter.feed(csi("?1049h") + csi("?25l") + csi("?1000;1006h") + csi("31m") + csi(">1u") + "\x1b=");
  std::string undo = filter.finish();
  for (std::string_view code :
       {"\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l", "\x1b[?1006l", "\x1b[0m", "\x1b[<1u", "\x1b>"})
    EXPECT_NE(undo.find(code), std::string::npos) << printable(code);
  EXPECT_EQ(interactive(undo), undo);  // and our own words pass our own filter
}

TEST(TerminalFilterInteractive, FinishAddsNothingAfterATidyProgram) {
  TerminalFilter filter(Mode::kInteractive);
  filter.feed(csi("?1049h") + csi("?25l") + csi(">1u") + csi("1;31m") + csi("4h") + csi("1;5r") +
              "\x1b=\x1b(0" + csi("2 q") + csi(">4;2m"));
  filter.feed(csi(">4m") + csi("0 q") + "\x1b(B\x1b>" + csi("r") + csi("4l") + csi("m") +
              csi("<u") + csi("?25h") + csi("?1049l"));
  EXPECT_EQ(filter.finish(), "");
}

struct Leftover {
  std::string_view printed, undo;
};

void expect_undone(Mode mode, std::span<const Leftover> rows) {
  for (const Leftover& row : rows) {
    TerminalFilter filter(mode);
    EXPECT_EQ(filter.feed(row.printed), row.printed) << printable(row.printed);
    EXPECT_EQ(printable(filter.finish()), printable(row.undo)) << printable(row.printed);
  }
}

// T42: a program that wants to leave something behind, by a spelling that looks like a reset or by
// a detour.
TEST(TerminalFilterPlain, NoSpellingOfAColourOutlivesTheProgram) {
  constexpr Leftover kRows[] = {
      {"\x1b[8m\x1b[38;5;0mx", "\x1b[0m"},  // black, not a reset
      {"\x1b[8m\x1b[48;2;0;0;0mx", "\x1b[0m"},
      {"\x1b[8m\x1b[38:5:0mx", "\x1b[0m"},
      {"\x1b[8m\x1b[58;5;mx", "\x1b[0m"},
      {"\x1b[8m\x1b[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;mx", "\x1b[0m"},  // too much for some
      {"\x1b[8mx\x1b[m", ""},
      {"\x1b[8mx\x1b[0m", ""},
      {"\x1b[8mx\x1b[00m", ""},
  };
  expect_undone(Mode::kPlain, kRows);
}

TEST(TerminalFilterInteractive, NoSpellingOfAModeOutlivesTheProgram) {
  constexpr Leftover kRows[] = {
      {"\x1b[?01049h\x1b[?01003h", "\x1b[?1003l\x1b[?1049l"},
      {"\x1b[?025l", "\x1b[?25h"},
      {"\x1b[?1003h\x1b[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1003l", "\x1b[?1003l"},
      {"\x1b[?1003h\x1b[?01003l", ""},
      {"\x1b[4h\x1b[20l", "\x1b[4l"},
      {"\x1b[20h", "\x1b[20l"},
      {"\x1b[04;20h\x1b[4l", "\x1b[20l"},
      {"\x1b[34l", "\x1b[34h"},
      {"\x1b[4h\x1b[20h\x1b[34h\x1b[4;20l", ""},
      {"\x1b[1\"q", "\x1b[0\"q"},
      {"\x1b[?1c", "\x1b[?0c"},
      {"\x1b[?1c\x1b[?0c", ""},
  };
  expect_undone(Mode::kInteractive, kRows);
}

TEST(TerminalFilterInteractive, NorDoKeysAndPointersStayChanged) {
  constexpr Leftover kRows[] = {
      {"\x1b[=31u", "\x1b[=0u"},
      {"\x1b[=31u\x1b[>0u\x1b[=0u\x1b[<u", "\x1b[=0u"},  // the pop brings 31 back
      {"\x1b[>1u\x1b[<0u", "\x1b[<1u"},
      {"\x1b[>1u\x1b[>1u\x1b[>1u\x1b[<02u", "\x1b[<1u"},
      {"\x1b[>1u\x1b[?1049h\x1b[<u\x1b[?1049l", "\x1b[<1u"},  // popped on the other screen
      {"\x1b[?1049h\x1b[>1u", "\x1b[<1u\x1b[?1049l"},         // each on its own
      {"\x1b[?1049h\x1b[>1u\x1b[<u\x1b[?1049l", ""},
      {"\x1b[>1;2m", "\x1b[>m"},
      {"\x1b[>1;2m\x1b[>4m", "\x1b[>m"},
      {"\x1b[>1;2m\x1b[>m", ""},
      {"\x1b[>04;2m", "\x1b[>4m"},
      {"\x1b[>4;2m\x1b[>4;0m", ""},
      {"\x1b[>2n", "\x1b[>m"},
      {"\x1b[>1;1f", "\x1b[>f"},
      {"\x1b[>1s", "\x1b[>s"},
      {"\x1b[>2p", "\x1b[>p"},
      {"\x1b[>2p\x1b[>p", ""},
  };
  expect_undone(Mode::kInteractive, kRows);
}

TEST(TerminalFilterInteractive, NorDoCharactersAndWhatWasSavedWithTheCursor) {
  constexpr std::string_view kCharsets = "\x1b(B\x1b)B\x1b*B\x1b+B\x0f";
  constexpr Leftover kRows[] = {
      {"\x1b*0\x1bn", kCharsets},
      {"\x1b+0", kCharsets},
      {"\x1b)0\x0e", kCharsets},
      {"\x1bo", kCharsets},
      {"\x1b(0\x1b(B", ""},
      {"\x1b)0\x1b(B", kCharsets},
      {"\x1b[8m\0337\x1b[m\0338", "\x1b[0m"},
      {"\x1b[8m\x1b[s\x1b[m\x1b[u", "\x1b[0m"},
      {"\x1b[8m\x1b[?1048h\x1b[m\x1b[?1048l", "\x1b[0m"},
      {"\x1b[8m\x1b[#{\x1b[m\x1b[#}", "\x1b[0m"},
      {"\x1b(0\0337\x1b(B\0338", kCharsets},
      {"\x1b[?6h\0337\x1b[?6l\0338", "\x1b[?6l"},
      {"\0337\x1b[8m\x1b[m\0338", ""},
  };
  expect_undone(Mode::kInteractive, kRows);
}

// T42: where the terminal reads single bytes, the tail of a character can be a control of its own.
TEST(TerminalFilter, OnlyAsciiPassesToATerminalOfAnotherCharset) {
  using Charset = TerminalFilter::Charset;
  for (Mode mode : {Mode::kPlain, Mode::kInteractive}) {
    TerminalFilter filter(mode, Charset::kAscii);
    EXPECT_EQ(filter.feed("a\xc5\x9b"
                          "31mb\xff\xe2\x82\xac\x1b[1mc\x1b[m\xe2"),
              "a?31mb??\x1b[1mc\x1b[m");
    EXPECT_EQ(filter.feed("\x1b]0;\xc5\x9c\x07"), "?");
    EXPECT_EQ(filter.finish(), "");
  }
  TerminalFilter titles(Mode::kInteractive, Charset::kAscii);
  EXPECT_EQ(titles.feed("\x1b]0;vim\x07"), "\x1b]0;vim\x07");
  EXPECT_EQ(plain("\xc5\x9b"), "\xc5\x9b");  // and to one of UTF-8 as it is
}

TEST(TerminalFilter, TheCharsetIsThatOfTheFirstLocaleThatIsSet) {
  using Charset = TerminalFilter::Charset;
  for (std::string_view name : {"de_DE.UTF-8", "C.utf8", "en_US.utf-8", "C", "POSIX", ""})
    EXPECT_EQ(charset_of_locale("", "", name), Charset::kUtf8) << name;
  for (std::string_view name : {"de_DE.ISO-8859-1", "de_DE@euro", "ja_JP.eucJP", "de_DE"})
    EXPECT_EQ(charset_of_locale("", "", name), Charset::kAscii) << name;
  EXPECT_EQ(charset_of_locale("C.UTF-8", "de_DE", "de_DE"), Charset::kUtf8);
  EXPECT_EQ(charset_of_locale("", "de_DE", "C.UTF-8"), Charset::kAscii);
}

TEST(TerminalFilter, HoldsBackOnlySoMuch) {
  for (Mode mode : {Mode::kPlain, Mode::kInteractive})
    for (std::string_view begin : {"\x1b[", "\x1b]", "\x1bP", "\x1b "}) {
      TerminalFilter filter(mode);
      filter.feed(begin);
      for (int i = 0; i < 1000; ++i) EXPECT_EQ(filter.feed(std::string(100, ' ')), "");
      EXPECT_EQ(filter.finish(), "");
    }
}

// Whatever goes in: what comes out is UTF-8 without C1, and filtering it again changes nothing.
TEST(TerminalFilter, ItsOutputIsItsOwnFixedPoint) {
  constexpr std::string_view kPieces =
      "\x1b\x1b\x1b[[]]P?>;;0123m$\"h\x07\\\n\x18\xc2\x9b\xe2\x82\xac\xff tqx";
  std::mt19937 random(42);
  for (int round = 0; round < 3000; ++round) {
    std::string input;
    for (size_t i = random() % 40; i > 0; --i) input += kPieces[random() % kPieces.size()];
    for (Mode mode : {Mode::kPlain, Mode::kInteractive}) {
      TerminalFilter first(mode), second(mode);
      std::string once = first.feed(input);
      EXPECT_TRUE(is_valid_utf8(once));
      for (size_t i = 0; i + 1 < once.size(); ++i)
        EXPECT_FALSE(once[i] == '\xc2' && static_cast<unsigned char>(once[i + 1]) < 0xa0);
      EXPECT_EQ(second.feed(once), once) << printable(input);
    }
  }
}

}  // namespace
}  // namespace caisson
