#include <gtest/gtest.h>

#include "policy/schema.h"

namespace caisson {
namespace {

struct Read {
  Result<void> result;
  Settings settings;
};

Read read(std::string_view text) {
  Read out;
  out.result = apply_policy_json(out.settings, text, "policy.json");
  return out;
}

std::string error_of(std::string_view text) {
  Read out = read(text);
  return out.result.ok() ? "no error" : out.result.error().what;
}

constexpr const char* kWhole = R"({
  // what the cell may use
  "tier": "process",
  "limits": {
    "timeout": 30, "memory": "256M", "cpu": 0.5, "cpu_shares": 512,
    "pids": 64, "files": 256, "file_size": "10M", "tmp_size": "32M", "output": "1M",
  },
  /* what it
     sees */
  "filesystem": {
    "mounts": [
      "/data:/data",
      "~/out:/out:rw",
    ],
    "workspace": "work", "workdir": "/workspace/src", "read_only": false,
    "allow_write": ["/var/cache/x"]
  },
  "environment": {"set": {"A": "1", "B": "x=y"}, "pass": ["TOKEN"]},
  "grants": {"network": "pip install", "nested": "tests of a sandbox"},
  "process": {"no_exec": true, "tty": false},
  "best_effort": ["memory", "cpu"]
}
// the end
)";

TEST(PolicyFile, SetsEverythingThatTheFlagsSet) {
  Read out = read(kWhole);
  ASSERT_TRUE(out.result.ok()) << out.result.error().what;
  const Settings& s = out.settings;
  EXPECT_EQ(s.tier.value, Tier::kProcess);
  EXPECT_EQ(s.timeout.value, std::chrono::milliseconds(30000));
  EXPECT_EQ(s.memory.value, 268435456u);
  EXPECT_EQ(s.cpu_millis.value, 500u);
  EXPECT_EQ(s.cpu_shares.value, 512u);
  EXPECT_EQ(s.pids.value, 64u);
  EXPECT_EQ(s.files.value, 256u);
  EXPECT_EQ(s.file_size.value, 10u << 20);
  EXPECT_EQ(s.tmp_size.value, 32u << 20);
  EXPECT_EQ(s.output_limit.value, 1u << 20);
  ASSERT_EQ(s.mounts.size(), 2u);
  EXPECT_EQ(s.mounts[1].source, "~/out");
  EXPECT_EQ(s.workspace.value, "work");
  EXPECT_EQ(s.workdir.value, "/workspace/src");
  EXPECT_EQ(s.read_only.value, false);
  EXPECT_EQ(s.allow_write[0].first, "/var/cache/x");
  ASSERT_EQ(s.env_set.size(), 2u);
  EXPECT_EQ(s.env_set[1].value, "x=y");
  EXPECT_EQ(s.env_pass[0].first, "TOKEN");
  EXPECT_EQ(s.allow_network.value, "pip install");
  EXPECT_EQ(s.allow_nested.value, "tests of a sandbox");
  EXPECT_EQ(s.no_exec.value, true);
  EXPECT_EQ(s.best_effort.size(), 2u);
}

TEST(PolicyFile, EveryValueKnowsItsLine) {
  Settings s = read(kWhole).settings;
  EXPECT_EQ(s.tier.origin, "policy.json:3");
  EXPECT_EQ(s.timeout.origin, "policy.json:5");
  EXPECT_EQ(s.output_limit.origin, "policy.json:6");
  EXPECT_EQ(s.mounts[0].origin, "policy.json:12");
  EXPECT_EQ(s.mounts[1].origin, "policy.json:13");
  EXPECT_EQ(s.env_set[0].origin, "policy.json:18");
  EXPECT_EQ(s.best_effort[0].second, "policy.json:21");
}

TEST(PolicyFile, ANumberAtTheEndOfALineBelongsToThatLine) {
  EXPECT_EQ(read("{\"limits\":{\"pids\":\n12\n}}").settings.pids.origin, "policy.json:2");
  EXPECT_EQ(read("{\"limits\":{\"pids\": 12 // why\n}}").settings.pids.origin, "policy.json:1");
}

