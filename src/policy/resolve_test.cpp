#include "policy/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/fake_host_files.h"
#include "policy/schema.h"

namespace caisson {
namespace {

struct ResolveWorld : FakeHost {
  Settings settings;
  std::string file;

  ResolveWorld& flags(std::vector<std::string> args) {
    FlagCursor cursor{args};
    Result<void> done = apply_flags(settings, cursor, nullptr, nullptr, {});
    EXPECT_TRUE(done.ok()) << done.error().what;
    return *this;
  }
  ResolveWorld& variables(const std::map<std::string, std::string>& environment) {
    EXPECT_TRUE(apply_environment(settings, environment).ok());
    return *this;
  }
  ResolveWorld& policy_file(std::string_view text) {
    EXPECT_TRUE(apply_policy_json(settings, text, "p.json").ok());
    return *this;
  }
  Result<Policy> try_resolve() const { return resolve(settings, caller, {{"true"}}, files); }
  Policy resolved() const {
    Result<Policy> policy = try_resolve();
    EXPECT_TRUE(policy.ok()) << policy.error().what;
    return policy.ok() ? *policy : Policy();
  }
  std::string error() const {
    Result<Policy> policy = try_resolve();
    return policy.ok() ? "no error" : policy.error().what;
  }
};

// "source:target:ro", in order.
std::vector<std::string> shown(const Policy& policy) {
  std::vector<std::string> out;
  for (const Mount& mount : policy.mounts)
    out.push_back(mount.source + ":" + mount.target +
                  (mount.access == Access::kReadWrite ? ":rw" : ":ro"));
  return out;
}
using Shown = std::vector<std::string>;

std::string origin_of(const Policy& policy, const std::string& field) {
  for (const auto& [name, origin] : policy.origins)
    if (name == field) return origin;
  return "none";
}

std::string variable(const Policy& policy, const std::string& name) {
  for (const auto& [key, value] : policy.environment)
    if (key == name) return value;
  return "(unset)";
}

TEST(Resolve, NothingSaidGivesTheDefaultsOfTheTable) {
  Policy policy = ResolveWorld().resolved();
  EXPECT_EQ(policy.tier, Tier::kProcess);
  EXPECT_EQ(policy.limits.wall, std::chrono::minutes(10));
  EXPECT_EQ(policy.limits.memory_bytes, 2ull << 30);
  EXPECT_EQ(policy.limits.cpu_millis, 0u);
  EXPECT_EQ(policy.limits.cpu_shares, std::nullopt);
  EXPECT_EQ(policy.limits.pids, 256u);
  EXPECT_EQ(policy.limits.files, 1024u);
  EXPECT_EQ(policy.limits.file_bytes, 1ull << 30);
  EXPECT_EQ(policy.limits.tmp_bytes, 256ull << 20);
  EXPECT_EQ(policy.limits.output_bytes, 16ull << 20);
  EXPECT_TRUE(policy.grants.empty());
  EXPECT_EQ(policy.exec, Exec::kAllowed);
  EXPECT_EQ(policy.terminal, Terminal::kNone);
  EXPECT_EQ(policy.hostname, "caisson");
  EXPECT_EQ(origin_of(policy, "limits.memory"), "default");
}

TEST(Resolve, EveryFieldKnowsWhereItCameFrom) {
  ResolveWorld world;
  world.policy_file("{\"limits\":{\n\"pids\":9}}").variables({{"SANDBOX_TIMEOUT", "none"}});
  Policy policy = world.flags({"--memory", "1G", "--best-effort", "cpu", "--tty"}).resolved();
  EXPECT_EQ(policy.limits.wall, std::nullopt);
  EXPECT_EQ(origin_of(policy, "limits.pids"), "p.json:2");
  EXPECT_EQ(origin_of(policy, "limits.timeout"), "SANDBOX_TIMEOUT");
  EXPECT_EQ(origin_of(policy, "limits.memory"), "--memory");
  EXPECT_EQ(origin_of(policy, "best_effort.cpu"), "--best-effort");
  EXPECT_EQ(origin_of(policy, "process.tty"), "--tty");
  EXPECT_EQ(origin_of(policy, "environment.PATH"), "the caller's environment");
  for (const SettingSpec& spec : setting_specs())
    if (!spec.fallback.empty()) {
      EXPECT_NE(origin_of(policy, std::string(spec.key)), "none") << spec.key;
    }
}

TEST(CurrentFolder, IsReadOnlyAtItsOwnPathAndTheWorkingDirectory) {
  ResolveWorld world;
  Policy policy = world.resolved();
  EXPECT_EQ(shown(policy), (Shown{"/home/ada/project:/home/ada/project:ro"}));
  EXPECT_EQ(policy.mounts[0].origin, "the current folder");
  EXPECT_EQ(policy.mounts[0].inode, world.files.look("/home/ada/project")->inode);
  EXPECT_EQ(policy.workdir, "/home/ada/project");
  EXPECT_TRUE(policy.notes.empty());
}

TEST(CurrentFolder, IsLeftOutWhereItWouldShowTooMuch) {
  for (const char* cwd :
       {"/", "/home", "/home/ada", "/home/bob", "/root", "/tmp", "/proc/1", "/sys", "/dev/shm/x",
        "/etc", "/etc/ssl", "/home/ada/.ssh", "/home/ada/.config/gh", "/run/user/1000", "/var"}) {
    ResolveWorld world;
    world.files.folder(cwd);
    world.caller.cwd = cwd;
    Policy policy = world.resolved();
    EXPECT_TRUE(policy.mounts.empty()) << cwd;
    EXPECT_EQ(policy.workdir, "/tmp") << cwd;
    ASSERT_EQ(policy.notes.size(), 1u) << cwd;
    EXPECT_NE(policy.notes[0].find("--mount "), std::string::npos) << policy.notes[0];
  }
}

TEST(CurrentFolder, IsLeftOutWhenTheHomeFolderIsReachedThroughALink) {
  ResolveWorld world;
  world.files.folder("/data/people/eve/x").link("/home/eve", "/data/people/eve");
  world.caller.home = "/home/eve";
  for (const char* cwd : {"/data/people/eve", "/data/people", "/data"}) {
    world.caller.cwd = cwd;
    EXPECT_TRUE(world.resolved().mounts.empty()) << cwd;
  }
  world.caller.cwd = "/data/people/eve/x";
  EXPECT_EQ(world.resolved().mounts.size(), 1u);
}

TEST(CurrentFolder, ThatIsGoneIsNoted) {
  ResolveWorld world;
  world.caller.cwd = "";
  Policy policy = world.resolved();
  EXPECT_EQ(policy.workdir, "/tmp");
  EXPECT_EQ(policy.notes.size(), 1u);
}

TEST(CurrentFolder, OfTheSystemIsVisibleWithoutAMount) {
  ResolveWorld world;
  world.caller.cwd = "/usr/local/bin";
  Policy policy = world.resolved();
  EXPECT_TRUE(policy.mounts.empty());
  EXPECT_EQ(policy.workdir, "/usr/local/bin");
}

TEST(CurrentFolder, IsNotMountedTwice) {
  ResolveWorld same;
  same.flags({"--mount", "/home/ada/project:/home/ada/project:rw"});
  EXPECT_EQ(shown(same.resolved()), (Shown{"/home/ada/project:/home/ada/project:rw"}));
  ResolveWorld parent;  // a read-only mount inside of it would take the grant back
  parent.files.folder("/srv/work/sub");
  parent.caller.cwd = "/srv/work/sub";
  parent.flags({"--allow-write", "/srv/work"});
  EXPECT_EQ(shown(parent.resolved()), (Shown{"/srv/work:/srv/work:rw"}));
  EXPECT_EQ(parent.resolved().workdir, "/srv/work/sub");
}

TEST(CurrentFolder, IsWritableWhenTheVariableSaysSo) {
  ResolveWorld world;
  world.variables({{"SANDBOX_ALLOW_FS_WRITE", "true"}});
  EXPECT_EQ(shown(world.resolved()), (Shown{"/home/ada/project:/home/ada/project:rw"}));
  world.flags({"--read-only"});
  EXPECT_EQ(shown(world.resolved()), (Shown{"/home/ada/project:/home/ada/project:ro"}));
}

TEST(Mounts, AreResolvedAgainstTheCallerAndSortedByTarget) {
  ResolveWorld world;
  world.files.folder("/home/ada/data").folder("/srv/real/sub").link("/srv/link", "real");
  world.caller.cwd = "/tmp";
  Policy policy = world
                      .flags({"--mount", "/srv/link:/z", "--mount", "~/data:/a/b", "--mount",
                              "../home/ada/project:/a-b:rw", "--mount", "/usr/bin/sh:/sh"})
                      .resolved();
  EXPECT_EQ(shown(policy), (Shown{"/home/ada/project:/a-b:rw", "/home/ada/data:/a/b:ro",
                                  "/usr/bin/sh:/sh:ro", "/srv/real:/z:ro"}));
  EXPECT_FALSE(policy.mounts[2].is_directory);
  EXPECT_EQ(policy.mounts[3].inode, world.files.look("/srv/real")->inode);
}

TEST(Mounts, AMissingSourceIsNamedWithItsOrigin) {
  ResolveWorld world;
  world.policy_file("{\"filesystem\":{\n\"mounts\":[\"/nowhere:/x\"]}}");
  EXPECT_EQ(world.error(), "p.json:2: /nowhere does not exist or can't be reached");
  EXPECT_NE(ResolveWorld().flags({"--mount", "nope:/x"}).error().find("/home/ada/project/nope"),
            std::string::npos);
}

TEST(Mounts, NoneIsFoundOverALinkThatACellCouldTurn) {
  auto error_of = [](std::vector<std::string> flags) {
    ResolveWorld world;
    world.files.folder("/srv/real").folder("/srv/own").link("/srv/own/way", "/srv/real");
    world.files.folder("/srv/own/folder").link("/srv/own/inner", "folder");
    world.files.link("/home/ada/own", "/srv/own");
    flags.insert(flags.begin(), {"--mount", "/srv/own:/own:rw"});
    return world.flags(flags).error();
  };
  constexpr const char* kError =
      "leads over /srv/own/way, a link in a folder that the cell may write (--mount)";
  EXPECT_NE(error_of({"--mount", "/srv/own/way:/x:ro"}).find(kError), std::string::npos);
  EXPECT_NE(error_of({"--mount", "/home/ada/own/way:/x:rw"}).find(kError), std::string::npos);
  EXPECT_NE(error_of({"--allow-write", "/srv/own/way"}).find(kError), std::string::npos);
  EXPECT_NE(error_of({"--workspace", "/srv/own/way"}).find(kError), std::string::npos);
  EXPECT_EQ(error_of({"--mount", "/srv/real:/x:rw"}), "no error");
  EXPECT_EQ(error_of({"--mount", "/srv/own/inner:/x:ro"}), "no error") << "it has that anyway";
  EXPECT_EQ(error_of({"--mount", "/home/ada/own:/x:ro"}), "no error") << "that link is not theirs";
  EXPECT_EQ(error_of({"--read-only", "--mount", "/srv/own/way:/x"}), "no error");
}

TEST(Mounts, AWholeHomeFolderIsToldAloud) {
  Policy policy = ResolveWorld().flags({"--mount", "~:/home/ada"}).resolved();
  ASSERT_EQ(policy.notes.size(), 1u);
  EXPECT_EQ(policy.notes[0], "--mount: all of /home/ada is visible, keys and tokens among it");
}

TEST(Mounts, RefuseTargetsThatAreTheCellsOwn) {
  for (const char* target : {"/", "/..", "/proc", "/proc/1", "/dev", "/dev/null", "/sys/fs", "/usr",
                             "/bin", "/lib64", "/etc", "/opt", "/x/../proc"})
    EXPECT_NE(ResolveWorld().flags({"--mount", std::string("/tmp:") + target}).error(), "no error")
        << target;
  for (const char* target : {"/etc/app", "/data", "/tmp/in", "/procx", "/devel", "/home/ada"})
    EXPECT_EQ(ResolveWorld().flags({"--mount", std::string("/root:") + target}).error(), "no error")
        << target;
}

TEST(Mounts, RefuseSourcesThatAreNoFiles) {
  ResolveWorld world;
  world.files.socket("/run/docker.sock").folder("/proc/1").folder("/dev/shm/x").folder("/sys");
  world.files.link("/srv/sneaky", "/proc/1");
  for (const char* source :
       {"/", "/proc", "/proc/1", "/sys", "/dev", "/run/docker.sock", "/dev/shm", "/srv/sneaky"}) {
    world.settings.mounts.clear();
    EXPECT_NE(world.flags({"--mount", std::string(source) + ":/x"}).error(), "no error") << source;
  }
  world.settings.mounts.clear();
  EXPECT_EQ(world.flags({"--mount", "/dev/shm/x:/x"}).error(), "no error");
}

TEST(Mounts, BelowASystemFolderTheTargetHasToBeThere) {
  ResolveWorld world;
  world.files.file("/home/ada/project/sh");
  EXPECT_NE(
      ResolveWorld().flags({"--mount", "/tmp:/usr/share/new"}).error().find("takes no new names"),
      std::string::npos);
  world.flags({"--mount", "sh:/bin/sh"});
  EXPECT_EQ(shown(world.resolved())[1], "/home/ada/project/sh:/usr/bin/sh:ro");
}

TEST(Mounts, TwoOnOneTargetAreRefusedAndBothAreNamed) {
  ResolveWorld world;
  world.policy_file(R"({"filesystem":{"mounts":["/tmp:/x"]}})").flags({"--mount", "/root:/x"});
  EXPECT_EQ(world.error(), "two mounts on /x: /tmp (p.json:1) and /root (--mount)");
  ResolveWorld same;
  same.policy_file(R"({"filesystem":{"mounts":["/tmp:/x"]}})").flags({"--mount", "/tmp:/x"});
  EXPECT_EQ(same.error(), "no error") << "said twice is said once";
}

TEST(Mounts, OneInAnotherNeedsAPlaceThatIsThere) {
  ResolveWorld world;
  world.files.folder("/srv/a/in").file("/srv/a/file").link("/srv/a/link", "in").folder("/srv/b");
  auto error_on = [&](const char* target) {
    world.settings.mounts.clear();
    return world.flags({"--mount", "/srv/a:/a", "--mount", std::string("/srv/b:") + target})
        .error();
  };
  EXPECT_EQ(error_on("/a/in"), "no error");
  EXPECT_NE(error_on("/a/new").find("does not exist"), std::string::npos);
  EXPECT_NE(error_on("/a/file").find("another kind"), std::string::npos);
  EXPECT_NE(error_on("/a/link").find("a link leads elsewhere"), std::string::npos);
  EXPECT_NE(ResolveWorld()
                .flags({"--mount", "/tmp:/home/ada/project/new"})
                .error()
                .find("does not exist"),
            std::string::npos);
}

TEST(Workspace, IsWritableAtItsNameAndTheWorkingDirectory) {
  ResolveWorld world;
  world.files.folder("/srv/work/src");
  Policy policy = world.flags({"--workspace", "/srv/work"}).resolved();
  EXPECT_EQ(shown(policy),
            (Shown{"/home/ada/project:/home/ada/project:ro", "/srv/work:/workspace:rw"}));
  EXPECT_EQ(policy.workdir, "/workspace");
  EXPECT_EQ(world.flags({"--workdir", "src"}).resolved().workdir, "/workspace/src");
  EXPECT_EQ(ResolveWorld().flags({"--workspace", "/usr/bin/sh"}).error(),
            "--workspace: /usr/bin/sh is not a folder");
}

TEST(Workspace, OfTheVariableIsMadeAndOfTheFlagIsNot) {
  ResolveWorld world;
  world.variables({{"SANDBOX_WORK_DIR", "/tmp/sandbox/"}});
  EXPECT_EQ(shown(world.resolved())[1], "/tmp/sandbox:/workspace:rw");
  EXPECT_EQ(world.files.made, (Shown{"/tmp/sandbox"}));
  ResolveWorld deep;
  EXPECT_NE(deep.variables({{"SANDBOX_WORK_DIR", "/tmp/a/b"}}).error(), "no error");
  ResolveWorld flag;
  EXPECT_NE(flag.flags({"--workspace", "/tmp/sandbox"}).error(), "no error");
  EXPECT_TRUE(deep.files.made.empty() && flag.files.made.empty());
}

TEST(ReadOnly, AsAFlagIsTheLastWord) {
  ResolveWorld world;
  world.flags({"--mount", "/tmp:/x:rw", "--allow-write", ".", "--read-only"});
  for (const Mount& mount : world.resolved().mounts) EXPECT_EQ(mount.access, Access::kReadOnly);
}

TEST(ReadOnly, OfAFileOrVariableLeavesWhatAFlagAsksFor) {
  for (bool by_file : {true, false}) {
    ResolveWorld world;
    world.policy_file(R"({"filesystem":{"mounts":["/root:/file:rw"]}})");
    if (by_file)
      world.policy_file(R"({"filesystem":{"read_only":true}})");
    else
      world.variables({{"SANDBOX_ALLOW_FS_WRITE", "false"}});
    world.flags({"--mount", "/tmp:/flag:rw"});
    EXPECT_EQ(shown(world.resolved()),
              (Shown{"/root:/file:ro", "/tmp:/flag:rw", "/home/ada/project:/home/ada/project:ro"}));
  }
}

TEST(Workdir, HasToBeAFolderOfTheCell) {
  EXPECT_EQ(ResolveWorld().flags({"--workdir", "src"}).resolved().workdir, "/home/ada/project/src");
  EXPECT_EQ(ResolveWorld().flags({"--workdir", "/home"}).resolved().workdir, "/home");
  EXPECT_EQ(ResolveWorld().flags({"--workdir", "/tmp"}).resolved().workdir, "/tmp");
  EXPECT_EQ(ResolveWorld().flags({"--workdir", "/usr/bin"}).resolved().workdir, "/usr/bin");
  EXPECT_EQ(ResolveWorld().flags({"--workdir", "/srv"}).error(),
            "--workdir: /srv is not a folder of the cell");
  EXPECT_NE(ResolveWorld().flags({"--workdir", "nope"}).error(), "no error");
}

TEST(Environment, StartsWithAShortListAndNothingElse) {
  ResolveWorld world;
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "SSH_AUTH_SOCK", "VIRTUAL_ENV",
                           "COLORTERM", "PYTHONPATH"})
    world.caller.environment[name] = "/x";
  world.caller.environment["LANG"] = "C.UTF-8";
  world.caller.environment["LC_ALL"] = "C";
  world.caller.environment["TZ"] = "Europe/Oslo";
  world.caller.environment["TERM"] = "xterm";
  Shown names;
  for (const auto& [name, value] : world.resolved().environment) names.push_back(name);
  EXPECT_EQ(names, (Shown{"CAISSON", "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SANDBOX_RUNTIME",
                          "SHELL", "TERM", "TMPDIR", "TZ", "USER"}));
  EXPECT_EQ(variable(world.resolved(), "HOME"), "/tmp");
  EXPECT_EQ(variable(world.resolved(), "USER"), "ada");
  EXPECT_EQ(variable(world.flags({"--tty"}).resolved(), "COLORTERM"), "/x");
}

