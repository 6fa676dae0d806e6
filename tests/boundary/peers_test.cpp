// Claim: no process outside the cell, and not its own pid 1, can be traced, read, robbed or
// signalled.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

const std::vector<Words>& attacks() {
  static const std::vector<Words> all = {
      {"ptrace"}, {"vm-read"}, {"vm-write"}, {"open-mem"}, {"take-fd"}};
  return all;
}

Words aimed(const Words& attack, const std::string& target) {
  Words words = attack + Words{target};
  if (attack[0] == "take-fd") words.push_back("0");
  return words;
}

TEST(Peers, T24_PidOneCannotBeTracedReadOrRobbed) {
  for (const Words& attack : attacks()) {
    EXPECT_TRUE(refused(in_cell(aimed(attack, "1")))) << attack[0];
    EXPECT_TRUE(refused(in_cell(aimed(attack, "parent")))) << attack[0];
    EXPECT_TRUE(worked(on_host(aimed(attack, "child")))) << attack[0];
  }
}

TEST(Peers, T24_TheSupervisorAndOtherCellsAreNotThere) {
  const std::string marker = random_word();
  Process other(exec_line({"/probe/probe", "wait", "30", marker}));
  ASSERT_TRUE(other.wait_for_output("ready"));
  std::vector<pid_t> targets = processes_with(marker);
  ASSERT_GE(targets.size(),
            2u);  // the supervisor, whose command line has the word too, and its cell
  for (pid_t target : targets) {
    for (const Words& attack : attacks())
      EXPECT_TRUE(refused(in_cell(aimed(attack, std::to_string(target))))) << attack[0];
    EXPECT_TRUE(refused_with(in_cell({"could-kill", std::to_string(target)}), {ESRCH, EPERM}));
    EXPECT_TRUE(worked(on_host({"could-kill", std::to_string(target)})));  // control: it is there
  }
}

// With the tracing calls that a debugger needs refused, two processes of one cell are apart as
// well.
TEST(Peers, T24_ASiblingInTheCellCannotBeRobbedBySystemCalls) {
  for (const Words& attack :
       {Words{"ptrace"}, Words{"vm-read"}, Words{"vm-write"}, Words{"take-fd"}})
    EXPECT_TRUE(refused_with(in_cell(aimed(attack, "child")), {EPERM, ENOSYS})) << attack[0];
}

TEST(Peers, T44_NoProcessOfTheHostCanBeSignalled) {
  Process victim({probe_folder() + "/probe", "wait", "30", "victim"});
  ASSERT_TRUE(victim.wait_for_output("ready"));
  std::string pid = std::to_string(victim.pid());
  for (const char* way : {"could-kill", "pidfd-signal"}) {
    EXPECT_TRUE(refused(in_cell({way, pid}))) << way;
    EXPECT_TRUE(refused(in_cell({way, pid}, {"--allow-network"}))) << way;
    EXPECT_TRUE(worked(on_host({way, pid}))) << way;
  }
}

TEST(Peers, T44_KillingEverybodyReachesNobody) {
  Process victim({probe_folder() + "/probe", "wait", "30", "victim"});
  ASSERT_TRUE(victim.wait_for_output("ready"));
  EXPECT_TRUE(refused_with(in_cell({"could-kill-all"}), {ESRCH, EPERM}));
  EXPECT_TRUE(worked(on_host({"could-kill-all"})));
}

// Signals to pid 1 must not end the cell in the program's name, nor stop the supervisor.
TEST(Peers, T44_PidOneDoesNotFallToASignalFromInside) {
  Outcome outcome = run_cell({"/bin/sh", "-c",
                              "for number in 9 15 2 1 3 19 20 6 11; do kill -$number 1; done; "
                              "trap '' TERM; echo still here; exit 5"});
  // Polite ones are passed on to the program, as a supervisor's would be: it may die of its own.
  EXPECT_FALSE(outcome.late);
  Outcome hard = run_cell({"/bin/sh", "-c", "kill -9 1; kill -19 1; echo still here; exit 5"});
  EXPECT_NE(hard.out.find("still here"), std::string::npos) << hard.err;
  EXPECT_TRUE(ended_with(hard, 5));
}

}  // namespace
}  // namespace caisson::boundary