TEST(PolicyFile, AnUnknownKeyIsNamedWithItsLineAndTheNearestKey) {
  Read out = read("{\n \"limits\": {\n  \"memroy\": \"1G\"}}");
  ASSERT_FALSE(out.result.ok());
  EXPECT_EQ(out.result.error().what, "policy.json:3: unknown key \"memroy\"");
  EXPECT_EQ(out.result.error().hint, "did you mean \"memory\"?");
  EXPECT_EQ(read(R"({"memory": 1})").result.error().hint, "\"memory\" stands in \"limits\"");
  EXPECT_EQ(error_of(R"({"limits.memory": "1G"})"), "policy.json:1: unknown key \"limits.memory\"");
  EXPECT_EQ(error_of(R"({"": 1})"), "policy.json:1: unknown key \"\"");
}

TEST(PolicyFile, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_EQ(error_of("{\"limits\":{\"pids\":1,\n\"pids\":2}}"),
            "policy.json:2: the key \"pids\" is there twice");
  EXPECT_EQ(error_of(R"({"limits":{},"limits":{}})"),
            "policy.json:1: the key \"limits\" is there twice");
  EXPECT_EQ(error_of(R"({"environment":{"set":{"A":"1","A":"2"}}})"),
            "policy.json:1: the key \"A\" is there twice");
}

TEST(PolicyFile, AWrongTypeIsRefused) {
  EXPECT_EQ(error_of(R"({"limits": 5})"),
            "policy.json:1: \"limits\" must be an object, not a number");
  EXPECT_EQ(error_of(R"({"limits": [1]})"),
            "policy.json:1: \"limits\" must be an object, not an array");
  EXPECT_EQ(error_of(R"({"limits": {"memory": true}})"),
            "policy.json:1: \"limits.memory\" must be a string or a number, not true or false");
  EXPECT_EQ(error_of(R"({"limits": {"memory": {"a": 1}}})"),
            "policy.json:1: \"limits.memory\" must be a string or a number, not an object");
  EXPECT_EQ(error_of(R"({"filesystem": {"mounts": "/a:/b"}})"),
            "policy.json:1: \"filesystem.mounts\" must be an array of strings, not a string");
  EXPECT_EQ(error_of(R"({"filesystem": {"mounts": [["/a:/b"]]}})"),
            "policy.json:1: \"filesystem.mounts\" must be an array of strings, not an array");
  EXPECT_EQ(error_of(R"({"filesystem": {"mounts": [{}]}})"),
            "policy.json:1: \"filesystem.mounts\" must be an array of strings, not an object");
  EXPECT_EQ(error_of(R"({"filesystem": {"workspace": 5}})"),
            "policy.json:1: \"filesystem.workspace\" must be a string, not a number");
  EXPECT_EQ(error_of(R"({"process": {"tty": "true"}})"),
            "policy.json:1: \"process.tty\" must be true or false, not a string");
  EXPECT_EQ(error_of(R"({"environment": {"set": {"A": 1}}})"),
            "policy.json:1: \"environment.set\" must be an object of strings, not a number");
  EXPECT_EQ(error_of(R"({"environment": {"set": {"A": {}}}})"),
            "policy.json:1: \"environment.set\" must be an object of strings, not an object");
  EXPECT_EQ(error_of(R"({"limits": {"memory": null}})"),
            "policy.json:1: \"limits.memory\" must be a string or a number, not null");
  EXPECT_EQ(error_of("[]"), "policy.json:1: the policy must be an object, not an array");
  EXPECT_EQ(error_of("7"), "policy.json:1: the policy must be an object, not a number");
}

TEST(PolicyFile, ABadValueIsNamedWithItsLineAndKey) {
  EXPECT_EQ(error_of("{\n\"limits\":\n{\"memory\":\n\"12Q\"}}"),
            "policy.json:4: limits.memory: \"12Q\" is not a size");
  EXPECT_EQ(error_of(R"({"limits":{"pids":-1}})"),
            "policy.json:1: limits.pids: \"-1\" is not a whole number");
}

