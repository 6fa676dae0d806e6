#include "web/spec_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_size.h"
#include "base/text.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::SessionSpec;

constexpr size_t kMostWords = 256, kLongestWord = 4096;
constexpr size_t kJsonDepth = 32;

Error wrong_member(std::string_view member, std::string_view wanted) {
  return {fmt::format("\"{}\" is not {}", printable(member), wanted), {}, EINVAL};
}

Result<uint64_t> number(std::string_view member, const json::value& value, uint64_t low,
                        uint64_t high) {
  uint64_t found = 0;
  if (value.is_uint64())
    found = value.get_uint64();
  else if (value.is_int64() && value.get_int64() >= 0)
    found = static_cast<uint64_t>(value.get_int64());
  else
    return wrong_member(member, "a whole number");
  if (found < low || found > high)
    return wrong_member(member, fmt::format("between {} and {}", low, high));
  return found;
}

Result<std::string> text(std::string_view member, const json::value& value) {
  if (!value.is_string() || value.get_string().size() > kLongestWord)
    return wrong_member(member, "a text of up to 4096 bytes");
  std::string_view found = value.get_string();
  if (found.find('\0') != found.npos) return wrong_member(member, "a text without NUL");
  return std::string(found);
}

Result<std::vector<std::string>> words(std::string_view member, const json::value& value) {
  if (!value.is_array() || value.get_array().size() > kMostWords)
    return wrong_member(member, "a list of up to 256 texts");
  std::vector<std::string> found;
  for (const json::value& each : value.get_array()) found.push_back(TRY(text(member, each)));
  return found;
}

Result<void> set_member(SessionSpec& spec, std::string_view name, const json::value& value) {
  if (name == "name") {
    spec.name = TRY(text(name, value));
  } else if (name == "python") {
    spec.python = TRY(text(name, value));
  } else if (name == "workspace") {
    spec.workspace = TRY(text(name, value));
  } else if (name == "policy") {
    spec.policy_words = TRY(words(name, value));
    // Behind it would stand a command of its own.
    if (std::ranges::find(spec.policy_words, "--") != spec.policy_words.end())
      return wrong_member(name, "a list of options: there is a \"--\"");
  } else if (name == "preload") {
    spec.preload = TRY(words(name, value));
  } else if (name == "memory_bytes") {
    spec.memory_bytes = TRY(number(name, value, 16 << 20, uint64_t{1} << 46));
  } else if (name == "cpu_millis") {
    spec.cpu_millis = static_cast<uint32_t>(TRY(number(name, value, 10, 1'000'000)));
  } else if (name == "pids") {
    spec.pids = static_cast<uint32_t>(TRY(number(name, value, 8, 1'000'000)));
  } else if (name == "timeout_ms") {
    spec.call_timeout = std::chrono::milliseconds(TRY(number(name, value, 1, 86'400'000)));
  } else if (name == "output_bytes") {
    spec.output_bytes = TRY(number(name, value, 1024, uint64_t{1} << 30));
  } else if (name == "ipython" || name == "resume") {
    if (!value.is_bool()) return wrong_member(name, "true or false");
    (name == "ipython" ? spec.ipython : spec.take_up_snapshot) = value.get_bool();
  } else {
    return Error{fmt::format("unknown member \"{}\"", printable(name)),
                 "name python workspace policy preload memory_bytes cpu_millis pids timeout_ms "
                 "output_bytes ipython resume",
                 EINVAL};
  }
  return {};
}

json::array words_json(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) array.emplace_back(word);
  return array;
}

}  // namespace

Result<json::object> parse_object(std::string_view text) {
  TRY(check_json_size(text));
  json::parse_options options;
  options.max_depth = kJsonDepth;
  boost::system::error_code failed;
  json::value value = json::parse(text, failed, {}, options);
  if (failed || !value.is_object())
    return Error{"the body is not a JSON object", "Content-Type: application/json, {…}", EINVAL};
  return std::move(value.get_object());
}

Result<SessionSpec> spec_from_json(const json::object& object) {
  SessionSpec spec;
  for (const auto& [name, value] : object)
    if (!value.is_null()) TRY(set_member(spec, name, value));
  return spec;
}

json::object spec_to_json(const SessionSpec& spec) {
  return {{"name", spec.name},
          {"python", spec.python},
          {"workspace", spec.workspace},
          {"policy", words_json(spec.policy_words)},
          {"preload", words_json(spec.preload)},
          {"memory_bytes", spec.memory_bytes},
          {"cpu_millis", spec.cpu_millis},
          {"pids", spec.pids},
          {"timeout_ms", spec.call_timeout.count()},
          {"output_bytes", spec.output_bytes},
          {"ipython", spec.ipython}};
}

}  // namespace caisson::web
