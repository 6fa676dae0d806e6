#include "sys/systemd_scope.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sys/dbus_message.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;
constexpr pid_t kPid = 4711;

// One client's conversation as a bus sees it; in a process of its own.
class Peer {
 public:
  explicit Peer(int listener) : fd_(::accept(listener, nullptr, nullptr)) {}

  std::string line() {
    std::string text;
    for (char c; ::read(fd_.get(), &c, 1) == 1;) {
      text += c;
      if (text.ends_with("\r\n")) return text;
    }
    return text;
  }
  void say(const std::string& text) {
    if (::write(fd_.get(), text.data(), text.size()) < 0) ::_exit(9);
  }
  // The bytes of one call: the sizes in its fixed part say how many.
  std::string call() {
    std::string text = exactly(16);
    if (text.size() < 16) return text;
    uint32_t body, fields;
    memcpy(&body, text.data() + 4, 4);
    memcpy(&fields, text.data() + 12, 4);
    return text + exactly((fields + 7) / 8 * 8 + body);
  }
  void answer(uint8_t type, const std::string& call, const std::string& text) {
    DbusWriter w;
    w.byte('l'), w.byte(type), w.byte(1), w.byte(1);
    DbusWriter body;
    body.string(text);
    w.u32(static_cast<uint32_t>(body.text().size()));
    w.u32(99);
    DbusWriter::Array fields = w.begin_array(8);
    uint32_t serial;
    memcpy(&serial, call.data() + 8, 4);
    w.byte(5), w.signature("u"), w.u32(serial);
    w.align(8), w.byte(4), w.signature("s"), w.string("org.example.Refused");
    w.align(8), w.byte(8), w.signature("g"), w.signature("s");
    w.end_array(fields);
    w.align(8);
    say(w.text() + body.text());
  }
  void greet() {
    line();
    say("OK 0123456789abcdef\r\n");
    line();
  }

 private:
  std::string exactly(size_t size) {
    std::string text(size, '\0');
    ssize_t got = ::recv(fd_.get(), text.data(), size, MSG_WAITALL);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  UniqueFd fd_;
};

class UserManager : public testing::Test {
 protected:
  UserManager() {
    char name[] = "/tmp/caisson-scope-XXXXXX";
    dir_ = ::mkdtemp(name);
    fs::create_directories(dir_ + "/systemd");
    fs::create_directories(dir_ + "/proc/4711");
    move_to("0::/user.slice/session-3.scope\n");
  }
  ~UserManager() override {
    for (pid_t server : servers_) ::kill(server, SIGKILL);
    server_status();
    fs::remove_all(dir_);
  }
  void move_to(const std::string& cgroup) {
    std::ofstream(dir_ + "/proc/4711/new") << cgroup;
    fs::rename(dir_ + "/proc/4711/new", dir_ + "/proc/4711/cgroup");
  }
  void serve(const std::string& socket, const std::function<void(Peer&)>& talk) {
    UniqueFd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{AF_UNIX, {}};
    strcpy(address.sun_path, (dir_ + socket).c_str());
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    pid_t server = ::fork();
    if (server != 0) return servers_.push_back(server);
    Peer peer(listener.get());
    talk(peer);
    ::_exit(0);
  }
  Result<void> enter() { return enter_delegated_scope(dir_, kPid, dir_ + "/proc"); }
  int server_status() {
    int all = servers_.empty() ? -1 : 0;
    for (pid_t server : servers_) {
      int status = -1;
      ::waitpid(server, &status, 0);
      all |= status;
    }
    servers_.clear();
    return all;
  }
  // The name of the unit is the first string of the request.
  static std::string unit_in(const std::string& call) {
    size_t at = call.find("caisson-4711-"), end = call.find(".scope", at);
    return at == std::string::npos ? "" : call.substr(at, end - at) + ".scope";
  }

