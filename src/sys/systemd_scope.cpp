#include "sys/systemd_scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sys/dbus_message.h"
#include "sys/monotonic.h"

namespace caisson {

namespace {

constexpr int64_t kPatienceMs = 2000;
constexpr const char* kHint =
    "start it in a scope of its own: systemd-run --user --scope -p Delegate=yes caisson …";

int64_t monotonic_now_ms() { return static_cast<int64_t>(monotonic_ns() / 1000000); }

Error late(const char* doing) {
  return Error::from_errno(fmt::format("{} systemd's user manager", doing), ETIMEDOUT);
}

// A connection to a message bus, or to a manager directly. Every wait ends at one deadline.
class BusConnection {
 public:
  static Result<BusConnection> open(const std::string& path, int64_t deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      return Error::plain(fmt::format("the path of a socket is too long: {}", path));
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!fd) return Error::system("make a socket");
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return Error::system(fmt::format("connect to {}", path));
    return BusConnection(std::move(fd), deadline);
  }

  // SASL EXTERNAL: the kernel tells the peer who we are, the text only names it.
  Result<void> authenticate() {
    std::string uid = std::to_string(::geteuid());
    std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(uid.data()),
                                         uid.size());
    TRY(send(std::string(1, '\0') + "AUTH EXTERNAL " + hex(bytes) + "\r\n"));
    std::string answer = TRY(line());
    if (!answer.starts_with("OK "))
      return Error::plain(fmt::format("the bus does not take us: {}", printable(answer)));
    return send("BEGIN\r\n");
  }

  // The answer to the call; signals and other answers that come before it are passed over.
  Result<DbusMessage> call(const DbusCall& call) {
    TRY(send(to_wire(call)));
    for (;;) {
      std::optional<DbusMessage> message = TRY(take_dbus_message(input_));
      if (!message) {
        TRY(receive());
      } else if (message->reply_to == call.serial && message->type == DbusMessage::kReturn) {
        return std::move(*message);
      } else if (message->reply_to == call.serial && message->type == DbusMessage::kError) {
        return Error::plain(fmt::format("{} refused: {} {}", call.member,
                                        printable(message->error_name),
                                        printable(message->first_string())));
      }
    }
  }

 private:
  BusConnection(UniqueFd fd, int64_t deadline) : fd_(std::move(fd)), deadline_(deadline) {}

  Result<void> wait(short events) {
    for (;;) {
      int64_t left = deadline_ - monotonic_now_ms();
      if (left <= 0) return late("wait for");
      pollfd wait{fd_.get(), events, 0};
      if (::poll(&wait, 1, static_cast<int>(left)) > 0) return {};
    }
  }

  Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0)
        bytes.remove_prefix(static_cast<size_t>(sent));
      else if (errno == EAGAIN)
        TRY(wait(POLLOUT));
      else if (errno != EINTR)
        return Error::system("write to the bus");
    }
    return {};
  }

  Result<void> receive() {
    TRY(wait(POLLIN));
    char buffer[4096];
    ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got == 0) return Error::plain("the bus hung up");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return Error::system("read from the bus");
    if (got > 0) input_.append(buffer, static_cast<size_t>(got));
    return {};
  }

  Result<std::string> line() {
    constexpr size_t kLongest = 1024;
    for (;;) {
      size_t end = input_.find("\r\n");
      if (end != std::string::npos) {
        std::string text = input_.substr(0, end);
        input_.erase(0, end + 2);
        return text;
      }
      if (input_.size() > kLongest) return Error::plain("the bus sent a line without an end");
      TRY(receive());
    }
  }

  UniqueFd fd_;
  int64_t deadline_;
  std::string input_;
};

template <typename Value>
void property(DbusWriter& writer, const char* name, const char* type, Value write_value) {
  writer.align(8);
  writer.string(name);
  writer.signature(type);
  write_value();
}

// StartTransientUnit(name, mode, properties a(sv), aux a(sa(sv))), as in
// org.freedesktop.systemd1(5).
std::string scope_request(const std::string& unit, pid_t pid) {
  DbusWriter writer;
  writer.string(unit);
  writer.string("fail");
  DbusWriter::Array properties = writer.begin_array(8);
  property(writer, "Description", "s", [&] { writer.string("Cells of caisson"); });
  property(writer, "Delegate", "b", [&] { writer.u32(1); });
  property(writer, "CollectMode", "s", [&] { writer.string("inactive-or-failed"); });
  property(writer, "PIDs", "au", [&] {
    DbusWriter::Array pids = writer.begin_array(4);
    writer.u32(static_cast<uint32_t>(pid));
    writer.end_array(pids);
  });
  writer.end_array(properties);
  writer.end_array(writer.begin_array(8));
  return writer.text();
}

struct ScopeRequest {
  std::string unit;
  pid_t pid;
  Result<void> send_to(BusConnection& manager) const {
    TRY(manager.call({"org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                      "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))",
                      scope_request(unit, pid), 2}));
    return {};
  }
};

Result<void> ask_by_bus(BusConnection& bus, const ScopeRequest& request) {
  TRY(bus.authenticate());
  TRY(bus.call({"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello",
                "", "", 1}));
  return request.send_to(bus);
}

// The manager's own socket knows no Hello.
Result<void> ask_directly(BusConnection& manager, const ScopeRequest& request) {
  TRY(manager.authenticate());
  return request.send_to(manager);
}

// Through the bus when there is one and the manager is on it: in the first moments of a login it is
// not yet, and its own socket serves.
Result<void> ask_manager(const std::string& runtime_dir, const ScopeRequest& request,
                         int64_t deadline) {
  Result<BusConnection> bus = BusConnection::open(runtime_dir + "/bus", deadline);
  Result<void> asked = bus ? ask_by_bus(*bus, request) : Result<void>(bus.error());
  if (asked) return asked;
  Result<BusConnection> direct = BusConnection::open(runtime_dir + "/systemd/private", deadline);
  if (!direct) return asked;
  return ask_directly(*direct, request);
}

std::string cgroup_of(pid_t pid, const std::string& proc) {
  UniqueFd fd{::open(fmt::format("{}/{}/cgroup", proc, pid).c_str(), O_RDONLY | O_CLOEXEC)};
  char buffer[4096];
  ssize_t got = fd ? ::read(fd.get(), buffer, sizeof buffer) : 0;
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

// The answer names a job; the move follows a moment later.
Result<void> await_move(pid_t pid, const std::string& unit, const std::string& proc,
                        int64_t deadline) {
  while (cgroup_of(pid, proc).find("/" + unit + "\n") == std::string::npos) {
    if (monotonic_now_ms() >= deadline) return late("wait for a scope from");
    ::poll(nullptr, 0, 2);
  }
  return {};
}

Result<void> request_scope(const std::string& runtime_dir, pid_t pid, const std::string& proc) {
  int64_t deadline = monotonic_now_ms() + kPatienceMs;
  std::string unit = fmt::format("caisson-{}-{:x}.scope", pid, monotonic_now_ms());
  TRY(ask_manager(runtime_dir, {unit, pid}, deadline));
  return await_move(pid, unit, proc, deadline);
}

}  // namespace

Result<void> enter_delegated_scope(const std::string& runtime_dir, pid_t pid,
                                   const std::string& proc) {
  Result<void> result = request_scope(runtime_dir, pid, proc);
  if (result.ok()) return result;
  return std::move(result).error().with_hint(kHint);
}

}  // namespace caisson
