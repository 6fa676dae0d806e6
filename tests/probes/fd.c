// File descriptors that came along (T16, T17, T39).
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

static void describe_fd(int fd) {
  char path[64], target[4096];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(path, target, sizeof target - 1);
  target[size < 0 ? 0 : size] = 0;
  detail("%d=%s\n", fd, target);
}

// Does not trust /proc: asks the kernel for each number.
static int list_fds(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  for (int fd = 0; fd < 65536; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) describe_fd(fd);
  }
  return 0;
}

// Leaves by any folder that was left open: CVE-2024-21626.
static int walk_out(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  for (int fd = 0; fd < 65536; ++fd) {
    int file = openat(fd, argv[0], O_RDONLY | O_NONBLOCK);
    if (file < 0) continue;
    detail("by fd %d", fd);
    return 0;
  }
  return ENOENT;
}

// Re-opens what stands behind a number: with other rights, or as the folder it lies in.
static int reopen_fd(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%ld", number(argv[0]));
  return answer(open(path, O_RDWR | O_NONBLOCK));
}

static int change_folder(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  if (chdir(argv[0]) < 0) return errno;
  char folder[4096];
  detail("%s", getcwd(folder, sizeof folder) ? folder : "(nowhere)");
  return 0;
}

const struct Probe fd_probes[] = {{"fds", list_fds, ""},
                                  {"walk-out", walk_out, "RELATIVE-PATH"},
                                  {"reopen", reopen_fd, "FD"},
                                  {"chdir", change_folder, "PATH"},
                                  {NULL, NULL, NULL}};
