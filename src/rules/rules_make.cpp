// From texts to tables.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "rules/rules.h"

namespace caisson {
namespace {

Result<void> check_sizes(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxRules)
    return Error::plain(fmt::format("{} rules are too many", texts.size()),
                        fmt::format("{} of each kind at most", kMaxRules));
  for (const std::string& text : texts)
    if (text.size() > kMaxRuleText)
      return Error::plain(fmt::format("the rule {} is too long", quoted(text)),
                          fmt::format("{} bytes at most", kMaxRuleText));
  return {};
}

}  // namespace

Result<void> Rules::add_hosts(const std::vector<std::string>& texts, PatternUse use) {
  TRY(check_sizes(texts));
  HostTable<PortTable>& table = use == PatternUse::kAllow ? allow_ : deny_;
  for (const std::string& text : texts) {
    HostPattern pattern = TRY(parse_host_pattern(text, use));
    table.at(pattern).add(pattern.port, text);
  }
  return {};
}

Result<void> Rules::add_requests(const std::vector<std::string>& texts) {
  TRY(check_sizes(texts));
  for (const std::string& text : texts) {
    RequestRule rule = TRY(parse_request_rule(text));
    RequestTable& table = requests_.at(rule.host);
    table.add(std::move(rule), printable(trim(text)));
  }
  return {};
}

Result<void> Rules::add_ranges(const std::vector<std::string>& texts) {
  TRY(check_sizes(texts));
  for (const std::string& text : texts) ranges_.add(TRY(parse_cidr(text)), text);
  return {};
}

Result<void> Rules::add_reasons(const RuleTexts& texts) {
  for (const auto& [rule, reason] : texts.deny_reasons) {
    if (std::ranges::find(texts.deny, rule) == texts.deny.end())
      return Error::plain(fmt::format("a reason for {}, which is not denied", quoted(rule)),
                          "the text of a deny rule, exactly as it stands there");
    if (reason.size() > kMaxReason)
      return Error::plain(fmt::format("the reason for {} is too long", quoted(rule)),
                          fmt::format("{} bytes at most", kMaxReason));
    // It goes into a status line and a log.
    if (!reason.empty()) reasons_.insert_or_assign(rule, printable(reason));
  }
  return {};
}

Result<Rules> Rules::make(const RuleTexts& texts) {
  Rules rules;
  TRY(rules.add_hosts(texts.allow, PatternUse::kAllow));
  TRY(rules.add_hosts(texts.deny, PatternUse::kDeny));
  TRY(rules.add_requests(texts.requests));
  TRY(rules.add_ranges(texts.denied_addresses));
  TRY(rules.add_reasons(texts));
  return rules;
}

}  // namespace caisson
