// Sizes, durations, cores and counts: what is taken can be written down and read again as the same.
#include <cstdint>

#include <fmt/format.h>

#include "policy/units.h"
#include "require.h"

namespace caisson {
namespace {

using fuzz::require_good;

// The number of bytes with the largest unit that it is a multiple of.
std::string print_size(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

// Digits without a unit end here: millionths of them must fit in 64 bits.
constexpr uint64_t kMaxPlain = UINT64_MAX / 1'000'000;

void check_size(std::string_view text) {
  Result<uint64_t> size = parse_size(text);
  if (!size) return require_good(size.error());
  REQUIRE(*size <= INT64_MAX);
  std::string printed = print_size(*size);
  Result<uint64_t> again = parse_size(printed);
  if (again) REQUIRE(*again == *size);
  if (*size <= kMaxPlain) REQUIRE(again.ok());
  // 1024 of something are one of the next.
  bool plain = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (plain) {
    Result<uint64_t> larger = parse_size(std::string(text) + "K");
    REQUIRE(larger.ok() && *larger == *size * 1024);
    REQUIRE(*parse_size(std::string(text) + "KiB") == *larger);
  }
}

void check_duration(std::string_view text) {
  auto duration = parse_duration(text);
  if (!duration) return require_good(duration.error());
  REQUIRE(duration->has_value() == (text != "none"));
  if (!duration->has_value()) return;
  int64_t ms = (*duration)->count();
  REQUIRE(ms > 0 && ms <= 366ll * 86'400'000);
  auto again = parse_duration(fmt::format("{}ms", ms));
  REQUIRE(again.ok() && *again == *duration);
  auto by_unit = parse_duration(fmt::format("{}s{}ms", ms / 1000, ms % 1000));
  REQUIRE(by_unit.ok() && *by_unit == *duration);
}

void check_cpu(std::string_view text) {
  Result<uint32_t> millis = parse_cpu(text);
  if (!millis) return require_good(millis.error());
  REQUIRE(*millis == 0 || *millis >= 10);
  Result<uint32_t> again = parse_cpu(fmt::format("{}.{:03}", *millis / 1000, *millis % 1000));
  REQUIRE(again.ok() && *again == *millis);
}

void check_count(std::string_view text, uint32_t low, uint32_t high) {
  Result<uint32_t> count = parse_count(text, low, high);
  if (!count) return require_good(count.error());
  REQUIRE(*count >= low && *count <= high);
  Result<uint32_t> again = parse_count(fmt::format("{}", *count), low, high);
  REQUIRE(again.ok() && *again == *count);
}

void check_bool(std::string_view text) {
  Result<bool> answer = parse_bool(text);
  if (!answer) return require_good(answer.error());
  REQUIRE(*parse_bool(*answer ? "true" : "false") == *answer);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  check_size(text);
  check_duration(text);
  check_cpu(text);
  check_count(text, 0, UINT32_MAX);
  check_count(text, 16, 1048576);
  check_bool(text);
  return 0;
}
