// Claim: the foreign entries of the kernel are shut: the call ends the program with SIGSYS.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

#if defined(__x86_64__)

TEST(Compat, T37_TheThirtyTwoBitEntryOfASixtyFourBitProgramKills) {
  for (const char* call : {"int80-getpid", "int80-socketcall"}) {
    for (const Words& options :
         {Words{}, Words{"--allow-network"}, Words{"--allow-nested"}, Words{"--no-exec"}}) {
      Outcome outcome = run_cell({"/probe/probe", call}, options);
      EXPECT_TRUE(ended_with(outcome, 128 + SIGSYS)) << call;
      EXPECT_EQ(outcome.out, "") << call;
    }
    EXPECT_TRUE(worked(on_host({call}))) << call;
  }
}

TEST(Compat, T37_TheX32EntryKills) {
  Outcome outcome = run_cell({"/probe/probe", "x32-getpid"});
  EXPECT_TRUE(ended_with(outcome, 128 + SIGSYS));
  EXPECT_EQ(outcome.out, "");
  // Control: the kernel works it or, built without x32, says that there is no such call; nobody is
  // killed for it.
  Answer outside = on_host({"x32-getpid"});
  EXPECT_TRUE(outside.error == 0 || outside.error == ENOSYS) << outside.name;
}

TEST(Compat, T37_AThirtyTwoBitProgramDoesNotRun) {
  Outcome outcome = run_cell({"/probe/probe_i386"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(run_cell({"/bin/sh", "-c", "/probe/probe_i386; true"}).out, "");
  EXPECT_TRUE(worked(parse_answer(run({probe_folder() + "/probe_i386"}))));
}

TEST(Compat, T37_TheVerdictNamesTheSignal) {
  boost::json::object result = run_json({"/probe/probe", "int80-getpid"});
  EXPECT_EQ(result["status"], "signalled");
  EXPECT_NE(std::string(result["reason"].as_string()).find("SIGSYS"), std::string::npos);
}

#else

TEST(Compat, T37_ThisProcessorHasNoSuchEntry) {
  for (const char* call : {"int80-getpid", "x32-getpid"})
    EXPECT_TRUE(refused_with(in_cell({call}), {ENOSYS})) << call;
}

#endif

}  // namespace
}  // namespace caisson::boundary
