// The reference page and the example policies, held against the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "policy/fake_host_files.h"
#include "policy/resolve.h"
#include "policy/schema.h"
#include "policy/toolchains.h"

namespace caisson {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path source_folder() { return CAISSON_SOURCE_DIR; }

// A table's cell: in code quotes, with the bar that would end the cell escaped.
std::string cell(std::string_view text) {
  if (text.empty()) return "";
  std::string escaped;
  for (char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return "`" + escaped + "`";
}

std::string row_of(const SettingSpec& spec) {
  std::string flag(spec.flag);
  if (!spec.flag.empty() && !spec.metavar.empty()) flag += " " + std::string(spec.metavar);
  std::string help(spec.help);
  if (!spec.why.empty()) help += fmt::format(". Default: {}", spec.why);
  return fmt::format("| {} | {} | {} | {} | {} |\n", cell(flag), cell(spec.key),
                     cell(spec.variable), cell(spec.fallback), help);
}

TEST(ReferencePage, HasTheRowOfEverySetting) {
  std::string page = content_of(source_folder() / "docs/policy.md");
  ASSERT_FALSE(page.empty());
  for (const SettingSpec& spec : setting_specs())
    EXPECT_NE(page.find(row_of(spec)), std::string::npos) << "missing:\n" << row_of(spec);
}

TEST(ReferencePage, HasNoRowThatTheTableLacks) {
  std::string page = content_of(source_folder() / "docs/policy.md");
  size_t rows = 0;
  for (size_t at = page.find("\n| `--"); at != std::string::npos; at = page.find("\n| `--", at + 1))
    ++rows;
  EXPECT_EQ(rows, static_cast<size_t>(std::ranges::count_if(
                      setting_specs(), [](auto& spec) { return !spec.flag.empty(); })));
}

TEST(ReferencePage, NamesEveryInstallationAndEveryFieldThatCanBeBestEffort) {
  std::string page = content_of(source_folder() / "docs/policy.md");
  for (const Installation& row : installations())
    EXPECT_NE(page.find(fmt::format("| {} |", row.name)), std::string::npos) << row.name;
  for (std::string_view field : best_effort_fields())
    EXPECT_NE(page.find(fmt::format("`{}`", field)), std::string::npos) << field;
}

TEST(Examples, EachIsAPolicyThatResolves) {
  size_t examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "policies")) {
    if (entry.path().extension() != ".json") continue;
    ++examples;
    Settings settings;
    Result<void> read =
        apply_policy_json(settings, content_of(entry.path()), entry.path().filename().string());
    EXPECT_TRUE(read.ok()) << read.error().what;
    FakeHost host;
    Result<Policy> policy = resolve(settings, host.caller, {{"true"}}, host.files);
    EXPECT_TRUE(policy.ok()) << entry.path() << ": " << policy.error().what;
  }
  EXPECT_GE(examples, 3u);
}

}  // namespace
}  // namespace caisson
