#include "setup/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "setup/claude_cli.h"
#include "setup/rules.h"

namespace caisson::setup {
namespace {

const Surroundings kAround{.home = "/h",
                           .config_home = "/h/.config",
                           .state_home = "/h/.local/state",
                           .project = "/p/sub",
                           .repository = "/p",
                           .main_repository = "/main",
                           .variables = {}};
const Server kServer{"/bin/caisson", true};

Target first(const char* client, Scope scope, const Surroundings& around = kAround) {
  return targets(*find_client(client), scope, around).at(0);
}

TEST(SetupPlan, EachClientsFilesAreWhereItReadsThem) {
  EXPECT_EQ(first("claude-code", Scope::kUser).path, "/h/.claude.json");
  EXPECT_EQ(first("claude-code", Scope::kProject).path, "/p/sub/.mcp.json");
  EXPECT_EQ(first("claude-desktop", Scope::kUser).path,
            "/h/.config/Claude/claude_desktop_config.json");
  EXPECT_EQ(first("cursor", Scope::kUser).path, "/h/.cursor/mcp.json");
  EXPECT_EQ(first("vscode", Scope::kProject).path, "/p/sub/.vscode/mcp.json");
  EXPECT_EQ(first("vscode", Scope::kUser).container, std::vector<std::string>{"servers"});
  EXPECT_EQ(first("codex", Scope::kUser).path, "/h/.codex/config.toml");
  EXPECT_EQ(first("zed", Scope::kUser).container, std::vector<std::string>{"context_servers"});
  EXPECT_EQ(first("gemini", Scope::kUser).path, "/h/.gemini/settings.json");
}

TEST(SetupPlan, VariablesOfTheClientsMoveTheirFiles) {
  Surroundings around = kAround;
  around.variables = {{"CLAUDE_CONFIG_DIR", "/c"}, {"CODEX_HOME", "/x"}};
  EXPECT_EQ(first("claude-code", Scope::kUser, around).path, "/c/.claude.json");
  EXPECT_EQ(targets(*find_client("claude-code"), Scope::kUser, around).at(1).path,
            "/c/rules/caisson.md");
  EXPECT_EQ(first("codex", Scope::kUser, around).path, "/x/config.toml");
  around.variables = {{"CODEX_HOME", "relative"}};
  EXPECT_EQ(first("codex", Scope::kUser, around).path, "/h/.codex/config.toml");
}

TEST(SetupPlan, LocalIsKeyedByTheMainRepository) {
  EXPECT_EQ(first("claude-code", Scope::kLocal).container,
            (std::vector<std::string>{"projects", "/main", "mcpServers"}));
  auto all = targets(*find_client("claude-code"), Scope::kLocal, kAround);
  EXPECT_EQ(all.at(1).path, "/p/CLAUDE.local.md");
  EXPECT_EQ(all.at(1).within, "/p");
}

TEST(SetupPlan, ASecondInstallChangesNothing) {
  for (const Client& client : clients())
    for (const Place& place : client.places)
      for (const Target& target : targets(client, place.scope, kAround)) {
        Edit once = *plan_install(target, std::nullopt, kServer);
        EXPECT_EQ(once.change(), Change::kCreate);
        EXPECT_EQ(plan_install(target, once.after, kServer)->change(), Change::kNone);
      }
}

TEST(SetupPlan, UninstallWithItsReceiptIsExact) {
  for (const Client& client : clients())
    for (const Place& place : client.places)
      for (const Target& target : targets(client, place.scope, kAround)) {
        Edit once = *plan_install(target, std::nullopt, kServer);
        Edit undone = *plan_uninstall(target, once.after, kServer, make_receipt(once, {}));
        EXPECT_EQ(undone.after, std::nullopt) << target.path;
      }
}

TEST(SetupPlan, UninstallAfterOthersWroteKeepsWhatTheyWrote) {
  Target target = first("claude-code", Scope::kUser);
  Edit once = *plan_install(target, "{\"a\": 1}", kServer);
  std::string later = *once.after;
  later.insert(1, "\"b\": 2, ");
  Edit undone = *plan_uninstall(target, later, kServer, make_receipt(once, {}));
  EXPECT_EQ(undone.after, "{\"b\": 2, \"a\": 1}");
}

TEST(SetupPlan, UninstallWithoutAReceiptTakesTheEntryOnly) {
  Target target = first("claude-code", Scope::kProject);
  Edit once = *plan_install(target, std::nullopt, kServer);
  EXPECT_EQ(plan_uninstall(target, once.after, kServer, {})->after, "{\n  \"mcpServers\": {}\n}\n");
}

TEST(SetupPlan, SomebodyElsesEntryOfThatNameStays) {
  Target target = first("claude-code", Scope::kUser);
  std::string text = R"({"mcpServers": {"rlm": {"command": "python", "args": ["server.py"]}}})";
  auto install = plan_install(target, text, kServer);
  ASSERT_FALSE(install.ok());
  EXPECT_EQ(install.error().what,
            "/h/.claude.json: an entry \"rlm\" is there that is not caisson's");
  Edit removal = *plan_uninstall(target, text, kServer, {});
  EXPECT_EQ(removal.change(), Change::kNone);
  EXPECT_FALSE(removal.note.empty());
}

TEST(SetupPlan, AProgramThatMovedIsFollowedAndAdditionsStay) {
  auto with = [](std::string_view command) {
    return fmt::format(
        R"({{"mcpServers": {{"rlm": {{"command": "{}", "args": ["mcp", "-v"], "t": 9}}}}}})",
        command);
  };
  Edit edit = *plan_install(first("claude-code", Scope::kUser), with("/old/caisson"), kServer);
  EXPECT_EQ(*edit.after, with("/bin/caisson"));
}

TEST(SetupPlan, TheFirstOriginalOutlivesASecondEdit) {
  Target target = first("gemini", Scope::kUser);
  Edit once = *plan_install(target, "{ }", Server{"/a/caisson"});
  Receipt receipt = make_receipt(once, {});
  Edit twice = *plan_install(target, once.after, Server{"/b/caisson"});
  receipt = make_receipt(twice, receipt);
  EXPECT_EQ(plan_uninstall(target, twice.after, Server{"/b/caisson"}, receipt)->after, "{ }");
}

TEST(SetupPlan, ReceiptsSurviveTheDisk) {
  Receipt receipt{
      .path = "/a\"b", .container = {"x", "y"}, .existed = true, .made = true, .exact = true};
  receipt.levels = 2, receipt.after = "ff", receipt.folders = {"/a"};
  Receipt read = *parse_receipt(to_json(receipt));
  EXPECT_EQ(to_json(read), to_json(receipt));
  for (const char* text : {"", "{}", "[]", "{\"path\":1}"}) EXPECT_FALSE(parse_receipt(text).ok());
}

TEST(SetupPlan, TheDiffShowsWhatChangesAndNoNeighboursSecret) {
  std::string text =
      "{\n  \"mcpServers\": {\n    \"a\": {\"env\": {\"TOKEN\": \"hush\"}},\n    \"b\": {}\n  "
      "}\n}\n";
  std::string diff = diff_text(*plan_install(first("cursor", Scope::kUser), text, kServer));
  EXPECT_NE(diff.find("+    \"rlm\": {\n"), std::string::npos) << diff;
  EXPECT_EQ(diff.find("hush"), std::string::npos) << diff;
  std::string line = "{\"k\": \"" + std::string(300, 'x') + "hush\", \"mcpServers\": {\"a\": {}}}";
  diff = diff_text(*plan_install(first("cursor", Scope::kUser), line, kServer));
  EXPECT_NE(diff.find("\"rlm\""), std::string::npos) << diff;
  EXPECT_EQ(diff.find("hush"), std::string::npos) << diff;
}

TEST(SetupRules, TheyAreAddedRenewedAndTakenOut) {
  std::string text = "# Mine\n\nBe brief.\n";
  std::string with = *with_rules(text);
  EXPECT_TRUE(with.starts_with(text));
  EXPECT_TRUE(has_rules(with));
  EXPECT_EQ(*with_rules(with), with);
  EXPECT_EQ(*without_rules(with), text);
  std::string older = with;
  older.replace(older.find("200"), 3, "150");
  EXPECT_EQ(*with_rules(older + "\nMore.\n"), with + "\nMore.\n");
  EXPECT_LT(routing_rules().size(), 2048u);
}

TEST(SetupRules, DamagedMarksAreLeftAlone) {
  EXPECT_FALSE(with_rules("<!-- caisson:begin -->\nx").ok());
  EXPECT_FALSE(without_rules("<!-- caisson:end -->\n").ok());
}

TEST(SetupClaude, RelativeFoldersOfThePathAreNotSearched) {
  EXPECT_EQ(find_program(":.:/usr/bin:/bin", "env"), "/usr/bin/env");
  EXPECT_EQ(find_program(".:bin", "env"), std::nullopt);
}

TEST(SetupClaude, AProgramsLastLineIsTheReason) {
  char* none[] = {nullptr};
  EXPECT_TRUE(run_quietly({"/bin/true"}, none).ok());
  EXPECT_EQ(run_quietly({"/bin/sh", "-c", "echo a; echo b >&2; exit 3"}, none).error().what,
            "/bin/sh says: b");
  EXPECT_FALSE(run_quietly({"/nonexistent"}, none).ok());
}

}  // namespace
}  // namespace caisson::setup
