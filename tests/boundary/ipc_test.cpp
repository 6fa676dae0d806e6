// Claim: no local meeting point of the host can be reached: sockets with and without a name, SysV
// and POSIX objects.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stddef.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

Descriptor listen_local(const std::string& name, bool abstract, int type = SOCK_STREAM) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ::memcpy(address.sun_path + abstract, name.data(), name.size());
  Descriptor fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + abstract + name.size());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) ADD_FAILURE() << "bind";
  if (type == SOCK_STREAM) ::listen(fd.get(), 8);
  return fd;
}

TEST(Ipc, T43_AnAbstractSocketOfTheHostIsNotThere) {
  const std::string name = "caisson-" + random_word();
  Descriptor listener = listen_local(name, true);
  EXPECT_TRUE(refused_with(in_cell({"abstract", name}), {ECONNREFUSED, EPERM, EACCES}));
  EXPECT_TRUE(worked(on_host({"abstract", name})));
}

// In the host's network namespace the names are there; Landlock keeps the cell from them, or it is
// said that it can't.
TEST(Ipc, T43_NorIsItReachedThroughTheHostsNetwork) {
  const std::string name = "caisson-" + random_word(), datagram = "caisson-" + random_word();
  Descriptor listener = listen_local(name, true),
             receiver = listen_local(datagram, true, SOCK_DGRAM);
  if (landlock_has_scopes()) {
    EXPECT_TRUE(refused_with(in_cell({"abstract", name}, {"--allow-network"}), {EPERM, EACCES}));
    EXPECT_TRUE(refused_with(in_cell({"abstract-datagram", datagram}, {"--allow-network"}),
                             {EPERM, EACCES}));
  } else {
    Outcome told = run_cell({"/bin/true"}, {"--allow-network"});
    EXPECT_NE(told.err.find("weaker: network: with the host's network come its abstract sockets"),
              std::string::npos)
        << told.err;
  }
  EXPECT_TRUE(worked(on_host({"abstract", name})));
  EXPECT_TRUE(worked(on_host({"abstract-datagram", datagram})));
}

TEST(Ipc, T43_ASocketWithANameIsReachedOnlyWhereItsFolderWasGiven) {
  TempFolder host;
  Descriptor listener = listen_local(host / "agent", false);
  EXPECT_TRUE(refused(in_cell({"unix", host / "agent"})));
  EXPECT_TRUE(refused(in_cell({"unix", host / "agent"}, {"--allow-network"})));
  EXPECT_TRUE(worked(on_host({"unix", host / "agent"})));
  EXPECT_TRUE(worked(in_cell({"unix", "/given/agent"}, mount(host.path(), "/given", "rw"))));
}

TEST(Ipc, T43_TheUsualMeetingPointsAreAbsent) {
  for (const char* path :
       {"/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/docker.sock", "/tmp/.X11-unix",
        "/run/systemd", "/run/user", "/var/run/dbus", "/run/containerd", "/dev/log", "/run/nscd"})
    EXPECT_TRUE(refused(in_cell({"stat", path}, {"--allow-network"}))) << path;
  EXPECT_TRUE(worked(on_host({"stat", "/run"})));
}

// SysV objects have a number for a name, and no file whose mode would be looked at.
class SysV : public testing::Test {
 protected:
  void SetUp() override {
    key_ = static_cast<key_t>(::getpid() * 7919 + 0x5ca1ab1e);
    segment_ = ::shmget(key_, 4096, IPC_CREAT | IPC_EXCL | 0666);
    queue_ = ::msgget(key_, IPC_CREAT | IPC_EXCL | 0666);
    semaphore_ = ::semget(key_, 1, IPC_CREAT | IPC_EXCL | 0666);
    ASSERT_GE(segment_, 0);
    ASSERT_GE(queue_, 0);
    ASSERT_GE(semaphore_, 0);
    char* text = static_cast<char*>(::shmat(segment_, nullptr, 0));
    ::strcpy(text, "of the host");
    ::shmdt(text);
  }
  void TearDown() override {
    ::shmctl(segment_, IPC_RMID, nullptr);
    ::msgctl(queue_, IPC_RMID, nullptr);
    ::semctl(semaphore_, 0, IPC_RMID);
  }
  key_t key_ = 0;
  int segment_ = -1, queue_ = -1, semaphore_ = -1;
};

TEST_F(SysV, T44_NoObjectOfTheHostIsThere) {
  for (const char* kind : {"shm", "msg", "sem"}) {
    EXPECT_TRUE(refused(in_cell({kind, std::to_string(key_)}))) << kind;
    EXPECT_TRUE(refused(in_cell({kind, std::to_string(key_)}, {"--allow-network"}))) << kind;
    EXPECT_TRUE(worked(on_host({kind, std::to_string(key_)}))) << kind;
  }
  EXPECT_TRUE(worked(in_cell({"own-shm"})));  // of its own it has what it makes
}

TEST(Ipc, T44_NoPosixObjectOfTheHostIsThere) {
  const std::string name = "/caisson-" + random_word();
  Descriptor shared(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  mqd_t queue = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666, nullptr);
  EXPECT_GE(shared.get(), 0);
  EXPECT_NE(queue, static_cast<mqd_t>(-1));
  for (const char* kind : {"posix-shm", "posix-mq"}) {
    EXPECT_TRUE(refused(in_cell({kind, name}))) << kind;
    EXPECT_TRUE(worked(on_host({kind, name}))) << kind;
  }
  ::shm_unlink(name.c_str());
  ::mq_unlink(name.c_str());
  ::mq_close(queue);
}

}  // namespace
}  // namespace caisson::boundary
