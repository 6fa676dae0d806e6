// connect and bind: a socket file of the host in a tree that can only be read is still a door,
// since neither a read-only mount nor Landlock (before ABI 9) has a say in it (T43). A socket of
// the cell's own is known by its network namespace, in which the kernel lists it.
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "warden/state.h"

namespace caisson::warden {

namespace {

constexpr long kPidfdGetfd = 438, kPidfdThread = O_EXCL;

// Of the very thread (6.9): it may have descriptors of its own, and a process whose first thread
// has ended has none to be found.
long open_caller(const Call& call) {
  long pidfd = sys_call(kernel::kPidfdOpen, long{call.thread}, kPidfdThread);
  if (pidfd != -EINVAL) return pidfd;
  long process = caller_process(call);
  return process > 0 ? sys_call(kernel::kPidfdOpen, process, 0L) : -ESRCH;
}

// The caller's own socket, shared: what is done to it here is done to it there.
long callers_socket(const Call& call) {
  long pidfd = open_caller(call);
  if (pidfd < 0) return pidfd;
  long number = static_cast<long>(static_cast<uint32_t>(call.args[0]));
  long fd = sys_call(kPidfdGetfd, pidfd, number, 0L);
  if (fd == -EPERM && warden.may_look) {
    raise_sight();
    fd = sys_call(kPidfdGetfd, pidfd, number, 0L);
    lower_sight();
  }
  close_fd(pidfd);
  return fd;
}

// The kernel's dev_t in its messages is its own: 12 bits of major, 20 of minor.
uint32_t kernel_device(uint64_t device) {
  return static_cast<uint32_t>(major(device)) << 20 | static_cast<uint32_t>(minor(device));
}

struct Question {
  nlmsghdr header;
  unix_diag_req body;
};

// Whether an answer names the file. 1: yes; 0: no; -1: the list is at its end.
int names_file(const nlmsghdr* message, const struct stat& file) {
  if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY) return -1;
  uint32_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(unix_diag_msg));
  while (at + sizeof(nlattr) <= message->nlmsg_len) {
    auto* part = reinterpret_cast<const nlattr*>(reinterpret_cast<const char*>(message) + at);
    if (part->nla_len < sizeof(nlattr)) break;
    if (part->nla_type == UNIX_DIAG_VFS && part->nla_len >= NLA_HDRLEN + sizeof(unix_diag_vfs)) {
      auto* vfs =
          reinterpret_cast<const unix_diag_vfs*>(reinterpret_cast<const char*>(part) + NLA_HDRLEN);
      if (vfs->udiag_vfs_ino == static_cast<uint32_t>(file.st_ino) &&
          vfs->udiag_vfs_dev == kernel_device(file.st_dev))
        return 1;
    }
    at += NLA_ALIGN(part->nla_len);
  }
  return 0;
}

// Whether a socket of this network namespace listens at the file.
bool is_of_this_cell(const struct stat& file) {
  long fd =
      sys_call(SYS_socket, long{AF_NETLINK}, long{SOCK_RAW | SOCK_CLOEXEC}, 4L /* SOCK_DIAG */);
  if (fd < 0) return false;
  Question question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.body.sdiag_family = AF_UNIX;
  question.body.udiag_states = ~0u;
  question.body.udiag_show = UDIAG_SHOW_VFS;
  bool mine = false;
  long result = sys_call(SYS_sendto, fd, &question, long{sizeof question}, 0L, 0L, 0L);
  for (int rounds = 0; result >= 0 && !mine && rounds < 4096; ++rounds) {
    alignas(nlmsghdr) char answers[8192];
    long got = sys_call(SYS_recvfrom, fd, answers, long{sizeof answers}, 0L, 0L, 0L);
    if (got <= 0) break;
    bool end = false;
    for (long at = 0; at + static_cast<long>(sizeof(nlmsghdr)) <= got && !end && !mine;) {
      auto* message = reinterpret_cast<const nlmsghdr*>(answers + at);
      if (message->nlmsg_len < sizeof(nlmsghdr) || at + message->nlmsg_len > got) break;
      int found = names_file(message, file);
      mine = found == 1;
      end = found < 0;
      at += static_cast<long>(NLMSG_ALIGN(message->nlmsg_len));
    }
    if (end) break;
  }
  close_fd(fd);
  return mine;
}

bool is_every_socket(const char* allowed) { return allowed[0] == '/' && !allowed[1]; }

