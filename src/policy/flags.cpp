// The command line's options, by the table.
#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "policy/schema.h"
#include "policy/units.h"

namespace caisson {

Result<std::string> FlagCursor::value_for(std::string_view flag) {
  if (inline_value) {
    std::string value = std::move(*inline_value);
    inline_value.reset();
    return value;
  }
  if (at >= args.size() || args[at] == "--")
    return Error::plain(fmt::format("{} needs a value", flag),
                        fmt::format("{} VALUE or {}=VALUE", flag, flag));
  return args[at++];
}

static const SettingSpec* find_flag(std::string_view flag) {
  for (const SettingSpec& spec : setting_specs())
    if (!spec.flag.empty() && spec.flag == flag) return &spec;
  return nullptr;
}

static Error unknown_flag(std::string_view flag, std::span<const std::string_view> other_names) {
  std::vector<std::string_view> names(other_names.begin(), other_names.end());
  for (const SettingSpec& spec : setting_specs())
    if (!spec.flag.empty()) names.push_back(spec.flag);
  std::string_view near = nearest(flag, names);
  return Error::plain(fmt::format("unknown option {}", in_quotes(flag)),
                      near.empty() ? "`caisson exec --help` lists the options"
                                   : fmt::format("did you mean {}?", near));
}

// "true" unless the word says otherwise: --read-only=false takes back what a file said.
static Result<bool> switch_value(std::string_view flag, FlagCursor& cursor) {
  if (!cursor.inline_value) return true;
  Result<bool> value = parse_bool(TRY(cursor.value_for(flag)));
  if (value) return value;
  return Error::plain(fmt::format("{}: {}", flag, value.error().what), value.error().hint);
}

static Result<void> apply_flag(Settings& settings, const SettingSpec& spec, FlagCursor& cursor) {
  Origin origin(spec.flag);
  if (spec.arity == Arity::kSwitch)
    return apply_setting(spec, settings, TRY(switch_value(origin, cursor)) ? "true" : "false",
                         origin);
  if (spec.arity == Arity::kGrant)
    return apply_setting(spec, settings, TRY(switch_value(origin, cursor)) ? spec.flag : "",
                         origin);
  return apply_setting(spec, settings, TRY(cursor.value_for(origin)), origin);
}

// One option: "--flag", "--flag=value" or "-v", cursor behind it.
static Result<void> apply_word(Settings& settings, std::string_view word, FlagCursor& cursor,
                               OtherFlag other, void* context,
                               std::span<const std::string_view> other_names) {
  std::string_view flag = word;
  cursor.inline_value.reset();
  size_t equals = word.find('=');
  if (word.starts_with("--") && equals != std::string_view::npos) {
    flag = word.substr(0, equals);
    cursor.inline_value = std::string(word.substr(equals + 1));
  }
  if (!other || !TRY(other(context, flag, cursor))) {
    const SettingSpec* spec = find_flag(flag);
    if (!spec) return unknown_flag(flag, other_names);
    TRY(apply_flag(settings, *spec, cursor));
  }
  if (cursor.inline_value) return Error::plain(fmt::format("{} takes no value", flag));
  return {};
}

Result<void> apply_flags(Settings& settings, FlagCursor& cursor, OtherFlag other, void* context,
                         std::span<const std::string_view> other_names) {
  while (cursor.at < cursor.args.size()) {
    std::string_view word = cursor.args[cursor.at];
    if (word.size() < 2 || word[0] != '-') return {};
    ++cursor.at;
    if (word == "--") return {};
    TRY(apply_word(settings, word, cursor, other, context, other_names));
  }
  return {};
}

}  // namespace caisson
