#include "cli/serve_options.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

Result<ServeOptions> parsed(std::vector<std::string> words) { return parse_serve_options(words); }

TEST(ServeOptions, ClientsChoosePoliciesUnlessSomethingIsSaidAboutThem) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {}, {"--api"}, {"--idle", "1m"}, {"--any-policy"}, {"--mcp", "--any-policy"}})
    EXPECT_TRUE(clients_choose(*parsed(words)));
  for (const auto& words : std::vector<std::vector<std::string>>{{"--mcp"},
                                                                 {"--settings", "/x"},
                                                                 {"--python", "/x"},
                                                                 {"--workspace=/x"},
                                                                 {"--", "--pids", "9"}})
    EXPECT_FALSE(clients_choose(*parsed(words)));
}

TEST(ServeOptions, McpIsOnLoopbackTcpWhereItsClientsLook) {
  Result<ServeOptions> options = parsed({"--mcp"});
  ASSERT_TRUE(options.ok());
  ASSERT_TRUE(options->api);
  EXPECT_EQ(options->api->host, "127.0.0.1");
  EXPECT_EQ(parsed({"--mcp", "--api", "127.0.0.1:4711"})->api->port, 4711);
  EXPECT_FALSE(parsed({})->api);
}

TEST(ServeOptions, BothAtOnceAreAnError) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--any-policy", "--settings", "/x"},
                                             {"--any-policy", "--python", "/x"},
                                             {"--any-policy", "--workspace", "/x"},
                                             {"--any-policy", "--", "--pids", "9"}})
    EXPECT_FALSE(parsed(words).ok());
}

TEST(ServeOptions, ListsKeepTheirOrderAndWordsBehindTheDashesAreNotRead) {
  Result<ServeOptions> options =
      parsed({"--python", "/a", "--workspace=/w", "--python=/b", "--", "--mcp", "--", "--help"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->pythons, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(options->workspaces, std::vector<std::string>{"/w"});
  EXPECT_EQ(options->policy_words, (std::vector<std::string>{"--mcp", "--", "--help"}));
  EXPECT_FALSE(options->mcp || options->help);
}

TEST(ServeOptions, WhatNeedsAValueSaysSo) {
  for (const char* word : {"--settings", "--python", "--workspace", "--settings="})
    EXPECT_FALSE(parsed({word}).ok()) << word;
  EXPECT_FALSE(parsed({"--any-policy=yes"}).ok());
}

}  // namespace
}  // namespace caisson