TEST(Environment, HasAPathAndATerminalWhenTheCallerHasNone) {
  ResolveWorld world;
  world.caller.environment.clear();
  EXPECT_EQ(variable(world.resolved(), "PATH"), "/usr/local/bin:/usr/bin:/bin");
  EXPECT_EQ(variable(world.resolved(), "TERM"), "(unset)");
  EXPECT_EQ(variable(world.flags({"--tty"}).resolved(), "TERM"), "dumb");
}

TEST(Environment, TakesWhatAPersonPassesAndSets) {
  ResolveWorld world;
  world.caller.environment["TOKEN"] = "t0p";
  Policy policy =
      world.flags({"--env-pass", "TOKEN", "--env", "PATH=/x", "--env", "A=1", "--env", "A=2"})
          .resolved();
  EXPECT_EQ(variable(policy, "TOKEN"), "t0p");
  EXPECT_EQ(variable(policy, "PATH"), "/x");
  EXPECT_EQ(variable(policy, "A"), "2");
  EXPECT_EQ(origin_of(policy, "environment.TOKEN"), "--env-pass");
  EXPECT_EQ(ResolveWorld().flags({"--env-pass", "NOPE"}).error(),
            "--env-pass: NOPE is not set here");
}

TEST(Environment, HasToFitIntoExecve) {
  ResolveWorld one;
  one.caller.environment["BIG"] = std::string(130 * 1024, 'x');
  EXPECT_NE(one.flags({"--env-pass", "BIG"}).error().find("too long for execve"),
            std::string::npos);
  ResolveWorld many;
  for (char c = 'A'; c < 'K'; ++c) many.flags({"--env", c + ("=" + std::string(120 * 1024, 'x'))});
  EXPECT_EQ(many.error(), "the cell's environment is larger than 1 MiB");
}

