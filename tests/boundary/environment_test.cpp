// Claim: nothing of the caller's environment or command line can be read from inside, by any path.
#include "cell.h"

namespace caisson::boundary {
namespace {

// Words that no other process knows; a hunt in the cell goes through all of its /proc.
struct Secret {
  std::string value = random_word() + random_word();
  RunOptions how{.environment = {{"CALLER_TOKEN", value}}};
};

TEST(Environment, T25_ASecretOfTheCallerIsNotInTheProgramsEnvironment) {
  Secret secret;
  EXPECT_TRUE(refused(in_cell({"env", "CALLER_TOKEN"}, {}, secret.how)));
  EXPECT_TRUE(refused(in_cell({"hunt-own", hex(secret.value)}, {}, secret.how)));
  EXPECT_EQ(on_host({"env", "CALLER_TOKEN"}, secret.how).detail, secret.value);
  EXPECT_EQ(in_cell({"env", "CALLER_TOKEN"}, {"--env-pass", "CALLER_TOKEN"}, secret.how).detail,
            secret.value);
}

TEST(Environment, T25_NorInWhatOtherProcessesOfTheCellShow) {
  Secret secret;
  Answer inside = in_cell({"hunt", hex(secret.value)}, {}, secret.how);
  EXPECT_TRUE(refused(inside)) << inside.detail;
  EXPECT_NE(inside.detail.find("processes=1 "), std::string::npos) << inside.detail;
  EXPECT_TRUE(refused(in_cell({"read", "/proc/1/environ"}, {}, secret.how)));
  // Control: on the host the hunter finds it in a process that carries it.
  Process carrier({probe_folder() + "/probe", "wait", "30", "carrier"}, secret.how);
  ASSERT_TRUE(carrier.wait_for_output("ready"));
  EXPECT_TRUE(worked(on_host({"hunt", hex(secret.value), std::to_string(carrier.pid())})));
}

// caisson's own command line names what --env was given; pid 1 is a copy of caisson.
TEST(Environment, T25_AValueOnTheCommandLineDoesNotStayWithPidOne) {
  const std::string secret = random_word() + random_word();
  Words with_secret{"--env", "GIVEN=" + secret};
  EXPECT_EQ(in_cell({"env", "GIVEN"}, with_secret).detail, secret);
  Answer inside = in_cell({"hunt", hex(secret)}, with_secret);
  EXPECT_TRUE(refused(inside)) << inside.detail;
  Answer words = in_cell({"read", "/proc/1/cmdline"}, with_secret);
  EXPECT_EQ(words.detail.find(secret), std::string::npos);
}

// The host's root looks at pid 1 from outside, past every lock: the words are wiped there, too. (To
// an ordinary user the files are shut by pid 1 itself.)
TEST(Environment, T25_PidOneDoesNotEvenHaveTheWords) {
  Secret secret;
  const std::string given = random_word() + random_word(), marker = random_word();
  Process cell(exec_line({"/probe/probe", "wait", "30", marker}, {"--env", "GIVEN=" + given}),
               secret.how);
  ASSERT_TRUE(cell.wait_for_output("ready"));
  pid_t program = 0;
  for (pid_t pid : processes_with(marker))
    if (read_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with("/probe")) program = pid;
  ASSERT_NE(program, 0);
  std::string stat = read_file("/proc/" + std::to_string(program) + "/stat");
  std::string first = "/proc/" + std::to_string(std::stol(stat.substr(stat.rfind(')') + 4)));
  EXPECT_EQ(read_file(first + "/cmdline").find(given), std::string::npos);
  EXPECT_EQ(read_file(first + "/environ").find(secret.value), std::string::npos);
  // Control: the supervisor, outside, has both.
  std::string own = "/proc/" + std::to_string(cell.pid());
  EXPECT_NE(read_file(own + "/cmdline").find(given), std::string::npos);
  EXPECT_NE(read_file(own + "/environ").find(secret.value), std::string::npos);
}

TEST(Environment, T25_ASiblingInAnotherCellIsNotThere) {
  Secret secret;
  Process sibling(
      exec_line({"/probe/probe", "wait", "30", "sibling"}, {"--env-pass", "CALLER_TOKEN"}),
      secret.how);
  ASSERT_TRUE(sibling.wait_for_output("ready"));
  EXPECT_TRUE(refused(in_cell({"hunt", hex(secret.value)})));
}

TEST(Environment, T43_TheAddressesOfTheCallersServicesDoNotComeAlong) {
  RunOptions how{.environment = {{"SSH_AUTH_SOCK", "/run/agent.sock"},
                                 {"DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"},
                                 {"DISPLAY", ":0"},
                                 {"WAYLAND_DISPLAY", "wayland-0"},
                                 {"DOCKER_HOST", "unix:///run/docker.sock"},
                                 {"AWS_SECRET_ACCESS_KEY", "x"},
                                 {"GITHUB_TOKEN", "x"},
                                 {"LD_PRELOAD", ""},
                                 {"http_proxy", "http://localhost:1"}}};
  for (const auto& [name, value] : how.environment) {
    EXPECT_TRUE(refused(in_cell({"env", name}, {}, how))) << name;
    EXPECT_TRUE(worked(on_host({"env", name}, how))) << name;
  }
}

// The loader of a static binary reads few variables, but the program's own reads many.
TEST(Environment, T25_OnlyAShortListIsSet) {
  Secret secret;
  Outcome outcome = run_cell({"/usr/bin/env"}, {}, secret.how);
  ASSERT_TRUE(ended_with(outcome, 0));
  for (const std::string& line : lines(outcome.out)) {
    std::string name = line.substr(0, line.find('='));
    bool known = name.starts_with("LC_") || name.starts_with("XDG_");
    for (const char* word :
         {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TZ", "SHELL", "TMPDIR",
          "PWD", "HOSTNAME", "COLORTERM", "NO_COLOR", "CAISSON", "SANDBOX_RUNTIME"})
      known |= name == word;
    EXPECT_TRUE(known) << line;
  }
}

}  // namespace
}  // namespace caisson::boundary
