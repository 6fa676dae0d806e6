#include "run/timestamp.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(Timestamp, IsUtcWithMilliseconds) {
  EXPECT_EQ(format_timestamp(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_timestamp(1'709'210'096'007), "2024-02-29T12:34:56.007Z");
  EXPECT_EQ(format_timestamp(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_timestamp(INT64_MAX), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_timestamp(INT64_MIN), "0000-01-01T00:00:00.000Z");
}

TEST(Timestamp, ComesBackAsItWent) {
  for (int64_t ms = -60'000'000'000'000; ms < 250'000'000'000'000; ms += 7'777'777'777'777)
    EXPECT_EQ(*parse_timestamp(format_timestamp(ms)), ms);
}

TEST(Timestamp, TakesOffsetsFractionsAndBareDates) {
  EXPECT_EQ(*parse_timestamp("1970-01-02"), 86'400'000);
  EXPECT_EQ(*parse_timestamp("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(*parse_timestamp("1969-12-31T23:30:00-00:30"), 0);
  EXPECT_EQ(*parse_timestamp("1970-01-01 00:00:00.5z"), 500);
  EXPECT_EQ(*parse_timestamp("1970-01-01T00:00:00.1239999Z"), 123);
}

TEST(Timestamp, RefusesWhatIsNoPointInTime) {
  for (const char* text : {"", "1h", "1970", "1970-13-01", "1970-02-30", "2023-02-29", "1970-01-00",
                           "1970-01-01T24:00:00Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z",
                           "1970-01-01T00:00:00Zx", "1970-01-01T00:00:00+1", "x970-01-01"})
    EXPECT_FALSE(parse_timestamp(text).ok()) << text;
}

}  // namespace
}  // namespace caisson
