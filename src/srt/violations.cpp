#include "srt/violations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace caisson::srt {

// The gateway's advice is in the words of `caisson exec`.
static std::string in_own_words(const std::string& hint) {
  constexpr std::string_view kFlag = "--allow-domain ", kSockets = "the allowed sockets";
  if (hint.ends_with(kSockets))
    return hint.substr(0, hint.size() - kSockets.size()) + "network.allowUnixSockets";
  if (!hint.starts_with(kFlag)) return hint;
  return fmt::format("add \"{}\" to network.allowedDomains", hint.substr(kFlag.size()));
}

std::string violation_line(const Violation& violation) {
  std::string line = fmt::format("deny {} ({})", violation.resource, violation.rule);
  if (!violation.hint.empty()) line += "; hint: " + in_own_words(violation.hint);
  return printable(line);
}

bool is_reported(const std::string& line, const std::string& command,
                 const std::vector<Ignored>& ignored) {
  return std::ranges::none_of(ignored, [&](const Ignored& one) {
    bool speaks = one.command == "*" || command.find(one.command) != std::string::npos;
    return speaks && std::ranges::any_of(one.lines, [&](const std::string& part) {
             return line.find(part) != std::string::npos;
           });
  });
}

std::string violations_block(const std::vector<std::string>& lines, uint64_t left_out) {
  if (lines.empty()) return {};
  std::string text = "\n<sandbox_violations>\n";
  for (const std::string& line : lines) text += line + "\n";
  if (left_out) text += fmt::format("and {} more\n", left_out);
  return text + "</sandbox_violations>\n";
}

}  // namespace caisson::srt
