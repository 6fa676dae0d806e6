// Claim: /proc shows the cell and not the host, and nothing can be changed through it.
#include <errno.h>

#include <algorithm>

#include "cell.h"

namespace caisson::boundary {
namespace {

int count_processes(const std::string& listing) {
  std::vector<std::string> names = lines(listing);
  return static_cast<int>(std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](unsigned char c) { return ::isdigit(c); });
  }));
}

TEST(Proc, T19_OnlyTheCellsOwnProcessesAreThere) {
  EXPECT_EQ(count_processes(in_cell({"list", "/proc"}).detail), 2);
  EXPECT_GT(count_processes(on_host({"list", "/proc"}).detail), 2);
}

TEST(Proc, T19_TheRootOfPidOneIsNoWayOut) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  for (const char* alias : {"/proc/1/root", "/proc/1/cwd", "/proc/self/root", "/proc/self/cwd",
                            "/proc/self/task/1/root", "/proc/1/task/1/root"})
    EXPECT_TRUE(refused(in_cell({"read", alias + (host / "secret")}))) << alias;
  EXPECT_TRUE(worked(on_host({"read", "/proc/self/root" + (host / "secret")})));
  EXPECT_TRUE(worked(in_cell({"read", "/proc/self/root/etc/passwd"})));
}

TEST(Proc, T19_T39_PidOneShowsNothingOfItself) {
  for (const char* name : {"root", "cwd", "exe", "ns/user", "ns/mnt"})
    EXPECT_TRUE(refused(in_cell({"readlink", std::string("/proc/1/") + name}))) << name;
  // The kernel's root owns the folder of a process like this one, so root may list the numbers;
  // what stands behind them stays shut.
  for (int fd = 0; fd < 16; ++fd) {
    std::string name = "/proc/1/fd/" + std::to_string(fd);
    EXPECT_TRUE(refused(in_cell({"readlink", name}))) << name;
  }
  EXPECT_EQ(in_cell({"list", "/proc/1/map_files"}).detail, "");
  for (const char* name : {"mem", "environ", "maps", "auxv", "syscall", "stack", "pagemap"})
    EXPECT_TRUE(refused(in_cell({"read", std::string("/proc/1/") + name}))) << name;
  // Control: the program's own are open to it, in the cell as on the host.
  EXPECT_TRUE(worked(in_cell({"readlink", "/proc/self/exe"})));
  EXPECT_TRUE(worked(in_cell({"list", "/proc/self/fd"})));
  EXPECT_TRUE(worked(in_cell({"read", "/proc/self/environ"})));
  EXPECT_TRUE(worked(on_host({"read", "/proc/self/maps"})));
}

TEST(Proc, T18_TheRunningProgramCannotBeOverwrittenThroughItsLink) {
  TempFolder host;  // a copy that nobody else runs: a running file can't be opened for writing
  copy_program(probe_folder() + "/probe", host / "probe");
  auto in_folder = [&](const char* access, const Words& probe) {
    return parse_answer(
        run_cell(Words{"/given/probe"} + probe, mount(host.path(), "/given", access)));
  };
  EXPECT_TRUE(refused(in_folder("ro", {"overwrite-exe", "/proc/self/exe"})));
  EXPECT_TRUE(worked(in_folder("rw", {"overwrite-exe", "/proc/self/exe"})));
  EXPECT_TRUE(worked(parse_answer(run({host / "probe", "overwrite-exe", "/proc/self/exe"}))));
}

TEST(Proc, T18_TheRuntimeCannotBeReachedThroughTheLinkOfPidOne) {
  for (const char* link : {"/proc/1/exe", "/proc/1/task/1/exe"}) {
    EXPECT_TRUE(refused(in_cell({"overwrite-exe", link}))) << link;
    EXPECT_TRUE(refused(in_cell({"open-write", link}))) << link;
  }
  Process target({probe_folder() + "/probe", "wait", "30", "x"});  // control: on the host the link
  ASSERT_TRUE(target.wait_for_output("ready"));                    // of another process opens
  EXPECT_TRUE(worked(on_host({"read", "/proc/" + std::to_string(target.pid()) + "/exe"})));
}

