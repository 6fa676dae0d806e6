#include "policy/units.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/text.h"

namespace caisson {

namespace {

// A decimal number at the front of `text`, as thousandths of thousandths: exact, so that 1.5G is
// the same number of bytes on every machine.
constexpr uint64_t kScale = 1'000'000;
constexpr size_t kMaxDigits = 15, kMaxFraction = 6;

struct Decimal {
  uint64_t scaled = 0;
  bool has_fraction = false;
};

size_t count_digits(std::string_view text) {
  size_t n = text.find_first_not_of("0123456789");
  return n == std::string_view::npos ? text.size() : n;
}

uint64_t digits_value(std::string_view digits) {
  uint64_t value = 0;
  for (char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

// Takes the number off the front of `text`; nothing if there is none or it is too long.
std::optional<Decimal> take_decimal(std::string_view& text) {
  size_t whole = count_digits(text);
  if (whole == 0 || whole > kMaxDigits) return std::nullopt;
  Decimal number;
  unsigned __int128 scaled = static_cast<unsigned __int128>(digits_value(text.substr(0, whole)));
  scaled *= kScale;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    size_t fraction = count_digits(text);
    if (fraction == 0 || fraction > kMaxFraction) return std::nullopt;
    uint64_t part = digits_value(text.substr(0, fraction));
    for (size_t i = fraction; i < kMaxFraction; ++i) part *= 10;
    scaled += part;
    number.has_fraction = true;
    text.remove_prefix(fraction);
  }
  if (scaled > std::numeric_limits<uint64_t>::max()) return std::nullopt;
  number.scaled = static_cast<uint64_t>(scaled);
  return number;
}

std::optional<unsigned> size_shift(std::string_view unit) {
  if (unit.empty()) return 0;
  if (unit.size() == 3 && unit.substr(1) == "iB") unit = unit.substr(0, 1);
  if (unit.size() != 1) return std::nullopt;
  switch (unit[0]) {
    case 'K':
    case 'k':
      return 10;
    case 'M':
    case 'm':
      return 20;
    case 'G':
    case 'g':
      return 30;
    case 'T':
    case 't':
      return 40;
    default:
      return std::nullopt;
  }
}

struct DurationUnit {
  std::string_view name;
  uint64_t milliseconds;
};
// Longest first: "ms" before "m".
constexpr std::array kDurationUnits{
    DurationUnit{"ms", 1},        DurationUnit{"s", 1000},       DurationUnit{"m", 60'000},
    DurationUnit{"h", 3'600'000}, DurationUnit{"d", 86'400'000},
};
constexpr uint64_t kMaxDuration = 366ull * 86'400'000;

const DurationUnit* take_unit(std::string_view& text) {
  for (const DurationUnit& unit : kDurationUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

// Each unit once, larger ones first. Nothing if the text is no duration.
std::optional<uint64_t> duration_milliseconds(std::string_view text) {
  unsigned __int128 total = 0;
  uint64_t last_unit = std::numeric_limits<uint64_t>::max();
  bool first = true;
  while (!text.empty()) {
    std::optional<Decimal> number = take_decimal(text);
    if (!number) return std::nullopt;
    uint64_t unit = 1000;
    if (!(first && text.empty())) {
      const DurationUnit* named = take_unit(text);
      if (!named) return std::nullopt;
      unit = named->milliseconds;
    }
    if (unit >= last_unit) return std::nullopt;
    total += static_cast<unsigned __int128>(number->scaled) * unit / kScale;
    last_unit = unit;
    first = false;
  }
  if (first || total > kMaxDuration) return std::nullopt;
  return static_cast<uint64_t>(total);
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string out = "\"" + printable(text.substr(0, kShown));
  return out + (text.size() > kShown ? "…\"" : "\"");
}

Result<uint64_t> parse_size(std::string_view text) {
  Error no_size = Error::plain(in_quotes(text) + " is not a size",
                               "write it as 512, 64K, 256M, 1.5G or 2GiB (powers of 1024)");
  std::string_view rest = text;
  std::optional<Decimal> number = take_decimal(rest);
  if (!number) return no_size;
  std::optional<unsigned> shift = size_shift(rest);
  if (!shift || (number->has_fraction && *shift == 0)) return no_size;
  unsigned __int128 bytes = (static_cast<unsigned __int128>(number->scaled) << *shift) / kScale;
  // The kernel's own counters are signed.
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return Error::plain(in_quotes(text) + " is too large a size", no_size.hint);
  return static_cast<uint64_t>(bytes);
}

Result<std::optional<std::chrono::milliseconds>> parse_duration(std::string_view text) {
  using Answer = std::optional<std::chrono::milliseconds>;
  if (text == "none") return Answer{};
  std::optional<uint64_t> total = duration_milliseconds(text);
  if (!total || *total == 0)
    return Error::plain(in_quotes(text) + " is not a duration",
                        "write it as 30 (seconds), 250ms, 10s, 1.5m, 2h, 1h30m or none; "
                        "a year at most");
  return Answer{std::chrono::milliseconds(*total)};
}

Result<uint32_t> parse_cpu(std::string_view text) {
  constexpr uint64_t kMaxCores = 8192;
  Error no_count = Error::plain(in_quotes(text) + " is not a number of cores",
                                "write it as 0.5, 2 or 0 (all cores); 0.01 at least");
  std::string_view rest = text;
  std::optional<Decimal> number = take_decimal(rest);
  if (!number || !rest.empty()) return no_count;
  if (number->scaled == 0) return uint32_t{0};
  uint64_t millis = number->scaled / (kScale / 1000);
  if (millis < 10 || millis > kMaxCores * 1000) return no_count;
  return static_cast<uint32_t>(millis);
}

Result<uint32_t> parse_count(std::string_view text, uint32_t low, uint32_t high) {
  std::string hint = fmt::format("a whole number from {} to {}", low, high);
  if (text.empty() || text.size() > kMaxDigits || count_digits(text) != text.size())
    return Error::plain(in_quotes(text) + " is not a whole number", hint);
  uint64_t value = digits_value(text);
  if (value < low || value > high) return Error::plain(in_quotes(text) + " is out of range", hint);
  return static_cast<uint32_t>(value);
}

Result<bool> parse_bool(std::string_view text) {
  for (std::string_view yes : {"true", "1", "yes", "on"})
    if (text == yes) return true;
  for (std::string_view no : {"false", "0", "no", "off"})
    if (text == no) return false;
  return Error::plain(in_quotes(text) + " is neither true nor false", "write true or false");
}

// Splits at colons that no backslash precedes; "\:" and "\\" lose their backslash.
static std::vector<std::string> split_mount(std::string_view text) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i) {
    bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ':' || text[i + 1] == '\\');
    if (escape)
      parts.back() += text[++i];
    else if (text[i] == ':')
      parts.emplace_back();
    else
      parts.back() += text[i];
  }
  return parts;
}

Result<MountRequest> parse_mount(std::string_view text, const Origin& origin) {
  constexpr const char* kHint =
      "write it as SRC:DST, SRC:DST:ro or SRC:DST:rw; \"\\:\" is a colon in a name";
  std::vector<std::string> parts = split_mount(text);
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty() || parts[1].empty())
    return Error::plain(in_quotes(text) + " is not a mount", kHint);
  MountRequest mount{.source = parts[0], .origin = origin};
  if (parts.size() == 3) {
    if (parts[2] != "ro" && parts[2] != "rw")
      return Error::plain(
          fmt::format("{}: {} is neither ro nor rw", in_quotes(text), in_quotes(parts[2])), kHint);
    if (parts[2] == "rw") mount.access = Access::kReadWrite;
  }
  if (!parts[1].starts_with('/'))
    return Error::plain(
        fmt::format("{}: the target {} is not absolute", in_quotes(text), in_quotes(parts[1])),
        kHint);
  if (mount.source.size() > kMaxPath || mount.source.find('\0') != std::string::npos)
    return Error::plain(in_quotes(text) + ": the source is no path", kHint);
  mount.target = TRY(clean_path(parts[1], "/"));
  return mount;
}

Result<std::string> clean_path(std::string_view path, std::string_view base) {
  if (path.empty()) return Error::plain("a path is empty");
  if (path.find('\0') != std::string_view::npos)
    return Error::plain(in_quotes(path) + " has a NUL byte and is no path");
  std::string whole;
  if (!path.starts_with('/')) whole = std::string(base) + "/";
  whole += path;
  if (whole.size() > kMaxPath) return Error::plain(in_quotes(path) + " is too long a path");
  std::string clean;
  for (std::string_view part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      clean.resize(clean.empty() ? 0 : clean.rfind('/'));
      continue;
    }
    clean += '/';
    clean += part;
  }
  return clean.empty() ? std::string("/") : clean;
}

}  // namespace caisson