TEST(Grants, HaveANameAndAReason) {
  ResolveWorld world;
  world.policy_file(R"({"grants":{"network":"to install packages"}})");
  EXPECT_EQ(world.resolved().grants,
            (std::vector<Grant>{{GrantKind::kHostNetwork, "to install packages"}}));
  EXPECT_FALSE(world.flags({"--no-network"}).resolved().has(GrantKind::kHostNetwork));
  EXPECT_TRUE(
      ResolveWorld().flags({"--allow-nested"}).resolved().has(GrantKind::kNestedNamespaces));
}

TEST(Digest, NamesThePolicyAndNotItsOrigins) {
  ResolveWorld world;
  Policy a = world.resolved(), b = world.flags({"--memory", "2G"}).resolved();
  EXPECT_NE(a.origins, b.origins);
  EXPECT_EQ(a, b);
  EXPECT_EQ(digest(a), digest(b));
  b.mounts[0].inode += 1;
  b.mounts[0].origin = "elsewhere";
  EXPECT_EQ(digest(a), digest(b));
  EXPECT_EQ(digest(a).size(), 64u);
}

TEST(Digest, ChangesWithEveryField) {
  const Policy base = ResolveWorld().resolved();
  std::vector<void (*)(Policy&)> changes{
      [](Policy& p) { p.tier = Tier::kLandlock; },
      [](Policy& p) { p.limits.wall.reset(); },
      [](Policy& p) { p.limits.memory_bytes++; },
      [](Policy& p) { p.limits.cpu_millis++; },
      [](Policy& p) { p.limits.cpu_shares = 1024; },
      [](Policy& p) { p.limits.pids++; },
      [](Policy& p) { p.limits.files++; },
      [](Policy& p) { p.limits.file_bytes++; },
      [](Policy& p) { p.limits.tmp_bytes++; },
      [](Policy& p) { p.limits.output_bytes++; },
      [](Policy& p) { p.best_effort.push_back("cpu"); },
      [](Policy& p) { p.mounts[0].source += "x"; },
      [](Policy& p) { p.mounts[0].target += "x"; },
      [](Policy& p) { p.mounts[0].access = Access::kReadWrite; },
      [](Policy& p) { p.mounts[0].is_directory = false; },
      [](Policy& p) {
        p.links.push_back({"/a", "/b", ""});
      },
      [](Policy& p) { p.workdir += "x"; },
      [](Policy& p) { p.environment[0].second += "x"; },
      [](Policy& p) { p.environment[0].first += "x"; },
      [](Policy& p) {
        p.grants.push_back({GrantKind::kHostNetwork, "x"});
      },
      [](Policy& p) { p.exec = Exec::kProgramOnly; },
      [](Policy& p) { p.terminal = Terminal::kOwnPty; },
      [](Policy& p) { p.hostname += "x"; },
  };
  std::vector<std::string> digests{digest(base)};
  for (auto* change : changes) {
    Policy other = base;
    change(other);
    EXPECT_FALSE(other == base) << digests.size();
    digests.push_back(digest(other));
  }
  std::ranges::sort(digests);
  EXPECT_EQ(std::ranges::adjacent_find(digests), digests.end());
}

TEST(CanonicalJson, ShowsNoValueOfAVariable) {
  ResolveWorld world;
  std::string text = to_canonical_json(world.flags({"--env", "TOKEN=hunter2"}).resolved());
  EXPECT_NE(text.find("TOKEN"), std::string::npos);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace caisson
