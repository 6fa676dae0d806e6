// A policy file that a stranger wrote: taken only when it is JSON, and then it says the same
// however it is laid out.
#include <algorithm>
#include <charconv>
#include <cstdint>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "settings_facts.h"

namespace caisson {
namespace {

using fuzz::Origins;
namespace json = boost::json;

constexpr std::string_view kName = "policy.json";

struct Reading {
  Settings settings;
  Result<void> result = {};
};

Reading read(std::string_view text) {
  Reading reading;
  reading.result = apply_policy_json(reading.settings, text, std::string(kName));
  return reading;
}

// "policy.json:12", and the file has that many lines.
void require_origin(std::string_view origin, size_t lines) {
  REQUIRE(origin.starts_with(kName) && origin.substr(kName.size()).starts_with(':'));
  std::string_view digits = origin.substr(kName.size() + 1);
  digits = digits.substr(0, digits.find(':'));
  size_t line = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  REQUIRE(problem == std::errc() && end == digits.data() + digits.size());
  REQUIRE(line >= 1 && line <= lines);
}

void require_origins(const Settings& s, size_t lines) {
  for (const MountRequest& mount : s.mounts) require_origin(mount.origin, lines);
  for (const EnvironmentRequest& one : s.env_set) require_origin(one.origin, lines);
  for (const auto& [path, origin] : s.allow_write) require_origin(origin, lines);
  if (s.memory) require_origin(s.memory.origin, lines);
  if (s.timeout) require_origin(s.timeout.origin, lines);
  if (s.allow_network) require_origin(s.allow_network.origin, lines);
}

json::value parse_whole(std::string_view text, json::error_code& problem) {
  json::parse_options options;
  options.max_depth = 64;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  return json::parse({text.data(), text.size()}, problem, {}, options);
}

// Number for number and word for word the same on one line, without comments.
void require_same_on_one_line(const json::value& value, const Reading& reading) {
  std::string dense = json::serialize(value);
  Reading again = read(dense);
  // 1e1 and 0.10 are written in other ways by the serializer: then they may be no quantities.
  if (!again.result) return;
  REQUIRE(to_text(again.settings, Origins::kHidden) == to_text(reading.settings, Origins::kHidden));
}

void check_layout(std::string_view text, const Reading& reading) {
  for (const std::string& other : {"\n" + std::string(text), std::string(text) + "\n",
                                   " \t" + std::string(text) + "\r\n // the end\n"}) {
    if (other.size() > 1 << 20) continue;
    Reading again = read(other);
    REQUIRE(again.result.ok() == reading.result.ok());
    if (reading.result)
      REQUIRE(to_text(again.settings, Origins::kHidden) ==
              to_text(reading.settings, Origins::kHidden));
  }
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  Reading reading = read(text);
  fuzz::require_valid(reading.settings);
  size_t lines = 1 + static_cast<size_t>(std::ranges::count(text, '\n'));
  require_origins(reading.settings, lines);
  boost::json::error_code problem;
  boost::json::value value = parse_whole(text, problem);
  if (!reading.result) {
    fuzz::require_good(reading.result.error());
    REQUIRE(reading.result.error().what.starts_with(kName));
  } else {
    REQUIRE(!problem && value.is_object());
    if (reading.settings.allow_network) REQUIRE(!reading.settings.allow_network.value->empty());
    if (reading.settings.allow_nested) REQUIRE(!reading.settings.allow_nested.value->empty());
    require_same_on_one_line(value, reading);
  }
  check_layout(text, reading);
  return 0;
}
