#include "launch/control_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/error.h"

namespace caisson {

ControlMessage receive_control(int socket) {
  ControlMessage received;
  ChildMessage message{};
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  constexpr int kFlags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
  ssize_t got = ::recvmsg(socket, &header, kFlags);
  // A cell that failed before it read our word: told once, and what it had to say is behind it.
  if (got < 0 && errno == ECONNRESET) got = ::recvmsg(socket, &header, kFlags);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) received.end = true;
  cmsghdr* part = got > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (part && part->cmsg_type == SCM_RIGHTS && part->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd;
    ::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    received.fd.reset(fd);
  }
  if (got == sizeof message && !(header.msg_flags & MSG_TRUNC)) received.message = message;
  return received;
}

static SetupFailure explain_exec_failure(const CompiledProgram& compiled, int errnum) {
  std::string command = compiled.program().argv[0];
  if (errnum == ENOENT)
    return {fmt::format("{}: not found in the cell", command),
            "the cell sees the system folders, the current folder and what --mount names; "
            "`caisson explain` shows them",
            127};
  std::string hint;
  if (errnum == ENOEXEC) hint = "it is neither a program for this machine nor a script";
  if (errnum == EACCES) hint = "it is there but may not be executed: check its mode";
  return {fmt::format("{}: {}", command, errno_text(errnum)), hint, 126};
}

SetupFailure explain_setup_failure(const CompiledProgram& compiled, uint32_t step, int errnum) {
  if (compiled.is_exec_step(step)) return explain_exec_failure(compiled, errnum);
  SetupFailure failure{
      fmt::format("cannot {}: {}", compiled.describe_step(step), errno_text(errnum)),
      "`caisson doctor` shows what this host allows", 125};
  if (errnum == ESTALE)
    failure = {fmt::format("cannot {}: it was replaced while the cell was being made",
                           compiled.describe_step(step)),
               "somebody else changes that path; try again, or mount a folder that is yours alone",
               125};
  if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM)
    failure.hint = "the host is short of descriptors or memory";
  return failure;
}

}  // namespace caisson
