// srt's settings files, which may lie in a repository that nobody has read.
#include <cstddef>
#include <cstdint>
#include <string>

#include "require.h"
#include "srt/mapping.h"

namespace caisson {
namespace {

// A host where nothing is: what the settings alone can do to the mapping.
class EmptyHost final : public HostFiles {
 public:
  std::optional<FileIdentity> look(const std::string&) const override { return std::nullopt; }
  std::optional<FileIdentity> look_exactly(const std::string&) const override {
    return std::nullopt;
  }
  std::optional<std::string> canonical(const std::string&) const override { return std::nullopt; }
  std::optional<std::string> link_target(const std::string&) const override { return std::nullopt; }
  std::optional<std::string> read(const std::string&, size_t) const override {
    return std::nullopt;
  }
  bool make_directory(const std::string&) const override { return false; }
};

bool is_absolute(const std::vector<FilePattern>& list) {
  for (const FilePattern& one : list)
    if (!one.text.starts_with('/')) return false;
  return true;
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  Result<srt::Reading> strict = srt::read_settings(text, "f", srt::Unknown::kError);
  Result<srt::Reading> lenient = srt::read_settings(text, "f", srt::Unknown::kLenient);
  REQUIRE(strict.ok() == lenient.ok());
  if (!strict.ok()) {
    fuzz::require_good(strict.error());
    return 0;
  }
  // What is right is right for the lenient too.
  if (strict->problems.empty()) REQUIRE(lenient->problems.empty());
  if (Result<srt::SrtSettings> all = srt::usable(*strict, "f"); !all)
    fuzz::require_good(all.error());
  if (!lenient->problems.empty()) return 0;
  Caller caller;
  caller.home = "/home/a";
  caller.cwd = "/home/a/p";
  EmptyHost host;
  Result<srt::Mapped> mapped = srt::map_settings({lenient->settings, caller, host});
  if (!mapped.ok()) return 0;
  const FileRules& rules = mapped->settings.file_rules;
  REQUIRE(is_absolute(rules.deny_read) && is_absolute(rules.allow_read));
  REQUIRE(is_absolute(rules.allow_write) && is_absolute(rules.deny_write));
  // The names that always stay are there unless the files have no rules at all.
  REQUIRE(rules.unlimited || rules.deny_write.size() >= 13);
  return 0;
}
