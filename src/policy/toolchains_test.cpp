#include "policy/toolchains.h"

#include "policy/toolchains_fixture.h"

namespace caisson {
namespace {

using namespace toolchains_test;

TEST(Toolchains, ACommandOfTheSystemNeedsNothing) {
  World world;
  Policy policy = world.resolved("python3");
  EXPECT_TRUE(exposed(policy).empty());
  EXPECT_TRUE(policy.links.empty());
  EXPECT_TRUE(policy.notes.empty());
  EXPECT_TRUE(toolchain_mounts("python3", world.caller, world.files).empty());
  EXPECT_TRUE(world.resolved("no-such-command").notes.empty());
}

TEST(Toolchains, AVirtualenvIsSeenWithoutItsPipConf) {
  World world;
  world.files.file("/home/ada/venv/pyvenv.cfg", "home = /usr/bin\n")
      .file("/home/ada/venv/pip.conf");
  world.files.link("/home/ada/venv/bin/python", "/usr/bin/python3").folder("/home/ada/venv/lib");
  world.files.link("/home/ada/venv/lib64", "lib");
  world.caller.environment["VIRTUAL_ENV"] = "/home/ada/venv";
  Policy policy = world.path("/home/ada/venv/bin").resolved("python");
  EXPECT_EQ(exposed(policy),
            (Names{"/home/ada/venv/bin", "/home/ada/venv/lib", "/home/ada/venv/pyvenv.cfg"}));
  EXPECT_EQ(linked(policy), (Names{"/home/ada/venv/lib64 -> lib"}));
  EXPECT_EQ(variable(policy, "VIRTUAL_ENV"), "/home/ada/venv");
  EXPECT_EQ(policy.mounts[1].origin, "toolchain: virtualenv");
}

TEST(Toolchains, AVirtualenvBringsItsBaseInterpreter) {
  World world;
  world.files.file(
      "/home/ada/venv/pyvenv.cfg",
      "include-system-site-packages = false\nhome = /home/ada/.pyenv/versions/3.11/bin\n");
  world.files.program("/home/ada/.pyenv/versions/3.11/bin/python3");
  world.files.program("/home/ada/venv/bin/python");  // a copy: no link says where it is from
  Policy policy = world.resolved("/home/ada/venv/bin/python");
  EXPECT_EQ(exposed(policy),
            (Names{"/home/ada/.pyenv", "/home/ada/venv/bin", "/home/ada/venv/pyvenv.cfg"}));
}

TEST(Toolchains, AVirtualenvInTheCurrentFolderNeedsOnlyItsBase) {
  World world;
  std::string uv = "/home/ada/.local/share/uv";
  world.files.program(uv + "/python/cpython-3.12.4/bin/python3.12")
      .file(uv + "/credentials/c.toml");
  world.files.link(uv + "/python/cpython-3.12", "cpython-3.12.4");
  world.files.file("/home/ada/project/.venv/pyvenv.cfg",
                   "home = " + uv + "/python/cpython-3.12/bin");
  world.files.link("/home/ada/project/.venv/bin/python",
                   uv + "/python/cpython-3.12/bin/python3.12");
  Policy policy = world.resolved(".venv/bin/python");
  EXPECT_EQ(exposed(policy), (Names{uv + "/python/cpython-3.12.4"}));
  EXPECT_EQ(linked(policy), (Names{uv + "/python/cpython-3.12 -> cpython-3.12.4"}));
}

TEST(Toolchains, AScriptBringsTheInterpreterOfItsFirstLine) {
  World world;
  world.files.program("/home/ada/.pyenv/shims/python3", "#!/usr/bin/env bash\n");
  world.files.program("/home/ada/project/run", "#!/usr/bin/env -S python3 -u\nprint()\n");
  world.path("/home/ada/.pyenv/shims");
  EXPECT_EQ(exposed(world.resolved("./run")), (Names{"/home/ada/.pyenv"}));
  world.files.program("/usr/local/bin/tool", "#!/home/ada/.pyenv/shims/python3\n");
  EXPECT_EQ(exposed(world.resolved("tool")), (Names{"/home/ada/.pyenv"}));
}

TEST(Toolchains, ScriptsThatNameEachOtherComeToAnEnd) {
  World world;
  world.files.program("/home/ada/.pyenv/shims/a", "#!/home/ada/.pyenv/shims/b\n");
  world.files.program("/home/ada/.pyenv/shims/b", "#!/home/ada/.pyenv/shims/a\n");
  EXPECT_EQ(exposed(world.resolved("/home/ada/.pyenv/shims/a")), (Names{"/home/ada/.pyenv"}));
  world.files.link("/home/ada/x", "y").link("/home/ada/y", "x");
  EXPECT_TRUE(exposed(world.resolved("/home/ada/x")).empty());
}

TEST(Toolchains, PyenvIsFoundWhereItsVariableSays) {
  World world;
  world.files.program("/srv/pyenv/shims/python", "#!/usr/bin/env bash\n");
  world.caller.environment["PYENV_ROOT"] = "/srv/pyenv";
  world.caller.environment["PYENV_VERSION"] = "3.11.4";
  Policy policy = world.path("/srv/pyenv/shims").resolved("python");
  EXPECT_EQ(exposed(policy), (Names{"/srv/pyenv"}));
  EXPECT_EQ(variable(policy, "PYENV_ROOT"), "/srv/pyenv");
  EXPECT_EQ(variable(policy, "PYENV_VERSION"), "3.11.4");
}

TEST(Toolchains, CargoNeverShowsItsCredentials) {
  World world;
  world.files.program("/home/ada/.cargo/bin/rustup").link("/home/ada/.cargo/bin/cargo", "rustup");
  world.files.file("/home/ada/.cargo/credentials.toml")
      .folder("/home/ada/.rustup/toolchains/stable");
  world.files.file("/home/ada/.rustup/settings.toml");
  world.caller.environment["CARGO_HOME"] = "/home/ada/.cargo";
  Policy policy = world.path("/home/ada/.cargo/bin").resolved("cargo");
  EXPECT_EQ(exposed(policy), (Names{"/home/ada/.cargo/bin", "/home/ada/.rustup/settings.toml",
                                    "/home/ada/.rustup/toolchains"}));
  EXPECT_EQ(variable(policy, "RUSTUP_HOME"), "/home/ada/.rustup");
  EXPECT_EQ(variable(policy, "CARGO_HOME"), "(unset)") << "it has to be writable";
}

TEST(Toolchains, CondaShowsTheEnvironmentInUseWithoutItsActivationScripts) {
  World world;
  std::string env = "/home/ada/miniconda3/envs/data";
  world.files.program(env + "/bin/python3.11").folder(env + "/conda-meta").folder(env + "/lib");
  world.files.file(env + "/etc/conda/activate.d/keys.sh").folder("/home/ada/miniconda3/conda-meta");
  world.caller.environment["CONDA_PREFIX"] = env;
  Policy policy = world.path(env + "/bin").resolved("python3.11");
  EXPECT_EQ(exposed(policy), (Names{env + "/bin", env + "/conda-meta", env + "/lib"}));
  EXPECT_EQ(variable(policy, "CONDA_PREFIX"), env);
}

TEST(Toolchains, NvmShowsOneVersionWithoutNpmrc) {
  World world;
  std::string node = "/home/ada/.nvm/versions/node/v20.1.0";
  world.files.program(node + "/bin/node").folder(node + "/lib").file(node + "/etc/npmrc");
  world.files.folder("/home/ada/.nvm/versions/node/v18.0.0/bin");
  world.files.program(node + "/lib/node_modules/npm/cli.js", "#!/usr/bin/env node\n");
  world.files.link(node + "/bin/npm", "../lib/node_modules/npm/cli.js");
  world.path(node + "/bin");
  EXPECT_EQ(exposed(world.resolved("node")), (Names{node + "/bin", node + "/lib"}));
  EXPECT_EQ(exposed(world.resolved("npm")), (Names{node + "/bin", node + "/lib"}));
}

TEST(Toolchains, EachKnownRootIsFound) {
  struct Case {
    const char *command, *shown;
  };
  for (auto [command, shown] : {
           Case{"/home/ada/.asdf/shims/node", "/home/ada/.asdf/shims"},
           Case{"/home/ada/.local/share/mise/shims/go", "/home/ada/.local/share/mise/shims"},
           Case{"/home/ada/.local/share/fnm/node-versions/v20/installation/bin/node",
                "/home/ada/.local/share/fnm/node-versions"},
           Case{"/home/ada/.volta/bin/node", "/home/ada/.volta"},
           Case{"/home/ada/.sdkman/candidates/java/17/bin/java", "/home/ada/.sdkman/candidates"},
           Case{"/home/ada/.rbenv/shims/ruby", "/home/ada/.rbenv"},
           Case{"/home/linuxbrew/.linuxbrew/bin/jq", "/home/linuxbrew/.linuxbrew/bin"},
           Case{"/nix/store/abc-hello/bin/hello", "/nix/store"},
           Case{"/home/ada/go/bin/gopls", "/home/ada/go/bin/gopls"},
           Case{"/home/bob/.pyenv/shims/python", "/home/bob/.pyenv"},
           Case{"/root/.local/bin/static", "/root/.local/bin/static"},
       }) {
    World world;
    world.files.program(command);
    EXPECT_EQ(exposed(world.resolved(command)), Names{shown}) << command;
  }
}

TEST(Toolchains, AGoTreeIsKnownByItsRuntime) {
  World world;
  world.files.program("/home/ada/sdk/go1.22/bin/go")
      .file("/home/ada/sdk/go1.22/src/runtime/proc.go");
  world.caller.environment["GOROOT"] = "/home/ada/sdk/go1.22";
  Policy policy = world.resolved("/home/ada/sdk/go1.22/bin/go");
  EXPECT_EQ(exposed(policy), (Names{"/home/ada/sdk/go1.22/bin", "/home/ada/sdk/go1.22/src"}));
  EXPECT_EQ(variable(policy, "GOROOT"), "/home/ada/sdk/go1.22");
}

TEST(Toolchains, ANixProfileIsALinkIntoTheStore) {
  World world;
  world.files.program("/nix/store/h1-hello/bin/hello");
  world.files.link("/nix/store/p1-profile/bin/hello", "/nix/store/h1-hello/bin/hello");
  world.files.link("/home/ada/.nix-profile", "/home/ada/.local/state/nix/profile");
  world.files.link("/home/ada/.local/state/nix/profile", "/nix/store/p1-profile");
  Policy policy = world.path("/home/ada/.nix-profile/bin").resolved("hello");
  EXPECT_EQ(exposed(policy), (Names{"/nix/store"}));
  EXPECT_EQ(linked(policy),
            (Names{"/home/ada/.local/state/nix/profile -> /nix/store/p1-profile",
                   "/home/ada/.nix-profile -> /home/ada/.local/state/nix/profile"}));
}

TEST(Toolchains, AUserProgramThatIsALinkIsMadeALinkAgain) {
  World world;
  std::string venv = "/home/ada/.local/share/pipx/venvs/black";
  world.files.program(venv + "/bin/black", "#!" + venv + "/bin/python\n");
  world.files.link(venv + "/bin/python", "/usr/bin/python3")
      .file(venv + "/pyvenv.cfg", "home = /usr/bin");
  world.files.link("/home/ada/.local/bin/black", "../share/pipx/venvs/black/bin/black");
  world.files.program("/home/ada/.local/bin/other");
  Policy policy = world.path("/home/ada/.local/bin").resolved("black");
  EXPECT_EQ(exposed(policy), (Names{venv + "/bin", venv + "/pyvenv.cfg"}));
  EXPECT_EQ(linked(policy),
            (Names{"/home/ada/.local/bin/black -> ../share/pipx/venvs/black/bin/black"}));
}

TEST(Toolchains, AnInstallationBehindALinkIsSeenAtBothNames) {
  World world;
  world.files.program("/data/pyenv/shims/python").link("/home/ada/.pyenv", "/data/pyenv");
  Policy policy = world.path("/home/ada/.pyenv/shims").resolved("python");
  EXPECT_EQ(exposed(policy), (Names{"/data/pyenv"}));
  EXPECT_EQ(linked(policy), (Names{"/home/ada/.pyenv -> /data/pyenv"}));
}

TEST(Toolchains, AnUnknownPlaceInAHomeFolderIsLeftOutWithANote) {
  World world;
  world.files.program("/home/ada/bin/tool").program("/home/ada/project/mine");
  Policy policy = world.path("/home/ada/bin").resolved("tool");
  EXPECT_TRUE(exposed(policy).empty());
  ASSERT_EQ(policy.notes.size(), 1u);
  EXPECT_NE(policy.notes[0].find("--mount /home/ada/bin:/home/ada/bin:ro"), std::string::npos);
  EXPECT_TRUE(world.resolved("./mine").notes.empty()) << "it lies in the current folder";
}

TEST(Toolchains, AHomeFolderIsNeverAnInstallation) {
  World world;
  world.files.file("/home/ada/pyvenv.cfg", "home = /usr/bin").program("/home/ada/bin/go");
  world.files.file("/home/ada/src/runtime/proc.go")
      .folder("/home/ada/lib")
      .folder("/home/ada/conda-meta");
  world.files.program("/home/ada/.local/bin/py").file("/home/ada/.local/pyvenv.cfg");
  for (const char* name : {"PYENV_ROOT", "GOPATH", "CARGO_HOME", "VOLTA_HOME", "RBENV_ROOT"})
    world.caller.environment[name] = "/home/ada";
  EXPECT_TRUE(exposed(world.resolved("/home/ada/bin/go")).empty());
  EXPECT_EQ(exposed(world.resolved("/home/ada/.local/bin/py")), (Names{"/home/ada/.local/bin/py"}));
  world.caller.environment["VOLTA_HOME"] = "/";
  EXPECT_TRUE(exposed(world.resolved("/home/ada/bin/go")).empty());
}

TEST(Toolchains, AProjectCantTalkItsWayToAPrivateFile) {
  World world;
  world.files.file("/home/ada/.ssh/id_ed25519").folder("/home/ada/.aws");
  world.files.program("/home/ada/project/a", "#!/home/ada/.ssh/id_ed25519\n");
  world.files.link("/home/ada/project/b", "/home/ada/.ssh/id_ed25519");
  world.files.program("/home/ada/project/venv/bin/python");
  world.files.file("/home/ada/project/venv/pyvenv.cfg", "home = /home/ada/.aws\n");
  // One that points out of itself, in the current folder and beside it.
  for (std::string venv : {"/home/ada/project/evil", "/home/ada/beside"}) {
    world.files.program(venv + "/bin/python").file(venv + "/pyvenv.cfg");
    world.files.link(venv + "/lib", "/home/ada/.ssh").link(venv + "/share", "../.aws");
  }
  EXPECT_EQ(exposed(world.resolved("/home/ada/beside/bin/python")),
            (Names{"/home/ada/beside/bin", "/home/ada/beside/pyvenv.cfg"}));
  for (const char* command : {"./a", "./b", "venv/bin/python", "evil/bin/python"}) {
    Policy policy = world.resolved(command);
    EXPECT_TRUE(exposed(policy).empty()) << command;
    EXPECT_TRUE(policy.links.empty()) << command;
  }
}

TEST(Toolchains, VariablesOfOtherToolchainsStayOut) {
  World world;
  world.files.program("/home/ada/.pyenv/shims/python").folder("/home/ada/venv");
  world.caller.environment["VIRTUAL_ENV"] = "/home/ada/venv";
  world.caller.environment["JAVA_HOME"] = "/usr/lib/jvm/x";
  Policy policy = world.resolved("/home/ada/.pyenv/shims/python");
  EXPECT_EQ(variable(policy, "VIRTUAL_ENV"), "(unset)");
  EXPECT_EQ(variable(policy, "JAVA_HOME"), "(unset)");
  EXPECT_EQ(variable(policy, "PYENV_ROOT"), "/home/ada/.pyenv");
}

TEST(LinkWalk, FollowsLinksInTheMiddleAndCountsThem) {
  FakeHostFiles files;
  files.folder("/a/real/sub")
      .folder("/b/deep")
      .link("/a/l", "real")
      .link("/a/real/up", "../../b/deep");
  LinkWalk walk = walk_links("/a/l/up/..", files);
  EXPECT_TRUE(walk.complete);
  EXPECT_EQ(walk.end(), "/b");
  EXPECT_EQ(walk.links.size(), 2u);
  files.link("/loop", "loop");
  EXPECT_FALSE(walk_links("/loop", files).complete);
}

}  // namespace
}  // namespace caisson
