// Other processes: tracing them, reading their memory and environment, taking their fds (T18, T19,
// T24, T25, T39).
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe.h"

static int trace(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  return answer(ptrace(PTRACE_SEIZE, target_process(argv[0]), NULL, NULL));
}

// The right to look is checked before the address: EFAULT means that the door was open.
static int copy_memory(long call, const char* target) {
  static char here[8];
  struct iovec local = {here, sizeof here}, remote = {here, sizeof here};
  long size = syscall(call, target_process(target), &local, 1L, &remote, 1L, 0L);
  if (size >= 0) return 0;
  if (errno == EFAULT) detail("EFAULT");
  return errno == EFAULT ? 0 : errno;
}

static int read_memory(int argc, char** argv) {
  return argc == 1 ? copy_memory(SYS_process_vm_readv, argv[0]) : PROBE_USAGE;
}

static int write_memory(int argc, char** argv) {
  return argc == 1 ? copy_memory(SYS_process_vm_writev, argv[0]) : PROBE_USAGE;
}

static int open_memory(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", target_process(argv[0]));
  return answer(open(path, O_RDWR));
}

static int take_fd(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  int handle = (int)syscall(SYS_pidfd_open, target_process(argv[0]), 0u);
  if (handle < 0) return errno;
  return answer(syscall(SYS_pidfd_getfd, handle, (int)number(argv[1]), 0u));
}

// The needle comes in hex, so that the hunter's own words are no hit.
static size_t decode_hex(const char* word, char* bytes, size_t room) {
  size_t size = 0;
  for (; word[0] && word[1] && size < room; word += 2) {
    char pair[3] = {word[0], word[1], 0};
    bytes[size++] = (char)strtol(pair, NULL, 16);
  }
  return size;
}

struct Hunt {
  char needle[256];
  size_t size;
  int processes, files, found;
};

// Reads `fd` from its offset to `end` (0: to the end of the file) and looks for the needle, across
// the seams of the blocks too.
static int search_file(const struct Hunt* hunt, int fd, size_t end) {
  static char block[1 << 16];
  size_t kept = 0, total = 0;
  for (;;) {
    size_t want = sizeof block - kept;
    if (end && want > end - total) want = end - total;
    ssize_t size = want ? read(fd, block + kept, want) : 0;
    if (size <= 0) return 0;
    total += (size_t)size;
    if (memmem(block, kept + (size_t)size, hunt->needle, hunt->size)) return 1;
    size_t all = kept + (size_t)size;
    kept = all < hunt->size ? all : hunt->size - 1;
    memmove(block, block + all - kept, kept);
  }
}

static void search_named(struct Hunt* hunt, const char* pid, const char* name) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
  int fd = open(path, O_RDONLY);
  if (fd < 0) return;
  ++hunt->files;
  if (search_file(hunt, fd, 0)) {
    ++hunt->found;
    detail("%s ", path);
  }
  close(fd);
}

static void search_memory(struct Hunt* hunt, const char* pid) {
  char path[300], line[4096];
  snprintf(path, sizeof path, "/proc/%s/maps", pid);
  FILE* maps = fopen(path, "r");
  snprintf(path, sizeof path, "/proc/%s/mem", pid);
  int memory = open(path, O_RDONLY);
  if (memory >= 0) ++hunt->files;
  while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
    unsigned long from = 0, to = 0;
    char rights[8] = "";
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[0] != 'r') continue;
    if (to - from > (64ul << 20) || lseek(memory, (off_t)from, SEEK_SET) < 0) continue;
    if (!search_file(hunt, memory, to - from)) continue;
    ++hunt->found;
    detail("%s@%lx ", path, from);
  }
  if (maps) fclose(maps);
  if (memory >= 0) close(memory);
}

// Looks for a secret everywhere that another process of this /proc shows, or one process alone.
static int hunt_secret(int argc, char** argv) {
  if (argc < 1 || argc > 2) return PROBE_USAGE;
  struct Hunt hunt = {.size = 0};
  hunt.size = decode_hex(argv[0], hunt.needle, sizeof hunt.needle);
  if (hunt.size < 4) return PROBE_USAGE;
  DIR* proc = opendir("/proc");
  if (!proc) return errno;
  for (struct dirent* entry; (entry = readdir(proc));) {
    if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid()) continue;
    if (argc == 2 && strcmp(argv[1], entry->d_name)) continue;
    ++hunt.processes;
    const char* names[] = {"environ", "cmdline", "auxv", "comm", "status"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
      search_named(&hunt, entry->d_name, names[i]);
    }
    search_memory(&hunt, entry->d_name);
  }
  detail("processes=%d files=%d found=%d", hunt.processes, hunt.files, hunt.found);
  return hunt.found ? 0 : ENOENT;
}

// Looks at the hunter's own memory too: its stack carries what exec was given.
static int hunt_own(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct Hunt hunt = {.size = 0};
  char needle[256];
  size_t size = decode_hex(argv[0], needle, sizeof needle);
  for (char** word = environ; *word; ++word) {
    if (!memmem(*word, strlen(*word), needle, size)) continue;
    detail("%s", *word);
    return 0;
  }
  memcpy(hunt.needle, needle, size);
  hunt.size = size;
  search_named(&hunt, "self", "environ");
  return hunt.found ? 0 : ENOENT;
}

const struct Probe peer_probes[] = {
    {"ptrace", trace, "PID"},          {"vm-read", read_memory, "PID"},
    {"vm-write", write_memory, "PID"}, {"open-mem", open_memory, "PID"},
    {"take-fd", take_fd, "PID FD"},    {"hunt", hunt_secret, "HEX [PID]"},
    {"hunt-own", hunt_own, "HEX"},     {NULL, NULL, NULL}};
