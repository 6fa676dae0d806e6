// Claim: no descriptor of the caller comes along into the cell, stdio included.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// Descriptors of the host at chosen numbers, open across exec.
class Leak {
 public:
  Leak(const std::string& folder, std::initializer_list<int> numbers) : numbers_(numbers) {
    int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int number : numbers_) ::dup2(fd, number);
    ::close(fd);
  }
  ~Leak() {
    for (int number : numbers_) ::close(number);
  }

 private:
  std::vector<int> numbers_;
};

TEST(Descriptors, T16_NoFolderOfTheHostComesAlong) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Leak leak(host.path(), {57, 58, 200, 1000});
  Answer inside = in_cell({"fds"});
  ASSERT_TRUE(worked(inside));
  std::vector<std::string> open = lines(inside.detail);
  ASSERT_EQ(open.size(), 3u) << inside.detail;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open[i].substr(0, 2), std::to_string(i) + "=");
  EXPECT_NE(on_host({"fds"}).detail.find("200=" + host.path()), std::string::npos);
}

TEST(Descriptors, T16_NoDescriptorIsAWayOut) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Leak leak(host.path(), {57, 200});
  EXPECT_TRUE(refused(in_cell({"walk-out", "secret"})));
  EXPECT_TRUE(refused(in_cell({"walk-out", "../../../../../../../.." + (host / "secret")})));
  EXPECT_TRUE(worked(on_host({"walk-out", "secret"})));
}

TEST(Descriptors, T16_NorWithATerminalOrWithNoExec) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Leak leak(host.path(), {57, 200});
  EXPECT_TRUE(refused(in_cell({"walk-out", "secret"}, {"--no-exec"})));
  EXPECT_EQ(lines(in_cell({"fds"}, {"--no-exec"}).detail).size(), 3u);
  Terminal terminal;
  Outcome outcome = run_cell({"/probe/probe", "fds"}, {"--tty"}, {.terminal = terminal.slave()});
  outcome.out = terminal.printed();
  Answer inside = parse_answer(outcome);
  ASSERT_TRUE(worked(inside)) << outcome.out;
  EXPECT_EQ(lines(inside.detail).size(), 3u) << inside.detail;
}

// The files behind stdio are the caller's: through /proc/self/fd a program could open them anew,
// for writing, or truncate them.
TEST(Descriptors, T16_StdioIsNeverTheCallersOwn) {
  TempFolder host;
  write_file(host / "in", "input");
  write_file(host / "out", "");
  RunOptions how{.stdin_path = host / "in", .stdout_path = host / "out"};
  auto answer = [&](Outcome outcome) {
    outcome.out = read_file(host / "out");
    return parse_answer(outcome);
  };
  Answer inside = answer(run_cell({"/probe/probe", "fds"}, {}, how));
  ASSERT_TRUE(worked(inside));
  EXPECT_EQ(inside.detail.find(host.path()), std::string::npos) << inside.detail;
  write_file(host / "out", "");
  Answer outside = answer(run({probe_folder() + "/probe", "fds"}, how));
  EXPECT_NE(outside.detail.find(host / "in"), std::string::npos) << outside.detail;
  EXPECT_NE(outside.detail.find(host / "out"), std::string::npos) << outside.detail;
}

TEST(Descriptors, T16_AClosedStdinIsNotFilledWithSomethingElse) {
  TempFolder host;
  Leak leak(host.path(), {57});
  Answer inside = in_cell({"fds"}, {}, {.close_stdin = true});
  EXPECT_EQ(lines(inside.detail).size(), 3u) << inside.detail;
  EXPECT_EQ(inside.detail.find(host.path()), std::string::npos);
  std::string outside = on_host({"fds"}, {.close_stdin = true}).detail;
  EXPECT_FALSE(outside.starts_with("0=")) << outside;
}

TEST(Descriptors, T17_AWorkingFolderByDescriptorDoesNotLeadOut) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Leak leak(host.path(), {57});
  for (const char* folder : {"/proc/self/fd/57", "/proc/self/cwd", "/proc/1/cwd", "/proc/1/root",
                             "/proc/self/root", "/proc/thread-self/fd/57", "/dev/fd/57"}) {
    Outcome outcome = run_cell({"/probe/probe", "read", "secret"}, {"--workdir", folder},
                               {.folder = host.path()});
    EXPECT_FALSE(outcome.late);
    // Either it is no working folder at all, or one inside the cell.
    if (outcome.code != 125) {
      EXPECT_TRUE(refused(parse_answer(outcome))) << folder;
    }
  }
  EXPECT_TRUE(worked(on_host({"read", "secret"}, {.folder = "/proc/self/fd/57"})));
}

TEST(Descriptors, T17_TheWorkingFolderLiesInTheCell) {
  TempFolder host;
  Answer inside = in_cell({"chdir", "."}, {"--workspace", host.path()});
  EXPECT_EQ(inside.detail, "/workspace");
  EXPECT_EQ(on_host({"chdir", "."}, {.folder = host.path()}).detail, host.path());
}

}  // namespace
}  // namespace caisson::boundary
