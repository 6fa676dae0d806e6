#include "policy/units.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using std::chrono::milliseconds;

TEST(Sizes, AreReadInPowersOf1024) {
  EXPECT_EQ(parse_size("0").value(), 0u);
  EXPECT_EQ(parse_size("512").value(), 512u);
  EXPECT_EQ(parse_size("64K").value(), 65536u);
  EXPECT_EQ(parse_size("256M").value(), 268435456u);
  EXPECT_EQ(parse_size("1.5g").value(), 1610612736u);
  EXPECT_EQ(parse_size("2GiB").value(), 2147483648u);
  EXPECT_EQ(parse_size("0.1K").value(), 102u);
}

TEST(Sizes, RefuseWhatIsNoSize) {
  for (const char* text :
       {"", "-1", "+1", " 1", "1 ", "1Q", "M", "1.M", ".5M", "1.5", "1MB", "1KK", "0x10", "1e3",
        "1.2.3M", "99999999999999999999", "9000000T", "1.1234567M"})
    EXPECT_FALSE(parse_size(text).ok()) << text;
  EXPECT_EQ(parse_size("12Q").error().what, "\"12Q\" is not a size");
  EXPECT_NE(parse_size("12Q").error().hint.find("256M"), std::string::npos);
}

TEST(Durations, TakeUnitsAndPlainSeconds) {
  EXPECT_EQ(parse_duration("30").value(), milliseconds(30000));
  EXPECT_EQ(parse_duration("1.5").value(), milliseconds(1500));
  EXPECT_EQ(parse_duration("10s").value(), milliseconds(10000));
  EXPECT_EQ(parse_duration("250ms").value(), milliseconds(250));
  EXPECT_EQ(parse_duration("1.5m").value(), milliseconds(90000));
  EXPECT_EQ(parse_duration("2h").value(), milliseconds(7200000));
  EXPECT_EQ(parse_duration("1h30m").value(), milliseconds(5400000));
  EXPECT_EQ(parse_duration("1m5s250ms").value(), milliseconds(65250));
}

TEST(Durations, NoneIsNothingAndZeroIsRefused) {
  EXPECT_EQ(parse_duration("none").value(), std::nullopt);
  for (const char* text : {"", "0", "0s", "-1", "1x", "30m1h", "1h1h", "1h30", "s", "1.s", "400d",
                           "99999999999999h", "None", "10 s"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(Cpus, AreThousandthsOfACore) {
  EXPECT_EQ(parse_cpu("0.5").value(), 500u);
  EXPECT_EQ(parse_cpu("2").value(), 2000u);
  EXPECT_EQ(parse_cpu("1.0").value(), 1000u);
  EXPECT_EQ(parse_cpu("0.01").value(), 10u);
  EXPECT_EQ(parse_cpu("0").value(), 0u);
  for (const char* text : {"", "-1", "0.009", "two", "1x", "9000", "1e1", "0.0000001"})
    EXPECT_FALSE(parse_cpu(text).ok()) << text;
}

TEST(Counts, KeepTheirBounds) {
  EXPECT_EQ(parse_count("16", 16, 32).value(), 16u);
  EXPECT_EQ(parse_count("32", 16, 32).value(), 32u);
  for (const char* text : {"15", "33", "", "1.0", "-16", "4294967312", "99999999999999999999"})
    EXPECT_FALSE(parse_count(text, 16, 32).ok()) << text;
}

TEST(Mounts, HaveASourceATargetAndAnAccess) {
  MountRequest plain = parse_mount("/a:/b", "--mount").value();
  EXPECT_EQ(plain.source, "/a");
  EXPECT_EQ(plain.target, "/b");
  EXPECT_EQ(plain.access, Access::kReadOnly);
  EXPECT_EQ(plain.origin, "--mount");
  EXPECT_EQ(parse_mount("a/../c:/b:rw", "").value().access, Access::kReadWrite);
  EXPECT_EQ(parse_mount("a/../c:/b:ro", "").value().source, "a/../c");
  EXPECT_EQ(parse_mount("/a:/x/./y//z/", "").value().target, "/x/y/z");
}

TEST(Mounts, TakeAColonBehindABackslash) {
  MountRequest mount = parse_mount(R"(/a\:b:/c\:d:rw)", "").value();
  EXPECT_EQ(mount.source, "/a:b");
  EXPECT_EQ(mount.target, "/c:d");
  EXPECT_EQ(parse_mount(R"(/a\\:/b)", "").value().source, R"(/a\)");
  EXPECT_EQ(parse_mount(R"(/a\b:/b)", "").value().source, R"(/a\b)");
}

TEST(Mounts, RefuseWhatIsNoMount) {
  for (const char* text :
       {"", "/a", ":", "/a:", ":/b", "/a:/b:", "/a:/b:rx", "/a:/b:ro:rw", "/a:b", R"(/a\:/b)"})
    EXPECT_FALSE(parse_mount(text, "--mount").ok()) << text;
  EXPECT_FALSE(parse_mount(std::string("/a\0b:/c", 7), "").ok());
  EXPECT_FALSE(parse_mount("/a:/" + std::string(5000, 'x'), "").ok());
}

TEST(Paths, AreMadeAbsoluteAndClean) {
  EXPECT_EQ(clean_path("/a/../b", "/").value(), "/b");
  EXPECT_EQ(clean_path("x/./y/", "/base").value(), "/base/x/y");
  EXPECT_EQ(clean_path("../..", "/a").value(), "/");
  EXPECT_EQ(clean_path("/../../etc", "/").value(), "/etc");
  EXPECT_FALSE(clean_path("", "/").ok());
  EXPECT_FALSE(clean_path(std::string_view("a\0b", 3), "/").ok());
}

TEST(Booleans, AreTrueOrFalseAndNothingElse) {
  EXPECT_TRUE(parse_bool("true").value());
  EXPECT_FALSE(parse_bool("false").value());
  EXPECT_FALSE(parse_bool("maybe").ok());
  EXPECT_FALSE(parse_bool("").ok());
}

TEST(Quoted, ShowsControlBytesAndCutsWhatIsLong) {
  EXPECT_EQ(in_quotes("a\x1b[2J"), "\"a\\x1b[2J\"");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 100u);
}

}  // namespace
}  // namespace caisson
