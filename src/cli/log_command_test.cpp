#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/unique_fd.h"
#include "cli/cli.h"
#include "run/audit.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Words = std::vector<std::string>;

class LogCommand : public testing::Test {
 protected:
  LogCommand() : root_(::mkdtemp(name_)), path_(root_ + "/caisson/audit.jsonl") {
    ::setenv("XDG_STATE_HOME", root_.c_str(), 1);
  }
  ~LogCommand() override {
    ::unsetenv("XDG_STATE_HOME");
    fs::remove_all(root_);
  }

  void append(json::object event) { ASSERT_TRUE(AuditLog::open(path_)->append(event).ok()); }
  void execution(std::string id, std::string status) {
    append({{"kind", "start"}, {"id", id}, {"tier", "process"}, {"argv", {"echo", id}}});
    append(
        {{"kind", "end"}, {"id", id}, {"status", status}, {"returncode", 0}, {"duration_ms", 2.0}});
  }
  // Runs the command in a child whose stdout and stderr are pipes.
  pid_t begin(Words words) {
    int out[2], err[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(err, O_CLOEXEC), 0);
    pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::_exit(log_command(words));
    }
    ::close(out[1]), ::close(err[1]);
    out_.reset(out[0]), err_.reset(err[0]);
    return pid;
  }
  static std::string read_all(int fd) {
    std::string text;
    char chunk[4096];
    for (ssize_t size; (size = ::read(fd, chunk, sizeof chunk)) > 0;)
      text.append(chunk, static_cast<size_t>(size));
    return text;
  }
  std::string read_line() {
    std::string line;
    for (char c; ::read(out_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  static int wait_for(pid_t pid) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string run(Words words, int expected_exit = 0) {
    pid_t pid = begin(std::move(words));
    std::string text = read_all(out_.get());
    talk_ = read_all(err_.get());
    EXPECT_EQ(wait_for(pid), expected_exit) << talk_;
    return text;
  }
  static size_t lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  char name_[32] = "/tmp/caisson-log-XXXXXX";
  std::string root_, path_, talk_;
  UniqueFd out_, err_;
};

TEST_F(LogCommand, AnEmptyRecordIsNoError) {
  EXPECT_EQ(run({}), "");
  EXPECT_NE(talk_.find("nothing on record yet"), std::string::npos);
  EXPECT_EQ(run({"verify"}).find("0 events, chain whole"), 0u);
  run({"--file", root_ + "/nothing"}, 125);
}

TEST_F(LogCommand, ShowsExecutionsOldestFirst) {
  execution("aa", "ok");
  execution("bb", "timeout");
  std::string text = run({});
  EXPECT_EQ(lines(text), 3u);
  EXPECT_LT(text.find("echo aa"), text.find("echo bb"));
  EXPECT_EQ(talk_, "");
  EXPECT_EQ(lines(run({"--status", "timeout"})), 2u);
  EXPECT_NE(run({"--id", "a"}).find("echo aa"), std::string::npos);
  EXPECT_NE(run({"-n", "1"}).find("echo bb"), std::string::npos);
  EXPECT_EQ(run({"--since", "2099-01-01"}), "");
}

TEST_F(LogCommand, JsonIsTheEventsAsStored) {
  execution("aa", "ok");
  execution("bb", "timeout");
  std::string text = run({"--json", "--status", "timeout"});
  EXPECT_EQ(lines(text), 2u);
  EXPECT_EQ(json::parse(text.substr(0, text.find('\n'))).at("event").at("id"), "bb");
  std::string all = run({"--json"});
  EXPECT_EQ(all.size(), fs::file_size(path_));
}

TEST_F(LogCommand, VerifyTellsWholeFromBroken) {
  execution("aa", "ok");
  execution("bb", "ok");
  EXPECT_EQ(run({"verify"}).find("4 events, chain whole, head "), 0u);
  fs::resize_file(path_, fs::file_size(path_) - 5);
  EXPECT_NE(run({"verify"}, 1).find("line 4 is cut"), std::string::npos);
  json::value verdict = json::parse(run({"verify", "--json"}, 1));
  EXPECT_EQ(verdict.at("whole"), false);
  EXPECT_EQ(verdict.at("findings").at(0).at("line"), 4);
}

TEST_F(LogCommand, VerifyMissesTheHeadAndTheFile) {
  execution("aa", "ok");
  std::string copy = root_ + "/copy.jsonl";
  fs::copy(path_, copy);
  EXPECT_NE(run({"verify", "--file", copy}).find("chain whole"), std::string::npos);
  EXPECT_NE(talk_.find("audit.head is missing"), std::string::npos);
  fs::rename(audit_head_path(path_), root_ + "/head");
  EXPECT_NE(run({"verify"}, 1).find("audit.head is missing"), std::string::npos);
  fs::rename(root_ + "/head", audit_head_path(path_));
  fs::remove(path_);
  EXPECT_NE(run({"verify"}, 1).find("is gone"), std::string::npos);
}

TEST_F(LogCommand, UnreadableLinesAreSaidOnStderr) {
  execution("aa", "ok");
  UniqueFd file{::open(path_.c_str(), O_WRONLY | O_APPEND)};
  ASSERT_EQ(::write(file.get(), "\x1b[2Jrubbish\n", 12), 12);
  EXPECT_EQ(lines(run({})), 2u);
  EXPECT_NE(talk_.find("1 lines are no audit entries"), std::string::npos);
}

TEST_F(LogCommand, AnUnknownWordEndsWith125) {
  EXPECT_EQ(run({"--folow"}, 125), "");
  EXPECT_NE(talk_.find("did you mean --follow?"), std::string::npos);
  EXPECT_EQ(lines(talk_), 2u);
}

TEST_F(LogCommand, FollowShowsWhatComesAndEndsCleanlyOnSigint) {
  execution("aa", "ok");
  pid_t pid = begin({"--follow"});
  EXPECT_EQ(read_line().find("TIME"), 0u);
  EXPECT_NE(read_line().find("echo aa"), std::string::npos);
  execution("bb", "oom");
  EXPECT_NE(read_line().find("running"), std::string::npos);
  std::string row = read_line();
  EXPECT_NE(row.find("oom"), std::string::npos);
  EXPECT_NE(row.find("echo bb"), std::string::npos);
  ::kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 0);
}

TEST_F(LogCommand, FollowFindsAFileThatComesLater) {
  pid_t pid = begin({"--follow", "--json"});
  char byte;
  EXPECT_EQ(::read(err_.get(), &byte, 1), 1);  // it has said that there is none
  append({{"kind", "start"}, {"id", "first"}});
  EXPECT_NE(read_line().find("\"first\""), std::string::npos);
  fs::rename(path_, path_ + ".1");
  fs::rename(audit_head_path(path_), audit_head_path(path_) + ".1");
  append({{"kind", "start"}, {"id", "second"}});
  EXPECT_NE(read_line().find("\"second\""), std::string::npos);
  ::kill(pid, SIGTERM);
  EXPECT_EQ(wait_for(pid), 0);
}

}  // namespace
}  // namespace caisson
