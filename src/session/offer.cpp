#include "session/offer.h"

#include <errno.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/sha256.h"
#include "base/text.h"
#include "session/cell_words.h"

namespace caisson::session {

namespace {

constexpr uint64_t kMostOfferMemory = uint64_t{1} << 46;
constexpr uint32_t kMostCpuMillis = 1'000'000, kMostPids = 1'000'000;
constexpr size_t kMostModules = 256;

Error not_offered(std::string_view what, std::string_view value, std::string_view how) {
  return {fmt::format("{} {} is not what this server offers", what, printable(value)),
          std::string(how), EACCES};
}

bool is_among(const std::vector<std::string>& list, const std::string& one) {
  return std::ranges::find(list, one) != list.end();
}

bool is_alike(const SessionSpec& one, const SessionSpec& other) {
  return one.python == other.python && one.workspace == other.workspace &&
         one.policy_words == other.policy_words && one.preload == other.preload &&
         one.memory_bytes == other.memory_bytes && one.cpu_millis == other.cpu_millis &&
         one.pids == other.pids && one.ipython == other.ipython;
}

// What holds for every session, whoever chose it: these become words of a command.
Result<void> judge_shape(const SessionSpec& spec) {
  TRY(check_spec(spec));
  if (spec.memory_bytes > kMostOfferMemory || spec.cpu_millis > kMostCpuMillis ||
      spec.pids > kMostPids || spec.preload.size() > kMostModules)
    return Error{"a session with limits out of all bounds", {}, EINVAL};
  std::vector<std::string> texts = spec.policy_words;
  texts.insert(texts.end(), {spec.python, spec.workspace});
  for (const std::string& text : texts)
    if (text.find('\0') != text.npos) return Error{"a session with a NUL in a text", {}, EINVAL};
  return {};
}

Result<void> judge_within(const SessionOffer& offer, const SessionSpec& spec) {
  if (spec.policy_words != offer.base.policy_words)
    return not_offered("the policy", join(spec.policy_words, " "),
                       "its sessions have the policy that it was started with; --any-policy "
                       "lets clients choose");
  if (spec.python != offer.base.python && !is_among(offer.pythons, spec.python))
    return not_offered("the interpreter", spec.python,
                       "start it with --python PATH for each that sessions may have");
  bool usual = spec.workspace.empty() || spec.workspace == offer.base.workspace;
  if (!usual && !is_among(offer.workspaces, spec.workspace))
    return not_offered("the workspace", spec.workspace,
                       "start it with --workspace DIR for each that sessions may have");
  return {};
}

}  // namespace

std::string name_of(const SessionOffer& offer) {
  if (offer.choice == Choice::kAnything || !control_enabled("serve-state-of-offer"))
    return std::string(kNameOfAnything);
  // Parts are told apart by their lengths: none runs over into the next.
  std::string text;
  auto add = [&](std::string_view part) { text += fmt::format("{}:{}|", part.size(), part); };
  auto add_all = [&](const std::vector<std::string>& list) {
    add(fmt::to_string(list.size()));
    for (const std::string& one : list) add(one);
  };
  const SessionSpec& base = offer.base;
  add(offer.choice == Choice::kWithin ? "within" : "nothing");
  add(base.python);
  add(base.workspace);
  for (uint64_t number :
       {base.memory_bytes, uint64_t{base.cpu_millis}, uint64_t{base.pids}, uint64_t{base.ipython}})
    add(fmt::to_string(number));
  for (const auto* list : {&base.policy_words, &base.preload, &offer.pythons, &offer.workspaces})
    add_all(*list);
  return sha256_hex(text).substr(0, 16);
}

Result<SessionSpec> settle_spec(const SessionOffer& offer, SessionSpec wishes) {
  if (offer.choice == Choice::kAnything) return wishes;
  if (wishes.python.empty()) wishes.python = offer.base.python;
  if (wishes.policy_words.empty()) wishes.policy_words = offer.base.policy_words;
  TRY(judge_within(offer, wishes));
  return wishes;
}

Result<void> judge_spec(const SessionOffer& offer, const SessionSpec& spec) {
  TRY(judge_shape(spec));
  if (!control_enabled("session-offer")) return {};
  switch (offer.choice) {
    case Choice::kNothing:
      if (is_alike(spec, offer.base)) return {};
      return Error{"a session with a policy that its launcher doesn't know", {}, EACCES};
    case Choice::kWithin:
      return judge_within(offer, spec);
    case Choice::kAnything:
      // Behind it would stand a command of the asker's own.
      if (!is_among(spec.policy_words, "--")) return {};
      return Error{"a policy of options only: there is a \"--\"", {}, EINVAL};
  }
  return Error::plain("an offer of no kind");
}

}  // namespace caisson::session
