// Claim: output is bounded, whole up to its bound, and nobody can hold the end of a run up by it.
#include "cell.h"

namespace caisson::boundary {
namespace {

namespace json = boost::json;

TEST(Output, T56_AFloodIsCutAndCounted) {
  json::object result = run_json({"/probe/probe", "flood", "8M", "x"}, {"--output-limit", "1M"});
  EXPECT_LE(result["stdout"].as_string().size(), 1u << 20);
  EXPECT_GE(result["stdout"].as_string().size(), (1u << 20) - 4096);
  const json::object& usage = result["usage"].as_object();
  EXPECT_GE(usage.at("stdout_cut_bytes").to_number<int64_t>(), 7 << 20);
  // Control: under the limit nothing is lost.
  json::object whole = run_json({"/probe/probe", "flood", "8M", "x"}, {"--output-limit", "16M"});
  EXPECT_GE(whole["stdout"].as_string().size(), 8u << 20);
  EXPECT_EQ(whole["usage"].as_object().at("stdout_cut_bytes").to_number<int64_t>(), 0);
}

TEST(Output, T56_AStreamIsCutTheSameWay) {
  Outcome outcome = run_cell({"/probe/probe", "flood", "8M", "x"}, {"--output-limit", "1M"});
  EXPECT_LE(outcome.out.size(), 1u << 20);
  EXPECT_NE(outcome.err.find("cut"), std::string::npos) << outcome.err.substr(0, 300);
  EXPECT_GE(run_cell({"/probe/probe", "flood", "8M", "x"}, {"--output-limit", "16M"}).out.size(),
            8u << 20);
}

TEST(Output, T56_AFloodWithoutAnEndMeetsAnEnd) {
  Outcome outcome = run_cell({"/bin/sh", "-c", "exec cat /dev/zero"},
                             {"--output-limit", "64K", "--timeout", "2s"}, {.deadline = 20s});
  EXPECT_FALSE(outcome.late);
  EXPECT_LE(outcome.out.size(), 64u << 10);
  EXPECT_NE(outcome.code, 0);
}

TEST(Output, T56_StdoutAndStderrShareTheBound) {
  json::object result =
      run_json({"/bin/sh", "-c", "/probe/probe flood 1M x; /probe/probe flood 1M y >&2"},
               {"--output-limit", "1M"});
  EXPECT_LE(result["stdout"].as_string().size() + result["stderr"].as_string().size(), 1u << 20);
}

TEST(Output, T56_BinaryOutputArrivesWhole) {
  Outcome inside = run_cell({"/probe/probe", "flood", "300000", "binary"});
  Outcome outside = run({probe_folder() + "/probe", "flood", "300000", "binary"});
  EXPECT_EQ(inside.out, outside.out);
  json::object result = run_json({"/probe/probe", "flood", "3000", "binary"});
  EXPECT_EQ(result["stdout_encoding"], "base64");
}

// A daemon inherits stdout and never closes it; the run ends with the program all the same.
TEST(Output, T56_ADaemonThatKeepsStdoutOpenHoldsNobodyUp) {
  const std::string marker = random_word();
  const Words daemon{"daemon", "60", marker, "fork", "keep-output"};
  Answer inside = in_cell(daemon, {}, {.deadline = 20s});
  EXPECT_TRUE(worked(inside));
  EXPECT_FALSE(inside.run.late);
  EXPECT_FALSE(inside.run.held_open);
  EXPECT_TRUE(processes_with(marker).empty());
  // Control: on the host the output stays open.
  Answer outside = on_host(daemon);
  EXPECT_TRUE(outside.run.held_open);
  for (pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
}

TEST(Output, T56_AReaderThatGoesAwayEndsNothingButTheOutput) {
  Outcome outcome = run({"/bin/sh", "-c",
                         caisson_binary() + " exec --mount " + probe_folder() +
                             ":/probe:ro --timeout 5s -- /probe/probe flood 4M x | head -c 10"},
                        {.deadline = 20s});
  EXPECT_FALSE(outcome.late);
  EXPECT_EQ(outcome.out, "xxxxxxxxxx");
}

// A reader that is slow must not make the supervisor buffer without bound, nor hang past the limit.
TEST(Output, T56_AReaderThatNeverReadsDoesNotKeepTheCellAlive) {
  const std::string marker = random_word();
  Outcome outcome = run({"/bin/sh", "-c",
                         caisson_binary() + " exec --mount " + probe_folder() +
                             ":/probe:ro --timeout 500ms -- /bin/sh -c '/probe/probe flood 4M x; "
                             "exec /probe/probe sleep-long 60 " +
                             marker + "' | sleep 3"},
                        {.deadline = 20s});
  EXPECT_FALSE(outcome.late);
  EXPECT_TRUE(processes_with(marker).empty());
}

}  // namespace
}  // namespace caisson::boundary
