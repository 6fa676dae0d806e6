// The words behind `caisson session` and `caisson serve`.
#include "cli/session_options.h"

#include <gtest/gtest.h>

#include "cli/serve_options.h"

namespace caisson {
namespace {

Result<SessionOptions> parse_session(std::vector<std::string> words) {
  return parse_session_options(words);
}
Result<ServeOptions> parse_serve(std::vector<std::string> words) {
  return parse_serve_options(words);
}

TEST(SessionOptions, AreReadInAnyOrder) {
  Result<SessionOptions> options =
      parse_session({"exec", "--timeout=2s", "name", "-c", "print(1)", "--json"});
  ASSERT_TRUE(options.ok()) << options.error().what;
  EXPECT_EQ(options->verb, "exec");
  EXPECT_EQ(options->words, std::vector<std::string>{"name"});
  EXPECT_EQ(options->code, "print(1)");
  EXPECT_EQ(options->timeout, std::chrono::seconds(2));
  EXPECT_TRUE(options->json);
}

TEST(SessionOptions, CodeMayBeginWithADash) {
  EXPECT_EQ(parse_session({"exec", "name", "-c", "-1"})->code, "-1");
  EXPECT_EQ(parse_session({"exec", "name", "-"})->words.back(), "-");  // stdin
}

TEST(SessionOptions, WhatIsBehindTwoDashesIsThePolicys) {
  Result<SessionOptions> options =
      parse_session({"new", "name", "--memory", "1G", "--", "--allow-domain", "example.org"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->memory, uint64_t{1} << 30);
  EXPECT_EQ(options->policy, (std::vector<std::string>{"--allow-domain", "example.org"}));
}

TEST(SessionOptions, TheTwoSnapshotsAreVerbsOfTheirOwn) {
  EXPECT_EQ(parse_session({"snapshot", "save", "name", "file"})->verb, "snapshot save");
  EXPECT_FALSE(parse_session({"snapshot", "name", "file"}).ok());
  EXPECT_FALSE(parse_session({"snapshot"}).ok());
}

TEST(SessionOptions, MistakesAreToldWithAWayOut) {
  for (std::vector<std::string> words : {std::vector<std::string>{},
                                         {"exec"},
                                         {"exec", "a", "b", "c"},
                                         {"exec", "a", "file.py", "-c", "1"},
                                         {"get", "a", "x", "-e", "1"},
                                         {"set", "a", "x", "file", "--text", "1"},
                                         {"list", "x"},
                                         {"nwe"},
                                         {"new", "--memry", "1G"},
                                         {"new", "--memory"},
                                         {"new", "--memory", "much"},
                                         {"new", "--pids", "0"},
                                         {"exec", "a", "--timeout", "soon"}}) {
    Result<SessionOptions> options = parse_session(words);
    ASSERT_FALSE(options.ok());
    EXPECT_FALSE(options.error().what.empty());
  }
  EXPECT_NE(parse_session({"nwe"}).error().hint.find("new"), std::string::npos);
}

TEST(ServeOptions, TheAddressIsOptional) {
  EXPECT_FALSE(parse_serve({})->api);
  EXPECT_EQ(parse_serve({"--api"})->api->port, 0);
  EXPECT_EQ(parse_serve({"--api", "127.0.0.1:81"})->api->port, 81);
  EXPECT_EQ(parse_serve({"--api=82"})->api->port, 82);
  EXPECT_TRUE(parse_serve({"--api", "--idle", "1m"})->idle);
  EXPECT_EQ(parse_serve({"--compat-open"})->open->port, 8080);
  EXPECT_EQ(parse_serve({"--compat-open=1"})->open->port, 1);
}

TEST(ServeOptions, OnlyLoopbackAndKnownWords) {
  for (std::vector<std::string> words : {std::vector<std::string>{"--api", "0.0.0.0:1"},
                                         {"--compat-open=[::]:1"},
                                         {"x"},
                                         {"--apo"},
                                         {"--socket"},
                                         {"--socket="},
                                         {"--idle", "x"},
                                         {"--token-file", "/x"},
                                         {"--ready-fd", "1"}})
    EXPECT_FALSE(parse_serve(words).ok()) << words[0];
}

TEST(ServePlaces, FollowTheCallersEnvironment) {
  Caller caller;
  caller.home = "/home/me";
  EXPECT_EQ(serve_state_folder(caller), "/home/me/.local/state/caisson/serve");
  EXPECT_EQ(serve_socket_path(caller), "/home/me/.local/state/caisson/serve/serve.sock");
  caller.environment["XDG_STATE_HOME"] = "/state";
  caller.environment["XDG_RUNTIME_DIR"] = "/run/me";
  EXPECT_EQ(serve_state_folder(caller), "/state/caisson/serve");
  EXPECT_EQ(serve_socket_path(caller), "/run/me/caisson/serve.sock");
  caller.environment["XDG_RUNTIME_DIR"] = "relative";
  EXPECT_EQ(serve_socket_path(caller), "/state/caisson/serve/serve.sock");
}

}  // namespace
}  // namespace caisson
