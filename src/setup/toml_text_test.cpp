#include "setup/toml_text.h"

#include <gtest/gtest.h>

namespace caisson::setup {
namespace {

std::string add_toml(const std::string& text) {
  auto added = add_toml_server(text, "mcp_servers", "rlm", "/bin/caisson");
  return added ? *added : "error: " + added.error().what;
}

std::string remove_toml(const std::string& text) {
  auto removed = remove_toml_server(text, "mcp_servers", "rlm");
  return removed ? *removed : "error: " + removed.error().what;
}

constexpr const char* kTable = "[mcp_servers.rlm]\ncommand = \"/bin/caisson\"\nargs = [\"mcp\"]\n";

constexpr const char* kConfig =
    "# mine\nmodel = \"o\"\nnotify = [ # list\n  \"a]\", 'b[',\n]\ntext = "
    "\"\"\"\n[mcp_servers.rlm]\n"
    "\"\"\"\n[profiles.\"a.b\"]\nx = { y = 1, z = [1, 2] } # [no]\n";

TEST(TomlText, TheTableIsPutAtTheEndAndTakenOutAgain) {
  EXPECT_EQ(add_toml(""), kTable);
  EXPECT_EQ(add_toml("a = 1\n"), std::string("a = 1\n\n") + kTable);
  EXPECT_EQ(add_toml(kConfig), std::string(kConfig) + "\n" + kTable);
  for (const char* text : {"", "a = 1\n", kConfig, "a = 1\r\n[b]\r\n"})
    EXPECT_EQ(remove_toml(add_toml(text)), text);
}

TEST(TomlText, StatementsAreFoundWhereTheyAre) {
  auto found = toml_statements(kConfig);
  ASSERT_TRUE(found.ok()) << found.error().what;
  ASSERT_EQ(found->size(), 5u);
  EXPECT_EQ((*found)[3].path, (std::vector<std::string>{"profiles", "a.b"}));
  EXPECT_EQ((*found)[4].path, (std::vector<std::string>{"profiles", "a.b", "x"}));
}

TEST(TomlText, ATableInsideAStringIsNoTable) {
  auto found = find_toml_server(kConfig, "mcp_servers", "rlm");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  EXPECT_EQ(remove_toml(kConfig), kConfig);
}

TEST(TomlText, TheServerIsReadHoweverItsNameIsQuoted) {
  auto found = find_toml_server(
      "[ mcp_servers . \"rlm\" ]\nargs = [ 'mcp' ,\n]\ncommand='/a/caisson'", "mcp_servers", "rlm");
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->command, "/a/caisson");
  EXPECT_EQ((*found)->args, "['mcp',]");
}

TEST(TomlText, SubtablesGoWithTheServerAndTheNextTablesCommentStays) {
  EXPECT_EQ(
      remove_toml("[mcp_servers.rlm]\ncommand = \"c\"\n[mcp_servers.rlm.env]\nA = \"b\"\n\n# next\n"
                  "[mcp_servers.other]\ncommand = \"d\"\n"),
      "\n# next\n[mcp_servers.other]\ncommand = \"d\"\n");
}

TEST(TomlText, OtherWaysToWriteAServerAreRefused) {
  for (const char* text : {"mcp_servers = {}\n", "[mcp_servers]\nrlm = { command = \"x\" }\n",
                           "mcp_servers.rlm.command = \"x\"\n", "[[mcp_servers]]\n"})
    EXPECT_FALSE(find_toml_server(text, "mcp_servers", "rlm").ok()) << text;
}

TEST(TomlText, WhatIsNotTomlIsAnErrorWithItsLine) {
  for (const char* text : {"a = 1\nb\n", "[a\n", "a = \"b\n", "a = [1, 2\n",
                           "a = 1 [b]\nc = = 1 }\n=", "a = '''x", "a =\n", "\"a = 1\n"})
    EXPECT_FALSE(toml_statements(text).ok()) << text;
  EXPECT_EQ(toml_statements("a = 1\nb\n").error().what,
            "not valid TOML: a key without a value in line 2");
}

TEST(TomlText, TheProgramIsMovedInPlace) {
  std::string text = "[mcp_servers.rlm]\ncommand = '/old/caisson' # mine\nargs = [\"mcp\"]\n";
  auto found = find_toml_server(text, "mcp_servers", "rlm");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*move_toml_server(text, **found, "/new"),
            "[mcp_servers.rlm]\ncommand = \"/new\" # mine\nargs = [\"mcp\"]\n");
}

}  // namespace
}  // namespace caisson::setup
