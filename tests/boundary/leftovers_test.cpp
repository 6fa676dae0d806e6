// Claim: the end is certain. No process, cgroup, mount or file of a cell outlives it, whatever the
// program does and however caisson ends.
#include <dirent.h>
#include <signal.h>

#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "cell.h"

namespace caisson::boundary {
namespace {

// What a test of ours made on the host, or failed to see ended, goes by its number.
void end_all(const std::vector<pid_t>& found) {
  for (pid_t pid : found) ::kill(pid, SIGKILL);
}

TEST(Leftovers, T28_T29_NoDaemonOutlivesTheRun) {
  for (const char* way : {"fork", "vfork", "clone", "clone3"}) {
    const std::string marker = random_word();
    const Words daemon{"daemon", "60", marker, way, "quiet"};
    Answer inside = in_cell(daemon);
    EXPECT_TRUE(worked(inside)) << way;  // it may daemonize: it just does not live on
    EXPECT_TRUE(processes_with(marker).empty()) << way;
    end_all(processes_with(marker));
    // Control: on the host it does.
    EXPECT_TRUE(worked(on_host(daemon))) << way;
    EXPECT_TRUE(eventually([&] { return !processes_with(marker).empty(); })) << way;
    end_all(processes_with(marker));
  }
}

// The cgroups of a cell, as its program's process shows them to the host.
std::set<std::string> cgroups_of(pid_t pid) {
  std::set<std::string> folders;
  for (const std::string& line : lines(read_file("/proc/" + std::to_string(pid) + "/cgroup"))) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    std::string names = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.find("caisson") == std::string::npos) continue;
    std::string base = names.empty() ? "" : "/" + names.substr(names.find('=') + 1);
    for (const std::string& root :
         {std::string("/sys/fs/cgroup") + base, std::string("/sys/fs/cgroup/unified")})
      if (exists(root + path)) folders.insert(root + path);
  }
  return folders;
}

struct Running {
  TempFolder temporary;  // TMPDIR and XDG_RUNTIME_DIR of caisson: must be empty afterwards
  std::string marker = random_word();
  Process caisson;
  Running()
      : caisson(exec_line({"/probe/probe", "sleep-long", "60", marker}, {"--memory", "64M"}),
                {.environment = {{"TMPDIR", temporary.path()},
                                 {"XDG_RUNTIME_DIR", temporary.path()}}}) {}
  // The program's process in the cell, once it has been executed.
  pid_t program() const {
    for (pid_t pid : processes_with(marker))
      if (read_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with("/probe/probe"))
        return pid;
    return 0;
  }
  bool gone() const { return processes_with(marker).empty(); }
  bool left_no_file() const { return std::filesystem::is_empty(temporary.path()); }
};

TEST(Leftovers, T29_T39_SigkillToCaissonEndsTheCell) {
  Running one;
  ASSERT_TRUE(eventually([&] { return one.program() != 0; }));
  std::set<std::string> cgroups = cgroups_of(one.program());
  if (as_root()) {
    EXPECT_FALSE(cgroups.empty()) << "control: the cell's cgroups can be seen";
  }
  one.caisson.send(SIGKILL);
  EXPECT_EQ(one.caisson.finish().signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return one.gone(); }));
  for (const std::string& folder : cgroups)
    EXPECT_TRUE(eventually([&] { return !exists(folder); })) << folder;
  EXPECT_TRUE(one.left_no_file());
}

TEST(Leftovers, T29_AnOrdinaryEndLeavesNothingEither) {
  Running one;
  ASSERT_TRUE(eventually([&] { return one.program() != 0; }));
  std::set<std::string> cgroups = cgroups_of(one.program());
  // The probe ignores polite signals; the third of a kind is not asked for.
  for (int i = 0; i < 3; ++i) one.caisson.send(SIGTERM);
  for (int i = 0; i < 20 && !one.gone(); ++i) one.caisson.send(SIGTERM), pause_briefly();
  Outcome outcome = one.caisson.finish();
  EXPECT_FALSE(outcome.late);
  EXPECT_TRUE(one.gone());
  for (const std::string& folder : cgroups) EXPECT_FALSE(exists(folder)) << folder;
  EXPECT_TRUE(one.left_no_file());
}

