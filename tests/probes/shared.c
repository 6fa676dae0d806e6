// What one kernel has for all: memory that no limit of a cell counts, and marks on files that the
// host has to heed (T35, T55).
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

// xattr(7), acl(5): a version and entries of eight bytes.
struct AclEntry {
  uint16_t tag, rights;
  uint32_t id;
};
enum { ACL_OWNER = 1, ACL_USER = 2, ACL_GROUP = 4, ACL_MASK = 0x10, ACL_OTHER = 0x20 };

static size_t make_acl(char* out, long entries) {
  uint32_t version = 2;
  memcpy(out, &version, sizeof version);
  for (long i = 0; i < entries; ++i) {
    struct AclEntry one = {ACL_USER, 6, getuid()};
    uint16_t last[] = {ACL_OTHER, ACL_MASK, ACL_GROUP};
    if (i == 0) one.tag = ACL_OWNER;
    if (entries - i <= 3) one.tag = last[entries - i - 1];
    if (one.tag != ACL_USER) one.id = UINT32_MAX;
    memcpy(out + sizeof version + (size_t)i * sizeof one, &one, sizeof one);
  }
  return sizeof version + (size_t)entries * sizeof(struct AclEntry);
}

// Both ACLs of each of some new folders.
static int use_acls(int argc, char** argv) {
  static char acl[1 << 16];
  if (argc != 3) return PROBE_USAGE;
  size_t size = make_acl(acl, number(argv[2]));
  long goal = number(argv[1]), made = 0;
  int error = chdir(argv[0]) < 0 ? errno : 0;
  for (; made < goal && !error; ++made) {
    char name[32];
    snprintf(name, sizeof name, "acl-%ld", made);
    if (mkdirat(AT_FDCWD, name, 0700) < 0 ||
        setxattr(name, "system.posix_acl_access", acl, size, 0) < 0 ||
        setxattr(name, "system.posix_acl_default", acl, size, 0) < 0)
      error = errno;
  }
  detail("%ld", error ? made - 1 : made);
  return error;
}

static int use_attribute(int argc, char** argv) {
  static char value[1 << 16];
  if (argc != 3) return PROBE_USAGE;
  int fd = open(argv[1], O_RDONLY);
  if (fd < 0) return errno;
  size_t size = (size_t)number(argv[2]);
  if (!strcmp(argv[0], "setxattr")) return answer(setxattr(argv[1], "user.x", value, size, 0));
  if (!strcmp(argv[0], "lsetxattr")) return answer(lsetxattr(argv[1], "user.x", value, size, 0));
  if (!strcmp(argv[0], "fsetxattr")) return answer(fsetxattr(fd, "user.x", value, size, 0));
  struct {
    uint64_t value;
    uint32_t size, flags;
  } args = {(uint64_t)(uintptr_t)value, (uint32_t)size, 0};
  return answer(syscall(463 /* setxattrat */, AT_FDCWD, argv[1], 0, "user.x", &args, sizeof args));
}

// Without a reservation these work where the pool is empty, too; nothing is touched.
static int huge_pages(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  const size_t size = 2 << 20;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
  if (!strcmp(argv[0], "mmap"))
    return mmap(NULL, size, PROT_READ, flags, -1, 0) == MAP_FAILED ? errno : 0;
  if (!strcmp(argv[0], "memfd_create")) return answer(memfd_create("huge", MFD_HUGETLB));
  int id = shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_HUGETLB | SHM_NORESERVE | 0600);
  int error = answer(id);
  if (id >= 0) shmctl(id, IPC_RMID, NULL);
  return error;
}

static int request(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  char room[4096] = {0};
  int fd = open(argv[0], O_RDONLY);
  return fd < 0 ? errno : answer(syscall(SYS_ioctl, fd, number(argv[1]), room));
}

static int lease(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = open(argv[0], O_RDONLY);
  return fd < 0 ? errno : answer(fcntl(fd, F_SETLEASE, F_RDLCK));
}

static int notify(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = open(argv[0], O_RDONLY | O_DIRECTORY);
  return fd < 0 ? errno : answer(fcntl(fd, F_NOTIFY, DN_CREATE));
}

static int socket_filter(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
  struct sock_fprog program = {1, &all};
  int on = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0) return errno;
  return answer(setsockopt(fd, SOL_SOCKET, (int)number(argv[0]), &program, sizeof program));
}

const struct Probe shared_probes[] = {
    {"acls", use_acls, "DIR COUNT ENTRIES"},
    {"attribute", use_attribute, "setxattr|lsetxattr|fsetxattr|setxattrat PATH SIZE"},
    {"huge-pages", huge_pages, "mmap|memfd_create|shmget"},
    {"ioctl", request, "PATH NUMBER"},
    {"lease", lease, "PATH"},
    {"notify", notify, "DIR"},
    {"socket-filter", socket_filter, "OPTION"},
    {NULL, NULL, NULL}};
