#include "rules/secret_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "rules/host_pattern.h"

namespace caisson {
namespace {

constexpr std::string_view kForm = "NAME=env:VARIABLE@host[,host…] or NAME=file:PATH@host[,host…]";
constexpr size_t kMaxSpec = 16 * 1024;
constexpr size_t kMaxFrom = 4096;  // PATH_MAX

// Only the name is told: who puts the credential itself where env: belongs must not find it in a
// log.
Error bad(std::string_view text, std::string_view why) {
  constexpr size_t kShown = kMaxSecretName;
  size_t equals = text.find('=');
  std::string name = equals <= kShown ? " '" + printable(text.substr(0, equals)) + "'" : "";
  return Error::plain(fmt::format("secret{}: {}", name, why), std::string(kForm));
}

bool is_variable_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, inner);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// "env:VARIABLE" or "file:PATH".
Result<void> read_source(std::string_view text, std::string_view part, SecretSpec& spec) {
  size_t colon = part.find(':');
  std::string_view kind = part.substr(0, colon);
  if (colon == std::string_view::npos || (kind != "env" && kind != "file"))
    return bad(text, "its value comes from env: or file:");
  spec.source = kind == "env" ? SecretSource::kEnvironment : SecretSource::kFile;
  spec.from = part.substr(colon + 1);
  if (spec.from.empty() || spec.from.size() > kMaxFrom)
    return bad(text, "nothing, or too much, is named behind env: or file:");
  if (spec.source == SecretSource::kEnvironment && !is_variable_name(spec.from))
    return bad(text, "that is not the name of a variable");
  if (std::ranges::any_of(spec.from, is_control)) return bad(text, "control bytes in the path");
  return {};
}

Result<void> read_option(std::string_view text, std::string_view word, SecretSpec& spec) {
  bool* option = word == "body" ? &spec.in_body : word == "url" ? &spec.in_url : nullptr;
  if (!option) return bad(text, "behind ';' stands body or url");
  if (*option) return bad(text, fmt::format(";{} is said twice", word));
  *option = true;
  return {};
}

Result<void> read_hosts(std::string_view text, std::string_view part, SecretSpec& spec) {
  for (std::string_view host : split(part, ',')) {
    if (host.empty()) return bad(text, "an empty host");
    if (spec.hosts.size() == kMaxSecretHosts)
      return bad(text, fmt::format("more than {} hosts", kMaxSecretHosts));
    TRY(parse_host_pattern(host, PatternUse::kAllow));
    spec.hosts.emplace_back(host);
  }
  return {};
}

}  // namespace

Result<SecretSpec> parse_secret(std::string_view text) {
  if (text.size() > kMaxSpec) return bad(text, "longer than 16 KiB");
  size_t equals = text.find('=');
  size_t at = text.rfind('@');
  if (equals == std::string_view::npos) return bad(text, "no '=' behind its name");
  if (at == std::string_view::npos || at < equals) return bad(text, "no '@' before its hosts");

  SecretSpec spec{.name = std::string(text.substr(0, equals))};
  if (!is_variable_name(spec.name) || spec.name.size() > kMaxSecretName)
    return bad(text, fmt::format("its name is letters, digits and '_', at most {}, no digit first",
                                 kMaxSecretName));
  TRY(read_source(text, text.substr(equals + 1, at - equals - 1), spec));
  std::vector<std::string_view> parts = split(text.substr(at + 1), ';');
  TRY(read_hosts(text, parts[0], spec));
  for (size_t i = 1; i < parts.size(); ++i) TRY(read_option(text, parts[i], spec));
  return spec;
}

Result<std::string> check_secret_value(const SecretSpec& spec, std::string value) {
  auto refuse = [&spec](std::string_view why, std::string_view hint) {
    std::string_view kind = spec.source == SecretSource::kFile ? "file" : "env";
    return Error::plain(
        fmt::format("secret {}: {}:{} {}", spec.name, kind, printable(spec.from), why),
        std::string(hint));
  };
  if (spec.source == SecretSource::kFile && value.ends_with('\n')) {
    value.pop_back();
    if (value.ends_with('\r')) value.pop_back();
  }
  if (value.empty()) return refuse("is empty", "set it, or leave the secret out");
  if (value.size() > kMaxSecretValue) return refuse("has more than 64 KiB", "no header takes that");
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; }))
    return refuse("has control bytes or several lines", "a secret is one line, as it is sent");
  if (value.size() < kMinSecretValue)
    return refuse(fmt::format("has fewer than {} bytes", kMinSecretValue),
                  "so short a text can't be masked in answers without wrecking them; use a longer "
                  "credential");
  return value;
}

}  // namespace caisson