bool is_allowed(const char* path) {
  const Rules& rules = *warden.rules;
  for (uint32_t i = 0; i < rules.socket_count; ++i) {
    const char* one = rules.sockets[i];
    uint32_t n = 0;
    if (is_every_socket(one)) return true;
    while (one[n] && one[n] == path[n]) ++n;
    if (!one[n] && (!path[n] || path[n] == '/')) return true;
  }
  return false;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// One of the two is the other, or a folder above it. Letters count without their case, as in
// match.cpp: a folder can be told to do the same.
bool is_on_the_way(const char* path, const char* allowed) {
  uint32_t n = 0;
  while (path[n] && allowed[n] && lower(path[n]) == lower(allowed[n])) ++n;
  return (!path[n] && (!allowed[n] || allowed[n] == '/')) || (!allowed[n] && path[n] == '/');
}

// The connection itself. A stream that must wait for its peer waits in a thread of its own.
long do_connect(const Call& call, long socket, const void* address, uint32_t size) {
  long flags = sys_call(SYS_fcntl, socket, long{F_GETFL});
  bool waits = flags >= 0 && !(flags & O_NONBLOCK);
  bool listens = waits && begin_waiting(call);
  if (waits && !listens) return -EAGAIN;
  long result = sys_call(SYS_connect, socket, address, long{size});
  if (listens) end_waiting(call);
  return result;
}

long connect_by_path(const Call& call, long socket, const char* path) {
  Spot spot;
  long result = find(call, AT_FDCWD, path, Last::kFollow, Depth::kObject, spot);
  if (result >= 0 && spot.object < 0) result = -ENOENT;
  if (result < 0) return result;
  struct stat file;
  result = sys_call(SYS_newfstatat, long{spot.object}, "", &file, long{AT_EMPTY_PATH});
  if (result < 0) return result;
  if (!S_ISSOCK(file.st_mode)) return -ECONNREFUSED;
  // Of a listener's inode number the kernel tells the lower half: where there are larger ones, a
  // cell could make a socket with the same half as one of the host's.
  bool own = warden.rules->own_network && is_of_this_cell(file) && !is_older_for_sure(spot.object);
  if (!own && !is_allowed(spot.text) && warden.rules->judge_sockets) {
    report(Refused::kSocket, kNoRule, spot.text, spot.size);
    return -EACCES;
  }
  // The very file that was judged, by its descriptor.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  copy_bytes(address.sun_path, "/proc/self/fd/", 14);
  uint32_t length = 14 + put_number(address.sun_path + 14, static_cast<uint64_t>(spot.object));
  return do_connect(call, socket, &address,
                    static_cast<uint32_t>(__builtin_offsetof(sockaddr_un, sun_path)) + length + 1);
}

constexpr uint32_t kMostSocketPath = sizeof(sockaddr_un::sun_path);

struct Address {
  union {
    sockaddr any;
    sockaddr_un path;
    sockaddr_storage space{};
  };
  uint32_t size = 0;

  // An abstract name belongs to the network namespace, and Landlock scopes it besides.
  bool has_path() const {
    return size > sizeof(sa_family_t) && size <= sizeof path && any.sa_family == AF_UNIX &&
           path.sun_path[0] != 0;
  }
  // NUL-ended, which it need not be where it comes from.
  void copy_path(char (&to)[kMostSocketPath + 1]) const {
    uint32_t most = size - static_cast<uint32_t>(sizeof(sa_family_t));
    if (most > kMostSocketPath) most = kMostSocketPath;
    copy_bytes(to, path.sun_path, most);
    to[most] = 0;
  }
};

// What connect(2) and bind(2) name: the address, read once, and the caller's socket. Below 0:
// answered already, or nobody waits any more.
long socket_and_address(const Call& call, Address& address) {
  uint64_t size = static_cast<uint32_t>(call.args[2]);
  long result = size > sizeof address.space ? -EINVAL : 0;
  address.size = static_cast<uint32_t>(size);
  if (result == 0 && size > 0 &&
      read_memory(call, call.args[1], &address.space, address.size) != static_cast<long>(size))
    result = -EFAULT;
  long socket = result < 0 ? result : callers_socket(call);
  if (!still_waiting(call)) {
    close_fd(socket);
    return -ESRCH;
  }
  if (socket < 0) answer(call, socket);
  return socket;
}

// Whether the text leads the kernel, from `here` and in this process, to the folder that was judged
// for the caller. Not where it goes through a link of /proc, which is another one's here.
bool leads_to(long here, const char* path, const Spot& spot) {
  char folder[kMostSocketPath + 2];
  uint32_t end = text_size(path);
  while (end > 0 && path[end - 1] != '/') --end;
  copy_bytes(folder, path, end);
  if (end == 0) folder[end++] = '.';
  folder[end] = 0;
  kernel::OpenHow how{O_PATH | O_CLOEXEC | O_DIRECTORY, 0, kernel::kResolveNoMagicLinks};
  long fd = sys_call(kernel::kOpenat2, here, folder, &how, long{sizeof how});
  struct stat by_text, judged;
  bool same = fd >= 0 && sys_call(SYS_newfstatat, fd, "", &by_text, long{AT_EMPTY_PATH}) >= 0 &&
              sys_call(SYS_newfstatat, long{spot.folder}, "", &judged, long{AT_EMPTY_PATH}) >= 0 &&
              by_text.st_dev == judged.st_dev && by_text.st_ino == judged.st_ino;
  close_fd(fd);
  return same;
}

// The address is what getsockname(2) tells from then on (multiprocessing sends it to its peers), so
// it stays the caller's text where that means the same here. No name on the way can be changed by
// the cell meanwhile: each such change is asked for, and only one of them is made at a time.
long do_bind(const Call& call, long socket, const Address& address, const char* path,
             const Spot& spot) {
  bool relative = path[0] != '/';
  long here = relative ? open_caller_folder(call, AT_FDCWD) : long{warden.own_fds};
  if (here < 0) return here;
  long result = 0;
  if (leads_to(here, path, spot)) {
    if (relative) result = sys_call(SYS_fchdir, here);  // this thread's alone
    if (result >= 0) result = sys_call(SYS_bind, socket, &address.space, long{address.size});
    if (relative) sys_call(SYS_fchdir, long{warden.own_fds});
  } else {
    sockaddr_un by_folder{};
    by_folder.sun_family = AF_UNIX;
    char text[14 + 20 + 1 + sizeof spot.name] = "/proc/self/fd/";
    uint32_t size = 14 + put_number(text + 14, static_cast<uint64_t>(spot.folder));
    text[size++] = '/';
    uint32_t name = text_size(spot.name);
    copy_bytes(text + size, spot.name, name + 1);
    size += name + 1;
    if (size > sizeof by_folder.sun_path) {
      result = -ENAMETOOLONG;
    } else {
      copy_bytes(by_folder.sun_path, text, size);
      result = sys_call(SYS_bind, socket, &by_folder,
                        static_cast<long>(__builtin_offsetof(sockaddr_un, sun_path) + size));
    }
  }
  if (relative) close_fd(here);
  return result;
}

// The socket goes first: while it is open here its address is taken, though the caller closes its
// own, and the peer would not see that.
void answer_about(const Call& call, long socket, long result) {
  close_fd(socket);
  answer(call, result);
}

// As the kernel has it, for a name that ends with a slash.
long no_file_of_that_name(const Spot& spot) {
  long there = look_at(spot.folder, spot.name);
  close_fd(there);
  return there < 0 ? there : -EADDRINUSE;
}

void bind_by_path(const Call& call, long socket, const Address& address) {
  char path[kMostSocketPath + 1];
  address.copy_path(path);
  Spot spot;
  take_umask_of(call);
  long result = find(call, AT_FDCWD, path, Last::kKeep, Depth::kFolderOnly, spot);
  if (result < 0) return answer_about(call, socket, result);
  if (!spot.name[0]) return answer_about(call, socket, -EADDRINUSE);
  if (refuse_write(call, spot) != kFree || refuse_new_file(call, spot)) return close_fd(socket);
  if (spot.wants_folder) return answer_about(call, socket, no_file_of_that_name(spot));
  result = do_bind(call, socket, address, path, spot);
  if (result == -EROFS) report(Refused::kReadOnly, kNoRule, spot.text, spot.size);
  answer_about(call, socket, result);
}

}  // namespace