TEST(Leftovers, T29_ATimeoutEndsEverything) {
  const std::string marker = random_word();
  Outcome outcome = run_cell({"/bin/sh", "-c",
                              "/probe/probe daemon 60 " + marker +
                                  " fork keep-output; "
                                  "exec /probe/probe sleep-long 60 " +
                                  marker},
                             {"--timeout", "500ms"});
  EXPECT_TRUE(ended_with(outcome, 124));
  EXPECT_FALSE(outcome.held_open);
  EXPECT_TRUE(processes_with(marker).empty());
}

TEST(Leftovers, T29_SigkillAtAnyMomentLeavesNoProcess) {
  std::mt19937 random(20261115);
  std::uniform_int_distribution<long> delay(0, 9'000'000);
  const std::string marker = random_word();
  TempFolder temporary;
  for (int i = 0; i < 200; ++i) {
    Process caisson(exec_line({"/probe/probe", "sleep-long", "60", marker}, {"--memory", "64M"}),
                    {.environment = {{"TMPDIR", temporary.path()}}});
    timespec wait{0, delay(random)};
    ::nanosleep(&wait, nullptr);
    caisson.send(SIGKILL);
    caisson.finish();
  }
  // A cell that is being made has wiped the word for a moment: one that lives on shows it again.
  std::this_thread::sleep_for(500ms);
  EXPECT_TRUE(eventually([&] { return processes_with(marker).empty(); }))
      << processes_with(marker).size() << " processes of 200 cells live on";
  end_all(processes_with(marker));
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
}

TEST(Leftovers, T32_TheHostsMountTableIsNeverTouched) {
  TempFolder host;
  Process cell(exec_line({"/probe/probe", "wait", "30", "x"}, mount(host.path(), "/given", "rw")));
  ASSERT_TRUE(cell.wait_for_output("ready"));
  std::string during = read_file("/proc/self/mountinfo");
  EXPECT_EQ(during.find(host.path()), std::string::npos);
  EXPECT_EQ(during.find("caisson"), std::string::npos);
  cell.send(SIGKILL);
  cell.finish();
  EXPECT_EQ(read_file("/proc/self/mountinfo").find(host.path()), std::string::npos);
}

// systemd shares all mounts of a host, and what is mounted on one then shows on its peers. Not so
// everywhere: unshare(1) gives caisson such mounts, whatever those of this machine are, and no
// peers of the host's. The first cell mounts one folder below the other; a second one would meet
// what it left.
TEST(Leftovers, T32_NorIsATableWhoseMountsAreShared) {
  TempFolder host;
  std::filesystem::create_directory(host / "below");
  Words shared{"/usr/bin/unshare", "--mount", "--propagation", "shared"};
  if (as_root())
    shared = Words{"/usr/bin/unshare", "--mount", "--propagation", "private"} + shared;
  else
    shared.insert(shared.begin() + 1, {"--user", "--map-current-user"});
  const Words twice{"/bin/sh", "-c",
                    "grep -c \"$0\" /proc/self/mountinfo; \"$@\" && \"$@\"; echo ended $?; "
                    "grep -c \"$0\" /proc/self/mountinfo",
                    host.path()};
  Outcome cells = run(shared + twice +
                      exec_line({"/bin/true"}, mount(host.path(), "/given", "rw") +
                                                   mount(host / "below", "/given/below", "ro")));
  EXPECT_EQ(cells.out, "0\nended 0\n0\n") << cells.err;
  if (!as_root()) return;  // nor could it put anything there
  // Control: the peer of a shared mount does show what is mounted on it.
  const Words peer{"/usr/bin/unshare", "--mount", "--propagation", "unchanged",
                   "/bin/mount",       "-t",      "tmpfs",         "tmpfs",
                   host / "below"};
  EXPECT_EQ(run(shared + twice + peer).out, "0\nended 0\n2\n");
}

TEST(Leftovers, T39_APoliteSignalReachesTheProgram) {
  Process cell(exec_line({"/bin/sh", "-c",
                          "trap 'echo handled; exit 9' TERM; echo ready; "
                          "while :; do read line; done"}),
               {.keep_input_open = true});
  ASSERT_TRUE(cell.wait_for_output("ready"));
  cell.send(SIGTERM);
  Outcome outcome = cell.finish();
  EXPECT_NE(outcome.out.find("handled"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.code, 9);
}

}  // namespace
}  // namespace caisson::boundary