  std::string dir_;
  std::vector<pid_t> servers_;
};

TEST_F(UserManager, ThroughTheBusWeAskForAScopeThatIsOursToDivide) {
  serve("/bus", [&](Peer& peer) {
    std::string uid = std::to_string(::geteuid());
    std::string coded = hex({reinterpret_cast<const unsigned char*>(uid.data()), uid.size()});
    if (peer.line() != std::string(1, '\0') + "AUTH EXTERNAL " + coded + "\r\n") ::_exit(1);
    peer.say("OK 0123456789abcdef\r\n");
    if (peer.line() != "BEGIN\r\n") ::_exit(2);
    std::string hello = peer.call();
    if (hello.find("Hello") == std::string::npos) ::_exit(3);
    peer.answer(DbusMessage::kReturn, hello, ":1.5");
    std::string call = peer.call();
    DbusWriter pids;
    pids.u32(4);
    pids.u32(kPid);
    for (const std::string& part :
         {std::string("StartTransientUnit"), std::string("ssa(sv)a(sa(sv))"),
          std::string("Delegate\0\1b\0", 12), std::string("PIDs\0\2au\0", 9), pids.text()})
      if (call.find(part) == std::string::npos) ::_exit(4);
    peer.answer(DbusMessage::kSignal, call, "passed over");
    peer.answer(DbusMessage::kReturn, call, "/job/1");
    move_to("0::/user.slice/app.slice/" + unit_in(call) + "\n");
  });
  Result<void> result = enter();
  EXPECT_TRUE(result.ok()) << result.error().what;
  EXPECT_EQ(server_status(), 0);
}

TEST_F(UserManager, WithoutABusTheManagersOwnSocketServes) {
  serve("/systemd/private", [&](Peer& peer) {
    peer.greet();
    std::string call = peer.call();
    if (call.find("StartTransientUnit") == std::string::npos) ::_exit(1);
    peer.answer(DbusMessage::kReturn, call, "/job/1");
    move_to("0::/app.slice/" + unit_in(call) + "\n");
  });
  Result<void> result = enter();
  EXPECT_TRUE(result.ok()) << result.error().what;
  EXPECT_EQ(server_status(), 0);
}

TEST_F(UserManager, WhereTheManagerIsNotOnTheBusYetItsOwnSocketServes) {
  serve("/bus", [](Peer& peer) {
    peer.greet();
    peer.answer(DbusMessage::kReturn, peer.call(), ":1.5");
    peer.answer(DbusMessage::kError, peer.call(), "Name has no owner");
  });
  serve("/systemd/private", [&](Peer& peer) {
    peer.greet();
    std::string call = peer.call();
    peer.answer(DbusMessage::kReturn, call, "/job/1");
    move_to("0::/app.slice/" + unit_in(call) + "\n");
  });
  Result<void> result = enter();
  EXPECT_TRUE(result.ok()) << result.error().what;
  EXPECT_EQ(server_status(), 0);
}

TEST_F(UserManager, ARefusalIsToldInTheManagersWords) {
  serve("/systemd/private", [](Peer& peer) {
    peer.greet();
    peer.answer(DbusMessage::kError, peer.call(), "not today\x1b");
  });
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "StartTransientUnit refused: org.example.Refused not today\\x1b");
  EXPECT_NE(result.error().hint.find("Delegate=yes"), std::string::npos);
}

TEST_F(UserManager, APeerThatDoesNotKnowUsIsAnError) {
  serve("/bus", [](Peer& peer) {
    peer.line();
    peer.say("REJECTED EXTERNAL\r\n");
  });
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "the bus does not take us: REJECTED EXTERNAL");
}

TEST_F(UserManager, APeerThatHangsUpIsAnError) {
  serve("/bus", [](Peer& peer) { peer.line(); });
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
}

TEST_F(UserManager, APeerThatNeverEndsItsLineIsAnError) {
  serve("/bus", [](Peer& peer) { peer.say(std::string(8192, 'x')); });
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
}

TEST_F(UserManager, APeerThatIsSilentCostsTwoSecondsAtMost) {
  serve("/bus", [](Peer&) {
    for (;;) ::pause();
  });
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().errnum, ETIMEDOUT);
}

TEST_F(UserManager, WithoutAnySocketTheErrorNamesTheBus) {
  Result<void> result = enter();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "connect to " + dir_ + "/bus: No such file or directory");
  EXPECT_FALSE(enter_delegated_scope("/" + std::string(200, 'x'), kPid).ok());
}

}  // namespace
}  // namespace caisson
