#include "cli/doctor_report.h"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/text.h"

namespace caisson {

namespace {

namespace json = boost::json;

constexpr int kNameWidth = 22;

struct Mark {
  const char *text, *colour;
};
Mark mark_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return {"ok", "\x1b[32m"};
    case CheckStatus::kInfo:
      return {"info", "\x1b[2m"};
    case CheckStatus::kWarn:
      return {"warn", "\x1b[33m"};
    case CheckStatus::kFail:
      break;
  }
  return {"FAIL", "\x1b[1;31m"};
}

std::string check_text(const Check& check, Colour colour) {
  Mark mark = mark_of(check.status);
  std::string word = fmt::format("{:<6}", mark.text);
  if (colour == Colour::kAlways) word = mark.colour + word + "\x1b[0m";
  std::string text =
      fmt::format("{}{:<{}} {}\n", word, check.name, kNameWidth, printable(check.found));
  if (!check.why.empty())
    text += fmt::format("{:<{}} {}\n", "", kNameWidth + 6, printable(check.why));
  return text;
}

std::vector<std::string> failed_names(const Checks& checks) {
  std::vector<std::string> names;
  for (const Check& check : checks)
    if (check.status == CheckStatus::kFail || !check.in_full) names.push_back(check.name);
  return names;
}

std::string landlock_text(const DoctorReport& report) {
  if (!report.landlock_lacks) return "tier landlock is not to be had here\n";
  std::string text = "tier landlock here: what it can't do\n";
  for (const std::string& line : *report.landlock_lacks)
    text += fmt::format("  {}\n", printable(line));
  return text;
}

// At the left margin, so that it can be pasted: the end of a here-document must stand there. Checks
// with the same way out share it.
std::string fixes_text(const Checks& checks) {
  std::string text;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].fix.empty()) continue;
    std::vector<std::string> names;
    bool told = false;
    for (size_t j = 0; j < checks.size(); ++j) {
      if (checks[j].fix != checks[i].fix) continue;
      told |= j < i;
      names.push_back(checks[j].name);
    }
    if (told) continue;
    text += fmt::format("\n## {}\n", join(names, ", "));
    for (const std::string& line : checks[i].fix) text += printable(line) + "\n";
  }
  return text.empty() ? text : "\nhow to fix it\n" + text;
}

json::array strings(const std::vector<std::string>& from) {
  json::array out;
  for (const std::string& one : from) out.push_back(json::string(one));
  return out;
}

}  // namespace

std::string report_text(const DoctorReport& report, Colour colour) {
  std::string text;
  for (const Check& check : report.checks) text += check_text(check, colour);
  text += report.ok() ? "\nthe default policy can be enforced in full\n"
                      : fmt::format("\nthe default policy cannot be enforced in full: {}\n",
                                    join(failed_names(report.checks), ", "));
  return text + "\n" + landlock_text(report) + fixes_text(report.checks);
}

std::string report_json(const DoctorReport& report) {
  json::array checks;
  for (const Check& check : report.checks)
    checks.push_back(json::object{{"name", check.name},
                                  {"status", check_status_name(check.status)},
                                  {"found", check.found},
                                  {"why", check.why},
                                  {"fix", strings(check.fix)}});
  json::object process{{"ok", report.ok()}, {"missing", strings(failed_names(report.checks))}};
  json::object landlock{
      {"ok", report.landlock_lacks.has_value()},
      {"cannot", strings(report.landlock_lacks.value_or(std::vector<std::string>{}))}};
  json::object out{
      {"ok", report.ok()},
      {"checks", std::move(checks)},
      {"tiers", json::object{{"process", std::move(process)}, {"landlock", std::move(landlock)}}}};
  return json::serialize(out) + "\n";
}

}  // namespace caisson
