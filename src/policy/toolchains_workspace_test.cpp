#include "policy/toolchains_fixture.h"

namespace caisson {
namespace {

using namespace toolchains_test;

// What an earlier cell can have written in the current folder: each asks for something of the home.
struct Workspace : World {
  std::string venv = "/home/ada/project/venv";
  Workspace() {
    files.program("/home/ada/.local/bin/deploy", "#!/bin/sh\ntoken=…\n");
    files.program("/home/ada/secret/.venv/bin/python").folder("/home/ada/secret/.venv/lib");
    files.file("/home/ada/secret/.venv/pyvenv.cfg", "home = /usr/bin\n");
    files.program("/home/ada/.pyenv/versions/3.11/bin/python3");
    files.program(venv + "/bin/python");
    path("/home/ada/.local/bin");
  }
  Workspace& home(const std::string& folder) {
    files.file(venv + "/pyvenv.cfg", "home = " + folder + "\n");
    return *this;
  }
  Names seen(const std::string& command) const { return exposed(resolved(command)); }
};

TEST(ToolchainsOfAWorkspace, PyvenvCfgNamesABaseInterpreterOrNothing) {
  EXPECT_EQ(Workspace().home("/home/ada/.pyenv/versions/3.11/bin").seen("venv/bin/python"),
            (Names{"/home/ada/.pyenv"}));
  for (const char* home :
       {"/home/ada/.local/bin/deploy", "/home/ada/.local/bin", "/home/ada/secret/.venv/bin",
        "/home/ada/secret/.venv", "/home/ada/.pyenv", "/home/ada/.pyenv/versions/3.11",
        "/home/ada/.pyenv/versions/3.11/bin/python3", "/home/ada/.pyenv/versions/none/bin",
        "../../.pyenv/versions/3.11/bin", "venv/bin", "/", ""}) {
    Policy policy = Workspace().home(home).resolved("venv/bin/python");
    EXPECT_TRUE(exposed(policy).empty()) << home;
    EXPECT_TRUE(policy.links.empty()) << home;
  }
}

TEST(ToolchainsOfAWorkspace, OnlyInstallationsThatHoldPythonsAreABase) {
  struct Case {
    const char *root, *bin, *shown;
  };
  for (auto [root, bin, shown] : {
           Case{"/home/ada/.asdf/installs", "/home/ada/.asdf/installs/python/3.11/bin",
                "/home/ada/.asdf/installs"},
           Case{"/home/ada/.local/share/mise/installs",
                "/home/ada/.local/share/mise/installs/python/3.12/bin",
                "/home/ada/.local/share/mise/installs"},
           Case{"/nix/store", "/nix/store/h-python3/bin", "/nix/store"},
           Case{"/home/linuxbrew/.linuxbrew/opt", "/home/linuxbrew/.linuxbrew/opt/python@3.11/bin",
                "/home/linuxbrew/.linuxbrew/opt"},
           Case{"/home/ada/.nvm", "/home/ada/.nvm/versions/node/v20/bin", ""},
           Case{"/home/ada/.cargo", "/home/ada/.cargo/bin", ""},
           Case{"/home/ada/.volta", "/home/ada/.volta/bin", ""},
           Case{"/home/ada/.bun", "/home/ada/.bun/bin", ""},
           Case{"/home/ada/.local/share/pipx", "/home/ada/.local/share/pipx/venvs/x/bin", ""},
           Case{"/home/ada/.local/share/uv", "/home/ada/.local/share/uv/tools/x/bin", ""},
           Case{"/home/ada/opt", "/home/ada/opt/python/bin", ""},
       }) {
    Workspace one;
    one.files.folder(root).program(std::string(bin) + "/python3.11");
    EXPECT_EQ(one.home(bin).seen("venv/bin/python"), *shown ? Names{shown} : Names{}) << bin;
  }
}

TEST(ToolchainsOfAWorkspace, ABaseHasAPythonOfItsOwnAndIsNoVirtualenv) {
  Workspace one;
  one.files.program("/home/ada/.asdf/installs/nodejs/20/bin/node");
  EXPECT_TRUE(one.home("/home/ada/.asdf/installs/nodejs/20/bin").seen("venv/bin/python").empty());
  std::string named = "/home/ada/.pyenv/versions/private";
  one.files.program(named + "/bin/python3").file(named + "/pyvenv.cfg");
  EXPECT_TRUE(one.home(named + "/bin").seen("venv/bin/python").empty());
  EXPECT_EQ(one.seen(named + "/bin/python3"), (Names{"/home/ada/.pyenv"})) << "the caller may";
}

TEST(ToolchainsOfAWorkspace, ACondaEnvironmentOfAProjectIsNobodysBase) {
  Workspace one;
  for (std::string env : {"/home/ada/secret/env", "/home/ada/conda/envs/data"})
    one.files.program(env + "/bin/python3").folder(env + "/conda-meta").folder(env + "/lib");
  one.files.folder("/home/ada/conda/condabin").folder("/home/ada/conda/conda-meta");
  EXPECT_TRUE(one.home("/home/ada/secret/env/bin").seen("venv/bin/python").empty());
  std::string env = "/home/ada/conda/envs/data";
  EXPECT_EQ(one.home(env + "/bin").seen("venv/bin/python"),
            (Names{env + "/bin", env + "/conda-meta", env + "/lib"}));
  EXPECT_EQ(one.seen("/home/ada/secret/env/bin/python3").size(), 3u) << "the caller may";
}

TEST(ToolchainsOfAWorkspace, ALinkLeadsToABaseInterpreterOrNowhere) {
  struct Case {
    const char *link, *target, *command;
  };
  for (auto [link, target, command] :
       {Case{"venv/bin/py", "/home/ada/secret/.venv/bin/python", "venv/bin/py"},
        Case{"venv/bin/python3", "/home/ada/secret/.venv/bin/python", "venv/bin/python3"},
        Case{".venv", "/home/ada/secret/.venv", ".venv/bin/python"},
        Case{"bin", "/home/ada/.local/bin", "bin/deploy"},
        Case{"tool", "/home/ada/.local/bin/deploy", "./tool"},
        Case{"node", "/home/ada/.nvm/versions/node/v20/bin/node", "./node"},
        Case{"two", "/home/ada/way", "./two"}}) {
    Workspace one;
    one.files.program("/home/ada/.nvm/versions/node/v20/bin/node");
    one.files.link("/home/ada/way", ".local/bin/deploy");
    one.files.link(std::string("/home/ada/project/") + link, target);
    Policy policy = one.resolved(command);
    EXPECT_TRUE(exposed(policy).empty()) << link;
    EXPECT_TRUE(policy.links.empty()) << link;
    EXPECT_EQ(policy.notes.size(), 1u) << link;
  }
  Workspace one;
  one.files.link("/home/ada/project/py", "/home/ada/.pyenv/versions/3.11/bin/python3");
  EXPECT_EQ(one.seen("./py"), (Names{"/home/ada/.pyenv"}));
  EXPECT_EQ(one.seen("/home/ada/secret/.venv/bin/python").size(), 3u) << "the caller may";
}

TEST(ToolchainsOfAWorkspace, AFirstLineNamesABaseInterpreterOrWhatPathHas) {
  Workspace one;
  one.files.program("/home/ada/.pyenv/shims/python3", "#!/usr/bin/env bash\n");
  one.files.program("/home/ada/.local/bin/uv");
  auto seen = [&](const std::string& line) {
    one.files.program("/home/ada/project/run", "#!" + line + "\n");
    return one.seen("./run");
  };
  EXPECT_EQ(seen("/home/ada/.pyenv/versions/3.11/bin/python3"), (Names{"/home/ada/.pyenv"}));
  EXPECT_EQ(seen("/usr/bin/env -S uv run --script"), (Names{"/home/ada/.local/bin/uv"}));
  for (const char* line :
       {"/home/ada/.local/bin/deploy", "/home/ada/secret/.venv/bin/python",
        "/home/ada/.pyenv/shims/python3", "/usr/bin/env deploy",
        "/usr/bin/env /home/ada/.local/bin/deploy", "/usr/bin/env -S A=1 deploy x",
        "/usr/bin/env /home/ada/secret/.venv/bin/python", "/home/ada/project/env deploy"})
    EXPECT_TRUE(seen(line).empty()) << line;
  one.path("/home/ada/.pyenv/shims");
  EXPECT_EQ(seen("/usr/bin/env python3"), (Names{"/home/ada/.pyenv"})) << "by the caller's PATH";
  EXPECT_EQ(one.seen("deploy"), (Names{"/home/ada/.local/bin/deploy"})) << "the caller may";
}

// Shims read them, inside, and find what is visible.
TEST(ToolchainsOfAWorkspace, OtherFilesOfAProjectHaveNoSay) {
  Workspace one;
  one.files.program("/home/ada/.pyenv/shims/python3", "#!/usr/bin/env bash\n");
  one.path("/home/ada/.pyenv/shims");
  Policy before = one.resolved("python3");
  for (const char* name : {".python-version", ".tool-versions", ".nvmrc", "package.json"})
    one.files.file(std::string("/home/ada/project/") + name, "/home/ada/secret/.venv\n");
  EXPECT_EQ(one.resolved("python3"), before);
}

TEST(ToolchainsOfAWorkspace, AVirtualenvElsewhereIsNoMoreTrusted) {
  Workspace one;
  std::string venv = "/home/ada/other/venv";
  one.files.file(venv + "/pyvenv.cfg", "home = /home/ada/secret/.venv/bin\n");
  one.files.link(venv + "/bin/python", "/home/ada/secret/.venv/bin/python");
  one.files.program(venv + "/bin/tool", "#!/home/ada/.local/bin/deploy\n");
  for (const char* name : {"/bin/python", "/bin/tool"})
    EXPECT_EQ(one.seen(venv + name), (Names{venv + "/bin", venv + "/pyvenv.cfg"})) << name;
}

}  // namespace
}  // namespace caisson
