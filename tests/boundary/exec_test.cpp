// Claim: what may be executed is decided by the kernel, not by names; and no program gains rights
// by being executed.
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

#if defined(__x86_64__)
constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
#else
constexpr const char* kLoader = "/lib/ld-linux-aarch64.so.1";
#endif

std::vector<Words> roads() {
  return {{"exec", "/bin/true"},
          {"exec", "/probe/probe", "ids"},
          {"exec", "/bin/sh", "-c", "true"},
          {"exec", "/given/script"},
          {"exec", kLoader, "/bin/true"},
          {"exec", "/proc/self/exe", "ids"},
          {"exec-memfd", "/bin/true"},
          {"exec-memfd", "/probe/probe", "ids"},
          {"exec-copy", "/bin/true", "/tmp/another-name"},
          {"exec-copy", "/bin/true", "/given/another-name"},
          {"exec-copy", "/bin/true", "/dev/shm/another-name"}};
}

struct Given {
  TempFolder host;
  Given() {
    write_file(host / "script", "#!/bin/sh\ntrue\n");
    ::chmod((host / "script").c_str(), 0755);
  }
  Words options() const { return mount(host.path(), "/given", "rw"); }
};

TEST(Exec, T26_T27_WithNoExecNoRoadLeadsToAnotherProgram) {
  for (const Words& road : roads()) {
    Given given;
    Answer inside = in_cell(road, given.options() + Words{"--no-exec"});
    EXPECT_TRUE(refused_with(inside, {EPERM, EACCES, ENOSYS})) << road[0] << " " << road[1];
  }
}

TEST(Exec, T26_T27_ControlWithoutNoExecEveryRoadWorks) {
  for (const Words& road : roads()) {
    Given given;
    EXPECT_TRUE(worked(in_cell(road, given.options()))) << road[0] << " " << road[1];
  }
}

TEST(Exec, T26_NoExecHoldsInAThreadAndInAChild) {
  // The shell forks before it executes; the probe above forks too. A script that is the program is
  // run by its interpreter, and that is the one program.
  Outcome outcome = run_cell({"/bin/sh", "-c", "/bin/true; echo code $?"}, {"--no-exec"});
  EXPECT_EQ(outcome.out.find("code 0"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("code 126"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(run_cell({"/bin/sh", "-c", "/bin/true; echo code $?"}).out.find("code 0"),
            std::string::npos);
}

TEST(Exec, T26_NoExecFindsTheProgramInPathAndSaysWhatItRefused) {
  EXPECT_TRUE(ended_with(run_cell({"true"}, {"--no-exec"}), 0));
  EXPECT_TRUE(ended_with(run_cell({"sh", "-c", "exit 7"}, {"--no-exec"}), 7));
  boost::json::object result = run_json({"sh", "-c", "/bin/true"}, {"--no-exec"});
  EXPECT_FALSE(result["denials"].as_array().empty());
}

// A copy under another name is the same program in the same cell.
TEST(Exec, T27_ACopyUnderAnotherNameGainsNothing) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Outcome outcome =
      run_cell({"/bin/sh", "-c",
                "cp /probe/probe /tmp/innocent && /tmp/innocent read " + (host / "secret")});
  EXPECT_TRUE(refused(parse_answer(outcome)));
  EXPECT_TRUE(worked(on_host({"read", host / "secret"})));
}

// run.sh leaves a set-uid root copy of a program that only tells its ids, for the ordinary user to
// try; root makes one that would turn it into somebody else.
class SetId : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* prepared = ::getenv("CAISSON_SETID"); prepared && !as_root()) {
      folder_ = prepared;
      return;
    }
    folder_ = host_.path();
    ::chmod(host_.path().c_str(), 0755);
    copy_program(probe_folder() + "/setid", host_ / "setid");
    if (as_root() && ::chown((host_ / "setid").c_str(), 54321, 54321) != 0) ::perror("chown");
    ::chmod((host_ / "setid").c_str(), 06755);
  }
  static std::string own_ids() {
    std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
    return "uid=" + uid + " euid=" + uid + " gid=" + gid + " egid=" + gid + " permitted=0";
  }
  TempFolder host_;
  std::string folder_;
};

TEST_F(SetId, T08_T30_ASetIdProgramInAMountedFolderChangesNobody) {
  for (const char* access : {"ro", "rw"}) {
    Outcome outcome = run_cell({"/given/setid"}, mount(folder_, "/given", access));
    EXPECT_EQ(parse_answer(outcome).detail, own_ids()) << outcome.err;
  }
  // Control: on the host it does. (Started by hand as an ordinary user there is nobody to become.)
  Answer outside = parse_answer(run({folder_ + "/setid"}));
  if (as_root() || ::getenv("CAISSON_SETID")) {
    EXPECT_EQ(outside.detail.find(own_ids().substr(0, own_ids().find(" gid"))), std::string::npos)
        << outside.detail;
  }
}

TEST_F(SetId, T30_NoSetIdBitCanBePlantedForLater) {
  TempFolder workspace;
  Words options{"--workspace", workspace.path()};
  for (const char* mode : {"4755", "2755", "6755"}) {
    std::string copy = std::string("/workspace/planted-") + mode;
    Answer inside = in_cell({"plant", "/probe/setid", copy, mode}, options);
    struct stat info {};
    ::lstat((workspace / ("planted-" + std::string(mode))).c_str(), &info);
    EXPECT_EQ(info.st_mode & 06000, 0u) << mode << " " << inside.name;
  }
  EXPECT_TRUE(worked(on_host({"plant", probe_folder() + "/setid", workspace / "planted", "4755"})));
}

// A file that is born with the bit keeps it when root writes to it, as caisson's own output may.
TEST_F(SetId, T30_NoFileIsBornWithASetIdBit) {
  TempFolder workspace;
  Words options{"--workspace", workspace.path()};
  for (const char* call : {"open", "creat", "mknod", "openat2"})
    for (const char* mode : {"4755", "2705"}) {
      std::string name = std::string(call) + mode;
      EXPECT_TRUE(refused(in_cell({"create-mode", "/workspace/" + name, mode, call}, options)))
          << name;
      struct stat info {};
      EXPECT_NE(::lstat((workspace / name).c_str(), &info), 0) << name;
      EXPECT_TRUE(worked(on_host({"create-mode", workspace / name, mode, call}))) << name;
    }
  EXPECT_TRUE(worked(in_cell({"create-mode", "/workspace/plain", "755", "open"}, options)));
}

TEST_F(SetId, T30_TheSetIdProgramsOfTheSystemGiveNothing) {
  Outcome outcome = run_cell({"/bin/sh", "-c",
                              "for one in su mount passwd newgrp; do "
                              "command -v $one && ls -ln $(command -v $one); done"});
  ASSERT_TRUE(outcome.out.find("su") != std::string::npos);
  EXPECT_TRUE(worked(in_cell({"stat", "/usr/bin/su"})));
  EXPECT_NE(in_cell({"read", "/proc/self/status"}).detail.find("NoNewPrivs:\t1"),
            std::string::npos);
  EXPECT_NE(on_host({"read", "/proc/self/status"}).detail.find("NoNewPrivs:\t0"),
            std::string::npos);
}

}  // namespace
}  // namespace caisson::boundary
