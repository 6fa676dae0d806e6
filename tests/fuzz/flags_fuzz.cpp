// The command line: one word per line of the input. Options end at the first word that is none, and
// both ways to give a value mean the same.
#include <cstdint>
#include <vector>

#include "settings_facts.h"

namespace caisson {
namespace {

using fuzz::Origins;
using Words = std::vector<std::string>;

constexpr std::string_view kOtherNames[] = {"--json-output", "--policy", "-v"};

// As exec's own: a switch, one with a value, and a short one.
Result<bool> take_other(void*, std::string_view flag, FlagCursor& cursor) {
  if (flag == "--policy") return (TRY(cursor.value_for(flag)), true);
  return flag == "--json-output" || flag == "-v";
}

struct Reading {
  Settings settings;
  size_t at = 0;
  Result<void> result = {};
};

Reading read(const Words& words) {
  Reading reading;
  FlagCursor cursor{.args = words};
  reading.result = apply_flags(reading.settings, cursor, take_other, nullptr, kOtherNames);
  reading.at = cursor.at;
  return reading;
}

bool takes_value(std::string_view flag) {
  if (flag == "--policy") return true;
  for (const SettingSpec& spec : setting_specs())
    if (!spec.flag.empty() && spec.flag == flag)
      return spec.arity != Arity::kSwitch && spec.arity != Arity::kGrant;
  return false;
}

void require_end_of_options(const Words& words, const Reading& reading) {
  REQUIRE(reading.at <= words.size());
  bool ended_by_dashes = reading.at > 0 && words[reading.at - 1] == "--";
  if (reading.at < words.size() && !ended_by_dashes) {
    const std::string& command = words[reading.at];
    REQUIRE(command.size() < 2 || command[0] != '-');
  }
}

// --memory=1G and --memory 1G. Only the words that were options are rewritten.
void require_same_with_values_apart(const Words& words, const Reading& reading) {
  Words apart;
  for (size_t i = 0; i < reading.at; ++i) {
    const std::string& word = words[i];
    size_t equals = word.find('=');
    bool joined = word.starts_with("--") && equals != std::string::npos &&
                  takes_value(word.substr(0, equals));
    if (joined && word.substr(equals + 1) != "--") {
      apart.push_back(word.substr(0, equals));
      apart.push_back(word.substr(equals + 1));
      continue;
    }
    apart.push_back(word);
    bool value_follows = word != "--" && takes_value(word) && i + 1 < reading.at;
    if (value_follows) apart.push_back(words[++i]);
  }
  Reading again = read(apart);
  REQUIRE(again.result.ok() && again.at == apart.size());
  REQUIRE(to_text(again.settings, Origins::kShown) == to_text(reading.settings, Origins::kShown));
}

// A value may be a secret: whatever is wrong with the name, no message shows it.
void require_secret_kept(const Words& words) {
  constexpr std::string_view kSecret = "Zq7-the-secret-Zq7";
  for (const std::string& word : words) {
    Reading reading = read({"--env", word + "=" + std::string(kSecret)});
    if (!reading.result)
      REQUIRE(reading.result.error().what.find(kSecret) == std::string::npos &&
              reading.result.error().hint.find(kSecret) == std::string::npos);
  }
}

Words split_words(std::string_view text) {
  Words words;
  for (std::string_view line : split(text, '\n')) words.emplace_back(line);
  if (words.size() > 512) words.resize(512);
  return words;
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  Words words = split_words(fuzz::as_text(data, size));
  Reading reading = read(words);
  fuzz::require_valid(reading.settings);
  if (reading.result) {
    require_end_of_options(words, reading);
    require_same_with_values_apart(words, reading);
  } else {
    fuzz::require_good(reading.result.error());
  }
  if (words.size() <= 8) require_secret_kept(words);
  return 0;
}