TEST(Proc, T20_T65_WhatTellsOfTheKernelIsMasked) {
  for (const char* name :
       {"kcore",    "kallsyms",    "kmsg",         "keys",        "key-users",
        "modules",  "interrupts",  "timer_list",   "sched_debug", "schedstat",
        "slabinfo", "vmallocinfo", "pagetypeinfo", "kpageflags",  "kpagecount",
        "cmdline",  "partitions",  "diskstats",    "locks",       "sysrq-trigger"}) {
    Answer inside = in_cell({"read", std::string("/proc/") + name});
    EXPECT_TRUE(inside.error != 0 || inside.detail.empty()) << name << ": " << inside.detail;
  }
  for (const char* name : {"bus", "fs", "irq", "scsi", "acpi", "driver", "asound"}) {
    Answer inside = in_cell({"list", std::string("/proc/") + name});
    EXPECT_TRUE(inside.error != 0 || inside.detail.empty()) << name << ": " << inside.detail;
  }
  // Control: these any user can read on any kernel.
  for (const char* name : {"interrupts", "cmdline", "partitions"})
    EXPECT_NE(on_host({"read", std::string("/proc/") + name}).detail, "") << name;
  EXPECT_NE(on_host({"list", "/proc/fs"}).detail, "");
}

TEST(Proc, T20_AMaskCannotBeTakenAway) {
  for (const char* name : {"/proc/kcore", "/proc/fs", "/proc"})
    EXPECT_TRUE(refused(in_cell({"umount", name}))) << name;
  EXPECT_TRUE(refused(in_cell({"unlink", "/proc/kcore"})));
  EXPECT_TRUE(refused(in_cell({"rename", "/proc/kcore", "/proc/kcore-old"})));
  TempFolder host;
  EXPECT_TRUE(
      worked(in_own_namespaces({"after-mount", "tmpfs", host.path(), "umount", host.path()})));
}

const char* const kSwitches[] = {
    "/proc/sys/kernel/core_pattern",     "/proc/sysrq-trigger",
    "/proc/sys/kernel/hostname",         "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/modprobe",         "/proc/sys/fs/suid_dumpable",
    "/proc/sys/net/ipv4/ip_forward",     "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/user/max_user_namespaces"};

TEST(Proc, T22_NoSwitchOfTheKernelCanBeOpenedForWriting) {
  for (const char* path : kSwitches) EXPECT_TRUE(refused(in_cell({"open-write", path}))) << path;
  // Control: root on the host can open them (nothing is written). An ordinary user can't even
  // there; for both, a file of /proc that anybody may write shows that the probe works.
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"open-write", "/proc/sys/kernel/core_pattern"})));
  }
  EXPECT_TRUE(worked(on_host({"open-write", "/proc/self/comm"})));
}

TEST(Proc, T22_ProcItselfIsReadOnly) {
  for (const char* name : {"comm", "oom_score_adj", "clear_refs", "attr/current", "uid_map",
                           "setgroups", "coredump_filter", "timens_offsets"})
    EXPECT_TRUE(refused(in_cell({"open-write", std::string("/proc/self/") + name}))) << name;
  EXPECT_TRUE(worked(on_host({"open-write", "/proc/self/oom_score_adj"})));
}

// The core of a crash would be written, or piped to a program, by the host's kernel.
TEST(Proc, T23_ACrashLeavesNoCore) {
  TempFolder host, outside;
  RunOptions how{.allow_core = true};
  Outcome outcome = run_cell({"/probe/probe", "crash"}, {"--workspace", host.path()}, how);
  EXPECT_TRUE(ended_with(outcome, 128 + 6));
  EXPECT_EQ(on_host({"list", host.path()}).detail, "");
  EXPECT_EQ(in_cell({"rlimit", "4"}, {}, how).detail, "1 1");
  // Control: where the host writes cores beside the program, the same crash leaves one.
  std::string pattern = read_file("/proc/sys/kernel/core_pattern");
  how.folder = outside.path();
  EXPECT_EQ(run({probe_folder() + "/probe", "crash"}, how).signal, 6);
  if (pattern.find_first_of("/|") == std::string::npos) {
    EXPECT_NE(on_host({"list", outside.path()}).detail, "");
  }
}

// One byte is less than any core, and the one value at which the kernel doesn't start the program
// that a core_pattern with "|" names; at 0 it does (core(5)). So the limit must not be lowered,
// either.
TEST(Proc, T23_TheLimitOnCoresCannotBeChanged) {
  RunOptions how{.allow_core = true};
  EXPECT_TRUE(refused(in_cell({"raise-limit", "4"}, {}, how)));
  for (const char* call : {"prlimit64", "setrlimit"}) {
    EXPECT_TRUE(refused(in_cell({"zero-limit", "4", call}, {}, how))) << call;
    EXPECT_TRUE(worked(on_host({"zero-limit", "4", call}, how))) << call;
  }
  EXPECT_TRUE(worked(on_host({"raise-limit", "4"}, how)));
}

TEST(Proc, T63_NeitherLimitsOfOthersNorWhatIsCountedForTheMachine) {
  for (const char* probe : {"limit-of-child", "aio-context"}) {
    EXPECT_TRUE(refused(in_cell({probe}))) << probe;
    EXPECT_TRUE(worked(on_host({probe}))) << probe;
  }
}

}  // namespace
}  // namespace caisson::boundary
