// Claim: a cell uses what it was granted. Bombs go off inside, and caisson tells the verdict.
#include <errno.h>

#include <algorithm>

#include "cell.h"

namespace caisson::boundary {
namespace {

namespace json = boost::json;

// Which mechanism holds a limit here: "cgroup v1", "cgroup v2", "rlimit", "affinity" …
std::string held_by(const json::object& result, const char* limit) {
  const json::value* by = result.at("limits").as_object().if_contains("enforced_by");
  const json::value* one = by ? by->as_object().if_contains(limit) : nullptr;
  return one ? std::string(one->as_string()) : "(nothing)";
}

bool tells_of(const json::object& result, std::string_view field) {
  for (const json::value& one : result.at("degradations").as_array())
    if (one.at("field").as_string() == field) return true;
  return false;
}

TEST(LimitsOfACell, T55_AForkBombMeetsTheLimitOnProcesses) {
  Answer small = in_cell({"forks", "200"}, {"--pids", "32"});
  EXPECT_TRUE(refused_with(small, {EAGAIN}));
  EXPECT_LT(std::stol(small.detail), 32);
  EXPECT_GE(std::stol(small.detail), 25);  // and the limit is not far below what was asked
  EXPECT_EQ(in_cell({"forks", "60"}, {"--pids", "128"}).detail, "60");
  EXPECT_EQ(on_host({"forks", "60"}).detail, "60");
}

TEST(LimitsOfACell, T55_ThreadsCountAsProcesses) {
  EXPECT_TRUE(refused_with(in_cell({"threads", "200"}, {"--pids", "32"}), {EAGAIN}));
  EXPECT_TRUE(worked(in_cell({"threads", "60"}, {"--pids", "128"})));
}

TEST(LimitsOfACell, T55_ARealForkBombEndsWithTheTimeLimit) {
  Outcome outcome = run_cell({"/bin/sh", "-c", "bomb() { bomb | bomb & }; bomb; wait; sleep 60"},
                             {"--pids", "24", "--timeout", "1s"});
  EXPECT_FALSE(outcome.late);
  EXPECT_FALSE(outcome.held_open);
  EXPECT_LT(outcome.duration, 20s);
}

TEST(LimitsOfACell, T55_AMemoryBombEndsInTheCell) {
  json::object result = run_json({"/probe/probe", "memory", "400M"}, {"--memory", "64M"});
  std::string told(result["stdout"].as_string());
  EXPECT_EQ(told.find("\"errno\":0"), std::string::npos) << told;
  if (held_by(result, "memory").starts_with("cgroup")) {
    EXPECT_EQ(result["status"], "oom");
    EXPECT_FALSE(tells_of(result, "memory"));
  } else {
    EXPECT_NE(told.find("ENOMEM"), std::string::npos) << told;
    EXPECT_TRUE(tells_of(result, "memory")) << "a limit per process is less than was asked";
  }
  EXPECT_TRUE(worked(in_cell({"memory", "30M"}, {"--memory", "64M"})));
  EXPECT_TRUE(worked(in_cell({"memory", "100M"}, {"--memory", "256M"})));
}

// Four processes of 40 MB each: together more than the cell has. Without a cgroup (an ordinary user
// here) each is limited alone, and the result says so.
TEST(LimitsOfACell, T55_ManySmallProcessesMeetTheLimitTogether) {
  const Words bomb{"/probe/probe", "memory-together", "4", "40M"};
  json::object result = run_json(bomb, {"--memory", "64M"});
  std::string told(result["stdout"].as_string());
  if (held_by(result, "memory").starts_with("cgroup")) {
    EXPECT_EQ(result["status"], "oom");
    EXPECT_EQ(told.find("\"errno\":0"), std::string::npos) << told;
  } else {
    EXPECT_TRUE(tells_of(result, "memory"));
  }
  EXPECT_TRUE(worked(in_cell({"memory-together", "4", "40M"}, {"--memory", "512M"})));
}

// Files of the private space are memory too.
TEST(LimitsOfACell, T55_ThePrivateSpaceDoesNotAddToTheMemory) {
  json::object result = run_json({"/probe/probe", "fill", "/tmp/full", "200M"},
                                 {"--memory", "64M", "--tmp-size", "32M"});
  EXPECT_NE(std::string(result["stdout"].as_string()).find("ENOSPC"), std::string::npos);
}

TEST(LimitsOfACell, T55_DescriptorsRunOut) {
  Answer small = in_cell({"use-fds", "500"}, {"--files", "64"});
  EXPECT_TRUE(refused_with(small, {EMFILE}));
  EXPECT_LE(std::stol(small.detail), 61);
  EXPECT_TRUE(worked(in_cell({"use-fds", "100"}, {"--files", "256"})));
}

TEST(LimitsOfACell, T55_ALoopEndsAtTheTimeLimit) {
  json::object result = run_json({"/probe/probe", "spin", "60000"}, {"--timeout", "300ms"});
  EXPECT_EQ(result["status"], "timeout");
  EXPECT_EQ(result["returncode"], 124);
  EXPECT_EQ(run_json({"/probe/probe", "spin", "50"}, {"--timeout", "20s"})["status"], "ok");
}

TEST(LimitsOfACell, T55_T58_IgnoringSignalsDoesNotHelpAgainstTheTimeLimit) {
  Outcome outcome = run_cell({"/probe/probe", "sleep-long", "60", "x"}, {"--timeout", "300ms"});
  EXPECT_TRUE(ended_with(outcome, 124));
}

// A tenth of a core, against nothing. Eight spin at once and the bounds are wide, so that a busy
// machine changes no verdict.
TEST(LimitsOfACell, T55_AShareOfTheProcessorIsHeldOrRefused) {
  const Words spin{"/bin/sh", "-c",
                   "for i in 1 2 3 4 5 6 7 8; do /probe/probe spin 1500 >/dev/null & done; wait"};
  json::object held = run_json(spin, {"--cpu", "0.1"});
  if (held["status"] == "setup_error") {
    // No cpu controller for this caller: an error that names the field and the way out.
    EXPECT_FALSE(as_root()) << "root has a cpu controller here";
    Outcome told = run_cell({"/bin/true"}, {"--cpu", "0.1"});
    EXPECT_TRUE(ended_with(told, 125));
    EXPECT_NE(told.err.find("cpu"), std::string::npos) << told.err;
    EXPECT_NE(told.err.find("--best-effort"), std::string::npos) << told.err;
    EXPECT_TRUE(tells_of(run_json({"/bin/true"}, {"--cpu", "0.1", "--best-effort", "cpu"}), "cpu"));
    return;
  }
  auto used_per_second = [](const json::object& result) {
    return result.at("usage").at("cpu_ms").to_number<double>() /
           result.at("duration_ms").to_number<double>() * 1000;
  };
  constexpr double kTwiceTheShare = 200, kFree = 300;
  EXPECT_LT(used_per_second(held), kTwiceTheShare);
  // Other work may leave little for a moment.
  double free = 0;
  for (int tries = 0; tries < 4 && free <= kFree; ++tries)
    free = std::max(free, used_per_second(run_json(spin)));
  EXPECT_GT(free, kFree);
}

TEST(LimitsOfACell, T63_WholeCoresCannotBeWidened) {
  json::object result = run_json({"/probe/probe", "processors"}, {"--cpu", "1"});
  EXPECT_EQ(result["status"], "ok");
  std::string told(result["stdout"].as_string());
  EXPECT_EQ(told.find("\"errno\":0"), std::string::npos)
      << "sched_setaffinity is refused: " << told;
  if (held_by(result, "cpu") == "affinity") {
    EXPECT_NE(told.find("\"detail\":\"1\""), std::string::npos) << told;
  }
  EXPECT_TRUE(worked(on_host({"processors"})));
}

// Those of caisson's own processes are short, and children inherit them.
TEST(LimitsOfACell, TheProgramHasItsCallersTurnsAtTheProcessor) {
  Answer outside = on_host({"turns"}), inside = in_cell({"turns"});
  EXPECT_TRUE(worked(outside));
  EXPECT_TRUE(worked(inside));
  EXPECT_EQ(inside.detail, outside.detail);
}

TEST(LimitsOfACell, T63_NoRealTimeAndNoHigherPriority) {
  EXPECT_TRUE(refused(in_cell({"real-time"})));
  EXPECT_TRUE(refused(in_cell({"priority"})));
  EXPECT_EQ(in_cell({"rlimit", "14"}).detail, "0 0");  // RLIMIT_RTPRIO
  EXPECT_EQ(in_cell({"rlimit", "13"}).detail, "0 0");  // RLIMIT_NICE
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"real-time"})));
    EXPECT_TRUE(worked(on_host({"priority"})));
  }
}