TEST(PolicyFile, AGrantWithoutAReasonIsRefused) {
  EXPECT_EQ(error_of(R"({"grants":{"network":""}})"),
            "policy.json:1: \"grants.network\" has no reason");
  EXPECT_EQ(error_of(R"({"grants":{"nested":"  "}})"),
            "policy.json:1: \"grants.nested\" has no reason");
  EXPECT_EQ(error_of(R"({"grants":{"network":true}})"),
            "policy.json:1: \"grants.network\" must be a string that gives the reason, not true or "
            "false");
}

TEST(PolicyFile, TheNameOfAVariableCantSmuggleAValue) {
  EXPECT_FALSE(read(R"({"environment":{"set":{"LD_PRELOAD=/x": "y"}}})").result.ok());
  EXPECT_FALSE(read(R"({"environment":{"set":{"A": "b\u0000c"}}})").result.ok());
  EXPECT_FALSE(read(R"({"environment":{"pass":["A\u0000B"]}})").result.ok());
}

TEST(PolicyFile, WhatIsNotJsonIsRefusedWithItsLine) {
  EXPECT_TRUE(error_of("{\n\"limits\" {}}").starts_with("policy.json:2: not JSON:"));
  EXPECT_TRUE(error_of("{}\n{}").starts_with("policy.json:2: not JSON:"));
  EXPECT_TRUE(error_of("{} x").starts_with("policy.json:1: not JSON:"));
  EXPECT_EQ(error_of("{\n\"limits\": {"), "policy.json:2: the file ends too early");
  EXPECT_EQ(error_of("{} /* open"), "policy.json:1: the file ends too early");
  EXPECT_FALSE(read("").result.ok());
  EXPECT_FALSE(read(" \n ").result.ok());
  EXPECT_FALSE(read("// only a comment\n").result.ok());
  EXPECT_FALSE(read("{\"tier\": \"\xff\"}").result.ok());
}

TEST(PolicyFile, CommentsMayStandAnywhereAndLinesMayEndInCrLf) {
  EXPECT_TRUE(read("// a\n/* b */ { /* c\n\n*/ } // d").result.ok());
  EXPECT_TRUE(read("{}\n").result.ok());
  EXPECT_TRUE(read("{}").result.ok());
  Read out = read("{\r\n// x\r\n\"tier\": \"landlock\"\r\n}\r\n");
  ASSERT_TRUE(out.result.ok()) << out.result.error().what;
  EXPECT_EQ(out.settings.tier.origin, "policy.json:3");
}

TEST(PolicyFile, SizeAndDepthHaveAnEnd) {
  EXPECT_FALSE(read("{" + std::string(2 << 20, ' ') + "}").result.ok());
  EXPECT_FALSE(read(std::string(100000, '[')).result.ok());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "{\"limits\":";
  EXPECT_FALSE(read(deep).result.ok());
}

TEST(PolicyFile, ItsNameNeverPassesForAFlag) {
  Settings settings;
  ASSERT_TRUE(apply_policy_json(settings, R"({"tier":"process"})", "--mount").ok());
  EXPECT_EQ(settings.tier.origin, "./--mount:1");
}

TEST(Layers, AFlagWinsOverAVariableAndAVariableOverAFile) {
  Settings settings;
  ASSERT_TRUE(
      apply_policy_json(settings, R"({"limits":{"pids":1,"memory":"1G","timeout":"1s"}})", "p")
          .ok());
  ASSERT_TRUE(
      apply_environment(settings, {{"SANDBOX_MEMORY_LIMIT", "2G"}, {"SANDBOX_TIMEOUT", "2"}}).ok());
  std::vector<std::string> args{"--timeout", "3s"};
  FlagCursor cursor{args};
  ASSERT_TRUE(apply_flags(settings, cursor, nullptr, nullptr, {}).ok());
  EXPECT_EQ(settings.pids.origin, "p:1");
  EXPECT_EQ(settings.memory.origin, "SANDBOX_MEMORY_LIMIT");
  EXPECT_EQ(settings.timeout.origin, "--timeout");
  EXPECT_EQ(settings.timeout.value, std::chrono::milliseconds(3000));
}

}  // namespace
}  // namespace caisson
