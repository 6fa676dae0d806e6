// Claim: each control holds by itself. Where several stop the same attack, the loss of one is seen
// here by the mark that it alone leaves; tests/mutants takes each away and looks for a failure.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "paused.h"

namespace caisson::boundary {
namespace {

// Needs nothing of the cell but that it is made. Whatever a mutant lacks, this passes: so a failure
// of another test is not one of a cell that never came to be.
TEST(Marks, ACellIsMade) {
  EXPECT_TRUE(ended_with(run({caisson_binary(), "exec", "--", "/bin/true"}), 0));
}

// By a program of the system: without its own mounts a cell would not have the probes either.
TEST(Marks, T01_TheMountsAreTheCellsOwn) {
  const Words look{"/usr/bin/readlink", "/proc/self/ns/mnt"};
  Outcome inside = run(Words{caisson_binary(), "exec", "--"} + look), outside = run(look);
  EXPECT_TRUE(ended_with(inside, 0));
  EXPECT_TRUE(inside.out.starts_with("mnt:[")) << inside.out;
  EXPECT_TRUE(outside.out.starts_with("mnt:[")) << outside.out;
  EXPECT_NE(inside.out, outside.out);
}

// Landlock keeps the program from pid 1 as well. What only the missing dump flag does: the kernel
// gives the process's files in /proc to the host's root, who has no name in the cell (proc(5)).
TEST(Marks, T24_T25_TheFilesOfPidOneBelongToNobodyInside) {
  for (const char* name : {"/proc/1/environ", "/proc/1/mem", "/proc/1/maps"}) {
    std::string pid_one = in_cell({"stat", name}).detail;
    EXPECT_NE(pid_one.find(" uid=65534 gid=65534 "), std::string::npos) << name << " " << pid_one;
  }
  std::string own = " uid=" + std::to_string(::geteuid()) + " ";
  EXPECT_NE(in_cell({"stat", "/proc/self/environ"}).detail.find(own), std::string::npos);
}

std::string comm_of(pid_t pid) { return read_file("/proc/" + std::to_string(pid) + "/comm"); }

pid_t parent_of(pid_t pid) {
  for (const std::string& line : lines(read_file("/proc/" + std::to_string(pid) + "/status")))
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  return 0;
}

// The process that sweeps the cgroups of a caisson that was killed; 0 when it has none.
pid_t sweeper_of(const std::string& marker, pid_t caisson) {
  for (pid_t pid : processes_with(marker))  // it shares caisson's memory, and so its command line
    if (comm_of(pid) == "caisson-sweeper\n" && parent_of(pid) == caisson) return pid;
  return 0;
}

int programs_of(const std::string& marker) {
  int found = 0;
  for (pid_t pid : processes_with(marker))
    found += read_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with("/probe/probe");
  return found;
}

// The folders that caisson made for the cell of this process.
std::vector<std::string> cgroups_of(pid_t pid) {
  std::vector<std::string> folders;
  for (const std::string& line : lines(read_file("/proc/" + std::to_string(pid) + "/cgroup"))) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    std::string names = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.find("caisson") == std::string::npos) continue;
    std::string folder = "/sys/fs/cgroup/" + names.substr(names.find('=') + 1) + path;
    if (exists(folder)) folders.push_back(folder);
  }
  return folders;
}

// The sweeper would kill what is left in the cgroup. It is held still, so that nobody but the
// kernel can end the cell: by the parent-death signal, which a change of ids on the way would
// clear.
TEST(Marks, T29_TheCellEndsWithCaissonThoughNobodySweeps) {
  const std::string marker = random_word();
  Process caisson(exec_line({"/probe/probe", "sleep-long", "20", marker}));
  ASSERT_TRUE(eventually([&] { return programs_of(marker) == 1; }));
  pid_t sweeper = sweeper_of(marker, caisson.pid());
  if (as_root()) {
    EXPECT_NE(sweeper, 0) << "control: the sweeper can be seen";
  }
  if (sweeper) ::kill(sweeper, SIGSTOP);
  caisson.send(SIGKILL);
  EXPECT_EQ(caisson.finish().signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return programs_of(marker) == 0; }, 3s));
  if (sweeper) ::kill(sweeper, SIGCONT);
  for (pid_t pid : processes_with(marker))
    if (pid != sweeper) ::kill(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(marker).empty(); }));
}

// The sweeper's own part: nobody else removes the cgroups of a caisson that was killed.
TEST(Marks, T29_TheCgroupsOfAKilledCaissonAreSwept) {
  const std::string marker = random_word();
  Process caisson(exec_line({"/probe/probe", "sleep-long", "20", marker}));
  ASSERT_TRUE(eventually([&] { return programs_of(marker) == 1; }));
  std::vector<std::string> folders;
  for (pid_t pid : processes_with(marker))
    for (const std::string& folder : cgroups_of(pid)) folders.push_back(folder);
  if (as_root()) {
    EXPECT_FALSE(folders.empty()) << "control: the cell's cgroups can be seen";
  }
  caisson.send(SIGKILL);
  EXPECT_EQ(caisson.finish().signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return programs_of(marker) == 0; }));
  for (const std::string& folder : folders) {
    EXPECT_TRUE(eventually([&] { return !exists(folder); }, 3s)) << folder;
    ::rmdir(folder.c_str());  // not to be left behind by a mutant
  }
}