TEST(LimitsOfACell, T63_LittleMemoryCanBeLocked) {
  EXPECT_TRUE(
      refused_with(in_cell({"mlock", "32M"}, {"--memory", "128M"}), {ENOMEM, EPERM, EAGAIN}));
  EXPECT_TRUE(worked(in_cell({"mlock", "64K"}, {"--memory", "128M"})));
  EXPECT_TRUE(worked(on_host({"mlock", "64K"})));
}

TEST(LimitsOfACell, T63_NoHardLimitCanBeRaised) {
  // FSIZE, CORE, NOFILE, MEMLOCK, RTPRIO, NICE
  for (const char* resource : {"1", "4", "7", "8", "13", "14"}) {
    Answer inside = in_cell({"raise-limit", resource});
    // CORE is the filter's to refuse: a program that is told EPERM gives up (gpg).
    int error = std::string(resource) == "4" ? EINVAL : EPERM;
    EXPECT_TRUE(refused_with(inside, {error})) << resource << " " << inside.detail;
  }
  EXPECT_TRUE(worked(on_host({"raise-limit", "1"})));  // unlimited there
}

TEST(LimitsOfACell, T63_TheClockOfTheHostCannotBeSet) {
  for (const char* call : {"settimeofday", "clock_settime", "adjtimex"})
    EXPECT_TRUE(refused_with(in_cell({"kernel", call}), {EPERM, ENOSYS})) << call;
  EXPECT_TRUE(refused_with(on_host({"kernel", "clock_settime"}), {EINVAL}));  // it was looked at
}

TEST(LimitsOfACell, T55_TheSupervisorOutlivesTheBombAndSaysWhatItUsed) {
  json::object result =
      run_json({"/bin/sh", "-c", "/probe/probe memory 400M; echo after"}, {"--memory", "64M"});
  EXPECT_TRUE(result.contains("usage"));
  EXPECT_NE(result["status"], "internal_error");
}

}  // namespace
}  // namespace caisson::boundary
