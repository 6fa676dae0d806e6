#include <gtest/gtest.h>

#include "policy/schema.h"

namespace caisson {
namespace {

struct Parsed {
  Result<void> result;
  Settings settings;
  size_t at = 0;
};

Result<bool> take_json_output(void* context, std::string_view flag, FlagCursor& cursor) {
  auto* seen = static_cast<std::vector<std::string>*>(context);
  if (flag == "--json-output" || flag == "-v") return seen->emplace_back(flag), true;
  if (flag != "--policy") return false;
  seen->push_back("--policy " + TRY(cursor.value_for(flag)));
  return true;
}

constexpr std::string_view kOtherNames[] = {"--json-output", "--policy", "-v"};

Parsed parse(std::vector<std::string> args, std::vector<std::string>* others = nullptr) {
  Parsed parsed;
  std::vector<std::string> ignored;
  FlagCursor cursor{args};
  parsed.result = apply_flags(parsed.settings, cursor, take_json_output, others ? others : &ignored,
                              kOtherNames);
  parsed.at = cursor.at;
  return parsed;
}

TEST(Flags, TakeTheirValueAsTheNextWordOrBehindAnEqualsSign) {
  Parsed parsed =
      parse({"--memory", "256M", "--cpu=0.5", "--timeout", "10s", "python3", "-c", "x"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.error().what;
  EXPECT_EQ(parsed.settings.memory.value, 268435456u);
  EXPECT_EQ(parsed.settings.memory.origin, "--memory");
  EXPECT_EQ(parsed.settings.cpu_millis.value, 500u);
  EXPECT_EQ(parsed.at, 5u);
}

TEST(Flags, EndAtTheFirstWordThatIsNoneAndAtTwoDashes) {
  EXPECT_EQ(parse({"echo", "--memory", "x"}).at, 0u);
  EXPECT_EQ(parse({"--tty", "--", "--memory"}).at, 2u);
  EXPECT_EQ(parse({"-", "--memory"}).at, 0u);
  EXPECT_EQ(parse({"--tty"}).at, 1u);
}

TEST(Flags, LaterScalarsWinAndListsGrow) {
  Parsed parsed = parse({"--pids", "10", "--pids", "20", "--mount", "/a:/b", "--mount=/c:/d:rw"});
  EXPECT_EQ(parsed.settings.pids.value, 20u);
  ASSERT_EQ(parsed.settings.mounts.size(), 2u);
  EXPECT_EQ(parsed.settings.mounts[1].access, Access::kReadWrite);
}

TEST(Flags, AnUnknownOneIsNamedWithTheNearestKnown) {
  Result<void> setting = parse({"--memroy", "1G"}).result;
  EXPECT_EQ(setting.error().what, "unknown option \"--memroy\"");
  EXPECT_EQ(setting.error().hint, "did you mean --memory?");
  EXPECT_EQ(parse({"--json-outptu"}).result.error().hint, "did you mean --json-output?");
  EXPECT_FALSE(parse({"-x"}).result.ok());
}

TEST(Flags, AMissingValueNamesTheFlag) {
  EXPECT_EQ(parse({"--memory"}).result.error().what, "--memory needs a value");
  EXPECT_EQ(parse({"--workdir", "--", "ls"}).result.error().what, "--workdir needs a value");
}

TEST(Flags, ABadValueNamesTheFlag) {
  EXPECT_EQ(parse({"--memory", "12Q"}).result.error().what, "--memory: \"12Q\" is not a size");
  EXPECT_EQ(parse({"--tier=moon"}).result.error().what, "--tier: \"moon\" is not a tier");
  EXPECT_EQ(parse({"--tty=perhaps"}).result.error().what,
            "--tty: \"perhaps\" is neither true nor false");
  EXPECT_FALSE(parse({"--best-effort", "everything"}).result.ok());
  EXPECT_FALSE(parse({"--memory", "0"}).result.ok());
  EXPECT_FALSE(parse({"--tmp-size", "0"}).result.ok()) << "a tmpfs of size 0 has no limit";
}

TEST(Flags, SwitchesCanBeTakenBack) {
  EXPECT_EQ(parse({"--read-only"}).settings.read_only.value, true);
  EXPECT_EQ(parse({"--read-only", "--read-only=false"}).settings.read_only.value, false);
}

TEST(Flags, AGrantHasItsFlagAsReasonAndNoNetworkTakesItBack) {
  EXPECT_EQ(parse({"--allow-network"}).settings.allow_network.value, "--allow-network");
  EXPECT_EQ(parse({"--allow-nested"}).settings.allow_nested.value, "--allow-nested");
  EXPECT_EQ(parse({"--allow-network", "--no-network"}).settings.allow_network.value, "");
  EXPECT_FALSE(parse({"--no-network=false"}).result.ok());
}

TEST(Flags, OthersAreAskedFirstAndCanTakeAValue) {
  std::vector<std::string> others;
  Parsed parsed =
      parse({"--json-output", "--policy", "p.json", "-v", "--policy=q.json", "ls"}, &others);
  ASSERT_TRUE(parsed.result.ok());
  EXPECT_EQ(others, (std::vector<std::string>{"--json-output", "--policy p.json", "-v",
                                              "--policy q.json"}));
  EXPECT_EQ(parsed.at, 5u);
  EXPECT_EQ(parse({"--json-output=yes"}).result.error().what, "--json-output takes no value");
}

TEST(Flags, VariablesNeedANameAndAValue) {
  Parsed parsed = parse({"--env", "A=b=c", "--env-pass", "TOKEN"});
  ASSERT_TRUE(parsed.result.ok());
  EXPECT_EQ(parsed.settings.env_set[0].name, "A");
  EXPECT_EQ(parsed.settings.env_set[0].value, "b=c");
  EXPECT_EQ(parsed.settings.env_pass[0].first, "TOKEN");
  EXPECT_FALSE(parse({"--env", "A"}).result.ok());
  EXPECT_FALSE(parse({"--env", "=x"}).result.ok());
  Result<void> pass = parse({"--env-pass", "TOKEN=secret"}).result;
  ASSERT_FALSE(pass.ok());
  EXPECT_EQ(pass.error().what.find("secret"), std::string::npos);
}

TEST(Flags, ListsAndTextsHaveAnEnd) {
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) many.push_back("--mount=/a:/b" + std::to_string(i));
  EXPECT_FALSE(parse(many).result.ok());
  EXPECT_FALSE(parse({"--env", "A=" + std::string(200000, 'x')}).result.ok());
  EXPECT_FALSE(parse({"--workspace", std::string(5000, 'x')}).result.ok());
}

TEST(Variables, SetTheSameThings) {
  Settings settings;
  Result<void> done = apply_environment(settings, {{"SANDBOX_TIMEOUT", "30"},
                                                   {"SANDBOX_MEMORY_LIMIT", "512M"},
                                                   {"SANDBOX_CPU_LIMIT", "1.0"},
                                                   {"SANDBOX_CPU_SHARES", "1024"},
                                                   {"SANDBOX_WORK_DIR", "/tmp/sandbox"},
                                                   {"SANDBOX_ALLOW_NETWORK", "false"},
                                                   {"SANDBOX_ALLOW_FS_WRITE", "false"},
                                                   {"SANDBOX_ALLOW_EXEC", "true"},
                                                   {"SANDBOX_LOG_LEVEL", "debug"}});
  ASSERT_TRUE(done.ok()) << done.error().what;
  EXPECT_EQ(settings.timeout.value, std::chrono::milliseconds(30000));
  EXPECT_EQ(settings.timeout.origin, "SANDBOX_TIMEOUT");
  EXPECT_EQ(settings.memory.value, 536870912u);
  EXPECT_EQ(settings.cpu_millis.value, 1000u);
  EXPECT_EQ(settings.workspace.value, "/tmp/sandbox");
  EXPECT_EQ(settings.allow_network.value, "");
  EXPECT_EQ(settings.read_only.value, true);
  EXPECT_EQ(settings.no_exec.value, false);
}

TEST(Variables, AnEmptyOneIsNotSetAndABadOneIsNamed) {
  Settings settings;
  EXPECT_TRUE(apply_environment(settings, {{"SANDBOX_TIMEOUT", ""}}).ok());
  EXPECT_FALSE(settings.timeout);
  for (const char* name : {"SANDBOX_MEMORY_LIMIT", "SANDBOX_ALLOW_NETWORK", "SANDBOX_ALLOW_EXEC",
                           "SANDBOX_TIMEOUT", "SANDBOX_ALLOW_FS_WRITE"}) {
    Result<void> done = apply_environment(settings, {{name, "lots"}});
    ASSERT_FALSE(done.ok());
    EXPECT_TRUE(done.error().what.starts_with(std::string(name) + ": \"lots\""))
        << done.error().what;
  }
}

TEST(Variables, AGrantIsOnRecordUnderTheVariablesName) {
  Settings settings;
  ASSERT_TRUE(apply_environment(settings, {{"SANDBOX_ALLOW_NETWORK", "true"}}).ok());
  EXPECT_EQ(settings.allow_network.value, "SANDBOX_ALLOW_NETWORK");
}

TEST(Table, EveryRowCanBeSaidAndIsExplained) {
  for (const SettingSpec& spec : setting_specs()) {
    EXPECT_FALSE(spec.flag.empty() && spec.key.empty() && spec.variable.empty());
    EXPECT_FALSE(spec.help.empty()) << spec.flag;
    EXPECT_EQ(spec.fallback.empty(), spec.why.empty())
        << spec.flag << " has a default without a reason";
    bool takes_value = spec.arity != Arity::kSwitch && spec.arity != Arity::kGrant;
    EXPECT_EQ(takes_value, !spec.metavar.empty()) << spec.flag;
  }
}

}  // namespace
}  // namespace caisson