// Read where it stands: what a loop gets of a processor depends on who else wants it.
TEST(Marks, T55_TheShareOfTheProcessorStandsInTheCgroup) {
  const std::string marker = random_word();
  const Words wait{"/probe/probe", "wait", "20", marker}, share{"--cpu", "0.3"};
  if (run_cell({"/bin/true"}, share).code == 125) {  // no cpu controller for this caller
    EXPECT_FALSE(as_root()) << "root has one";
    EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, share + Words{"--best-effort", "cpu"}), 0));
    return;
  }
  Process caisson(exec_line(wait, share));
  ASSERT_TRUE(caisson.wait_for_output("ready"));
  std::string found;
  for (pid_t pid : processes_with(marker))
    for (const std::string& folder : cgroups_of(pid))
      for (const char* file : {"/cpu.cfs_quota_us", "/cpu.max"})
        if (exists(folder + file)) found = read_file(folder + file);
  EXPECT_TRUE(found == "30000\n" || found == "30000 100000\n") << found;
}

// The race of Race.T03_T04, won every time: between the look and the use of it, "vault" takes the
// place of `name`. Undisturbed, the command says who it was that it was shown.
void expect_refused_when_replaced(const Words& words, const TempFolder& host, const char* name) {
  Outcome calm = run_paused_before_clone(words, [] {});
  EXPECT_TRUE(ended_with(calm, 0));
  EXPECT_EQ(calm.out, name);

  Outcome changed = run_paused_before_clone(words, [&] {
    EXPECT_EQ(::rename((host / name).c_str(), (host / "old").c_str()), 0);
    EXPECT_EQ(::rename((host / "vault").c_str(), (host / name).c_str()), 0);
  });
  EXPECT_TRUE(ended_with(changed, 125));
  EXPECT_EQ(changed.out, "");
}

void write_who(const TempFolder& host) {
  for (const char* place : {"source", "vault"}) {
    make_folder(host / place);
    write_file(host / place + "/who", place);
  }
}

TEST(Marks, T03_T04_ASourceThatChangesBetweenLookAndMountIsRefused) {
  TempFolder host;
  write_who(host);
  Words words{caisson_binary(), "exec"};
  words = words + mount(host / "source", "/given", "ro") + Words{"--", "/bin/cat", "/given/who"};
  expect_refused_when_replaced(words, host, "source");
}

// The same for an installation that nobody named: the one that the command was found in.
TEST(Marks, T03_T04_AToolchainThatChangesBetweenLookAndMountIsRefused) {
  TempFolder host;
  for (const char* place : {"venv", "vault"}) {
    make_folder(host / place + "/bin");
    write_file(host / place + "/pyvenv.cfg", "home = /usr/bin\n");
    write_file(host / place + "/bin/tool", std::string("#!/bin/sh\nprintf ") + place + "\n");
    EXPECT_EQ(::chmod((host / place + "/bin/tool").c_str(), 0755), 0);
  }
  expect_refused_when_replaced({caisson_binary(), "exec", "--", host / "venv/bin/tool"}, host,
                               "venv");
}

// And for the rule of the smaller tier, which has no mounts: it is a path that is looked up again.
TEST(Marks, T03_T04_ARuleThatWouldNameAnotherFolderIsRefused) {
  TempFolder host;
  write_who(host);
  Words words{caisson_binary(), "exec", "--tier", "landlock"};
  words = words + mount(host / "source", host / "source", "ro") +
          Words{"--", "/bin/cat", host / "source/who"};
  expect_refused_when_replaced(words, host, "source");
}

// A link that stands on the way to a target is refused by the policy. One that comes after the look
// must not lead the mount away either: here it would cover a folder of the system.
TEST(Marks, T03_ALinkThatComesBetweenLookAndMountIsNotFollowed) {
  TempFolder host;
  make_folder(host / "ws/way/share");
  make_folder(host / "other");
  write_file(host / "other/marker", "of the mount");
  auto words = [&](const std::string& file) {
    return Words{caisson_binary(), "exec", "--workspace", host / "ws"} +
           mount(host / "other", "/workspace/way/share", "ro") + Words{"--", "/bin/cat", file};
  };
  Outcome calm = run_paused_before_clone(words("/workspace/way/share/marker"), [] {});
  EXPECT_TRUE(ended_with(calm, 0));
  EXPECT_EQ(calm.out, "of the mount");

  Outcome changed = run_paused_before_clone(words("/usr/share/marker"), [&] {
    EXPECT_EQ(::rename((host / "ws/way").c_str(), (host / "ws/old").c_str()), 0);
    EXPECT_EQ(::symlink("../usr", (host / "ws/way").c_str()), 0);
  });
  EXPECT_TRUE(ended_with(changed, 125));
  EXPECT_EQ(changed.out, "");
}

