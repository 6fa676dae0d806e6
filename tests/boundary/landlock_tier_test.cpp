// Claim: the smaller boundary, --tier landlock, is taken only when asked for, and holds what it
// can: files, signals, sockets, capabilities and the filter. It has no namespaces, and says so.
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

namespace json = boost::json;

// There are no mounts in this tier, so the probes are where they are on the host.
Outcome run_there(const Words& command, const Words& options = {}, const RunOptions& how = {}) {
  return run(Words{caisson_binary(), "exec", "--tier", "landlock"} +
                 mount(probe_folder(), probe_folder(), "ro") + options + Words{"--"} + command,
             how);
}

Answer there(const Words& probe, const Words& options = {}, const RunOptions& how = {}) {
  Answer answer = parse_answer(run_there(Words{probe_folder() + "/probe"} + probe, options, how));
  EXPECT_GE(answer.error, 0) << "the probe said nothing: " << answer.run.code << answer.run.err;
  return answer;
}

TEST(LandlockTier, T01_AFileOfTheHostCannotBeRead) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  EXPECT_TRUE(refused_with(there({"read", host / "secret"}), {EACCES}));
  EXPECT_TRUE(refused(there({"list", host.path()})));
  EXPECT_TRUE(refused(there({"create", host / "new", "x"})));
  EXPECT_TRUE(refused(there({"read", "/etc/shadow"})));
  EXPECT_TRUE(worked(on_host({"read", host / "secret"})));
  EXPECT_TRUE(worked(there({"read", host / "secret"}, mount(host.path(), host.path(), "ro"))));
}

TEST(LandlockTier, T01_AReadOnlyFolderStaysReadOnly) {
  TempFolder host;
  write_file(host / "file", "x");
  Words read = mount(host.path(), host.path(), "ro"), write = mount(host.path(), host.path(), "rw");
  EXPECT_TRUE(refused(there({"open-write", host / "file"}, read)));
  EXPECT_TRUE(refused(there({"create", host / "new", "x"}, read)));
  EXPECT_TRUE(worked(there({"open-write", host / "file"}, write)));
  EXPECT_TRUE(worked(there({"create", host / "new", "x"}, write)));
}

TEST(LandlockTier, T44_NoProcessOfTheHostCanBeSignalled) {
  Process victim({probe_folder() + "/probe", "wait", "30", "victim"});
  ASSERT_TRUE(victim.wait_for_output("ready"));
  std::string pid = std::to_string(victim.pid());
  if (landlock_has_scopes()) {
    EXPECT_TRUE(refused_with(there({"could-kill", pid}), {EPERM, ESRCH}));
  } else {
    Outcome told = run_there({"/bin/true"}, {"--json-output"});
    EXPECT_NE(told.out.find("Landlock stops the signal on ABI 6"), std::string::npos) << told.out;
  }
  EXPECT_TRUE(refused(there({"ptrace", pid})));
  EXPECT_TRUE(refused(there({"vm-read", pid})));
  EXPECT_TRUE(refused(there({"open-mem", pid})));
  EXPECT_TRUE(worked(on_host({"could-kill", pid})));
}

TEST(LandlockTier, T43_T45_NoSocketLeadsOut) {
  const std::string name = "caisson-" + random_word();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  EXPECT_TRUE(refused(there({"abstract", name})));
  for (const char* family : {"2", "10", "16", "17", "40"})
    EXPECT_TRUE(refused(there({"socket", family, "2", "0"}))) << family;
  EXPECT_TRUE(worked(on_host({"abstract", name})));
}

TEST(LandlockTier, T25_T16_EnvironmentAndDescriptorsAreClean) {
  RunOptions how{.environment = {{"CALLER_TOKEN", "secret"}}};
  EXPECT_TRUE(refused(there({"env", "CALLER_TOKEN"}, {}, how)));
  EXPECT_EQ(lines(there({"fds"}).detail).size(), 3u);
}

TEST(LandlockTier, T30_T35_NoRightsAndNoRareDoors) {
  Outcome outcome = run_there({"/bin/cat", "/proc/self/status"});
  if (outcome.code == 0) {
    EXPECT_NE(outcome.out.find("NoNewPrivs:\t1"), std::string::npos);
    EXPECT_NE(outcome.out.find("CapEff:\t0000000000000000"), std::string::npos);
  }
  for (const char* door : {"io_uring_setup", "keyctl", "userfaultfd", "bpf"})
    EXPECT_TRUE(refused(there({"kernel", door}))) << door;
  EXPECT_TRUE(refused(there({"unshare", "user"})));
  EXPECT_TRUE(refused(there({"become", "setuid"})));
}

TEST(LandlockTier, T29_SigkillToCaissonEndsTheProgram) {
  const std::string marker = random_word();
  Process caisson(Words{caisson_binary(), "exec", "--tier", "landlock"} +
                  mount(probe_folder(), probe_folder(), "ro") +
                  Words{"--", probe_folder() + "/probe", "sleep-long", "60", marker});
  ASSERT_TRUE(eventually([&] { return processes_with(marker).size() >= 2; }));
  caisson.send(SIGKILL);
  caisson.finish();
  EXPECT_TRUE(eventually([&] { return processes_with(marker).empty(); }));
  for (pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
}

TEST(LandlockTier, T29_NoDaemonOutlivesTheRun) {
  for (const char* way : {"fork", "clone"}) {
    const std::string marker = random_word();
    EXPECT_TRUE(worked(there({"daemon", "60", marker, way, "quiet"})));
    EXPECT_TRUE(processes_with(marker).empty()) << way;
    for (pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
  }
}

TEST(LandlockTier, T29_ATimeoutEndsTheDaemonsToo) {
  const std::string marker = random_word(), probe = probe_folder() + "/probe";
  Outcome outcome = run_there(
      {"/bin/sh", "-c",
       probe + " daemon 60 " + marker + " fork quiet; exec " + probe + " sleep-long 60 " + marker},
      {"--timeout", "500ms"});
  EXPECT_TRUE(ended_with(outcome, 124));
  EXPECT_TRUE(processes_with(marker).empty());
  for (pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
}

TEST(LandlockTier, ItIsNamedInTheResultWithWhatItCannotDo) {
  Outcome outcome = run_there({"/bin/true"}, {"--json-output"});
  EXPECT_NE(outcome.out.find("\"tier\":\"landlock\""), std::string::npos)
      << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("\"degradations\":[]"), std::string::npos) << outcome.out;
  EXPECT_EQ(run_json({"/bin/true"})["tier"], "process");
}

}  // namespace
}  // namespace caisson::boundary
