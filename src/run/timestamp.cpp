#include "run/timestamp.h"

#include <time.h>

#include <algorithm>

#include <fmt/format.h>

namespace caisson {

namespace {

constexpr int64_t kMsPerDay = 86'400'000;
constexpr int64_t kFirstMs = -62'167'219'200'000;  // 0000-01-01
constexpr int64_t kLastMs = 253'402'300'799'999;   // 9999-12-31

struct Date {
  int64_t year, month, day;
};

// Days since 1970-01-01 in the proleptic Gregorian calendar, and back; years begin in March, so
// that the leap day is the last of its year.
int64_t days_from_date(Date date) {
  int64_t year = date.year - (date.month <= 2);
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t of_era = year - era * 400;
  int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

Date date_from_days(int64_t days) {
  days += 719'468;
  int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  int64_t of_era = days - era * 146'097;
  int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  int64_t month = (5 * of_year + 2) / 153;
  int64_t day = of_year - (153 * month + 2) / 5 + 1;
  month += month < 10 ? 3 : -9;
  return {year + era * 400 + (month <= 2), month, day};
}

void put(char* at, int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

// Takes fixed pieces off the front of a text; `ok` stays false after the first that isn't there.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  int64_t number(size_t digits, int64_t low, int64_t high) {
    int64_t value = 0;
    if (text_.size() < digits) return fail();
    for (char c : text_.substr(0, digits)) {
      if (c < '0' || c > '9') return fail();
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(digits);
    return value < low || value > high ? fail() : value;
  }
  bool take(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_[0]) == std::string_view::npos) return false;
    taken_ = text_[0];
    text_.remove_prefix(1);
    return true;
  }
  void need(std::string_view any_of) {
    if (!take(any_of)) fail();
  }
  // The digits behind a point, as milliseconds; finer ones are cut off.
  int64_t fraction() {
    int64_t value = 0, unit = 100;
    if (text_.empty() || text_[0] < '0' || text_[0] > '9') return fail();
    for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; text_.remove_prefix(1), unit /= 10)
      value += (text_[0] - '0') * unit;
    return value;
  }
  char taken() const { return taken_; }
  bool at_end() const { return text_.empty(); }
  bool ok() const { return ok_; }
  int64_t fail() {
    ok_ = false;
    return 0;
  }

 private:
  std::string_view text_;
  char taken_ = 0;
  bool ok_ = true;
};

int64_t scan_clock(Scanner& scan) {
  int64_t hour = scan.number(2, 0, 23);
  scan.need(":");
  int64_t minute = scan.number(2, 0, 59);
  scan.need(":");
  int64_t second = scan.number(2, 0, 60);  // 60 is a leap second
  int64_t ms = scan.take(".") ? scan.fraction() : 0;
  return ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

int64_t scan_offset(Scanner& scan) {
  scan.need("Zz+-");
  char sign = scan.taken();
  if (!scan.ok() || sign == 'Z' || sign == 'z') return 0;
  int64_t hours = scan.number(2, 0, 23);
  scan.need(":");
  int64_t offset = (hours * 60 + scan.number(2, 0, 59)) * 60'000;
  return sign == '-' ? -offset : offset;
}

}  // namespace

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

std::string format_timestamp(int64_t ms) {
  ms = std::clamp(ms, kFirstMs, kLastMs);
  int64_t days = (ms >= 0 ? ms : ms - kMsPerDay + 1) / kMsPerDay;
  int64_t rest = ms - days * kMsPerDay;
  Date date = date_from_days(days);
  std::string out = "0000-00-00T00:00:00.000Z";
  put(&out[0], date.year, 4);
  put(&out[5], date.month, 2);
  put(&out[8], date.day, 2);
  put(&out[11], rest / 3'600'000, 2);
  put(&out[14], rest / 60'000 % 60, 2);
  put(&out[17], rest / 1000 % 60, 2);
  put(&out[20], rest % 1000, 3);
  return out;
}

Result<int64_t> parse_timestamp(std::string_view text) {
  Scanner scan(text);
  Date date{};
  date.year = scan.number(4, 0, 9999);
  scan.need("-");
  date.month = scan.number(2, 1, 12);
  scan.need("-");
  date.day = scan.number(2, 1, 31);
  int64_t days = scan.ok() ? days_from_date(date) : 0;
  if (scan.ok() && date_from_days(days).day != date.day) scan.fail();  // 30 February
  int64_t ms = days * kMsPerDay;
  if (scan.ok() && !scan.at_end()) {
    scan.need("Tt ");
    ms += scan_clock(scan);
    ms -= scan_offset(scan);
  }
  if (!scan.ok() || !scan.at_end())
    return Error::plain(fmt::format("not a point in time: '{}'", text.substr(0, 64)),
                        "write it as 2026-07-31, or 2026-07-31T09:30:00Z");
  return ms;
}

}  // namespace caisson