// Where the host's mounts are shared, as most are, a copy goes on receiving what is mounted there.
// unshare(1) gives the caller such mounts, whatever those of this machine are.
TEST(Marks, T32_NothingThatTheHostMountsLaterArrives) {
  const Words shared{"/usr/bin/unshare", "--user",        "--map-current-user",
                     "--mount",          "--propagation", "shared"};
  const Words table{"/bin/cat", "/proc/self/mountinfo"};
  Outcome inside = run(shared + Words{caisson_binary(), "exec", "--"} + table);
  EXPECT_TRUE(ended_with(inside, 0));
  EXPECT_NE(inside.out.find(" / / "), std::string::npos) << inside.out;
  EXPECT_EQ(inside.out.find(" master:"), std::string::npos) << inside.out;
  EXPECT_EQ(inside.out.find(" shared:"), std::string::npos) << inside.out;
  EXPECT_NE(run(shared + table).out.find(" shared:"), std::string::npos);
}

// The host's root lies over the cell's for a moment; what is mounted there must be gone with it.
TEST(Marks, T01_OneRootIsLeft) {
  int roots = 0;
  for (const std::string& line : lines(in_cell({"read", "/proc/self/mountinfo"}).detail))
    if (line.find(" / / ") != std::string::npos) ++roots;
  EXPECT_EQ(roots, 1);
}

TEST(Marks, T13_NothingRunsFromProcDevAndEtc) {
  int seen = 0;
  for (const std::string& line : lines(in_cell({"read", "/proc/self/mountinfo"}).detail)) {
    for (const char* place : {" /proc ", " /dev/pts ", " /dev/null ", " /etc/"}) {
      size_t at = line.find(place);
      if (at == std::string::npos) continue;
      ++seen;
      EXPECT_NE(line.find("noexec", at), std::string::npos) << line;
    }
  }
  EXPECT_GE(seen, 3);
}

// A session keyring is inherited, and who possesses a key may use it. The calls are shut in a cell,
// but where /proc is not masked it lists what the reader possesses.
TEST(Marks, T35_TheCallersKeysDoNotComeAlong) {
  const std::string name = "caisson-" + random_word();
  constexpr int kJoinSession = 1, kRevoke = 3, kSetPermissions = 5, kSessionKeyring = -3;
  constexpr unsigned kPossessorAlone = 0x3f000000;
  ASSERT_GE(::syscall(SYS_keyctl, kJoinSession, nullptr), 0);
  long key = ::syscall(SYS_add_key, "user", name.c_str(), "x", 1ul, kSessionKeyring);
  ASSERT_GE(key, 0);
  ASSERT_EQ(::syscall(SYS_keyctl, kSetPermissions, key, kPossessorAlone), 0);
  Answer inside = in_cell({"read", "/proc/keys"}, {"--allow-nested"});
  EXPECT_TRUE(worked(inside));
  EXPECT_EQ(inside.detail.find(name), std::string::npos) << inside.detail;
  EXPECT_NE(on_host({"read", "/proc/keys"}).detail.find(name), std::string::npos);
  ::syscall(SYS_keyctl, kRevoke, key);
}

// Short on both sides: a cell that outlives its time ends soon by itself.
TEST(Marks, T55_ASleeperEndsAtTheTimeLimit) {
  EXPECT_TRUE(ended_with(run_cell({"/bin/sleep", "3"}, {"--timeout", "200ms"}), 124));
  EXPECT_TRUE(ended_with(run_cell({"/bin/sleep", "0"}, {"--timeout", "20s"}), 0));
}

// Whoever stops caisson, by ^Z or by kill -STOP, stops the clock that it keeps. The cell has
// another.
TEST(Marks, T55_T58_TheTimeLimitHoldsForACaissonThatIsStopped) {
  const std::string marker = random_word();
  Process caisson(exec_line({"/probe/probe", "sleep-long", "20", marker}, {"--timeout", "2s"}));
  ASSERT_TRUE(eventually([&] { return programs_of(marker) == 1; }));
  caisson.send(SIGSTOP);
  EXPECT_EQ(programs_of(marker), 1) << "control: a stop alone ends nothing";
  EXPECT_TRUE(eventually([&] { return programs_of(marker) == 0; }, 10s));
  caisson.send(SIGCONT);
  EXPECT_TRUE(ended_with(caisson.finish(), 124));
}

}  // namespace
}  // namespace caisson::boundary