// A socket is allowed by its path: whatever the cell puts there it could connect to, a socket of
// the host's that it may rename or link among it (T43). By name alone: what has the name that moves
// may be another thing a moment later.
bool comes_to_allowed_socket(const Spot& from, const Spot& to) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_socket_places || is_allowed(from.text)) return false;
  for (uint32_t i = 0; i < rules.socket_count; ++i)
    if (!is_every_socket(rules.sockets[i]) && is_on_the_way(to.text, rules.sockets[i])) return true;
  return false;
}

void take_connect(const Call& call) {
  Address address;
  long socket = socket_and_address(call, address);
  if (socket < 0) return;
  long result;
  if (address.has_path()) {
    char path[kMostSocketPath + 1];
    address.copy_path(path);
    result = connect_by_path(call, socket, path);
  } else {
    result = do_connect(call, socket, &address.space, address.size);
  }
  answer_about(call, socket, result);
}

// A socket's file is a new name like any other: it occupies one that is protected while nothing has
// it, and whoever wants to make that file later can't.
void take_bind(const Call& call) {
  Address address;
  begin_change(call);
  long socket = socket_and_address(call, address);
  if (socket < 0) return;
  if (address.has_path()) return bind_by_path(call, socket, address);
  answer_about(call, socket, sys_call(SYS_bind, socket, &address.space, long{address.size}));
}

}  // namespace caisson::warden
