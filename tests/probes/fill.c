// Using up space: sparse files, full filesystems, inodes, deep trees (T14, T55).
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

// SIGXFSZ would end the probe before it can tell EFBIG.
static int sparse_file(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  signal(SIGXFSZ, SIG_IGN);
  int fd = open(argv[0], O_WRONLY | O_CREAT, 0644);
  if (fd < 0) return errno;
  return answer(pwrite(fd, "x", 1, number(argv[1]) - 1));
}

// Writes real bytes to one file until the kernel says no, or all of them are there.
static int fill_file(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  signal(SIGXFSZ, SIG_IGN);
  static char block[65536];
  memset(block, 'x', sizeof block);
  int fd = open(argv[0], O_WRONLY | O_CREAT, 0644);
  if (fd < 0) return errno;
  long goal = number(argv[1]), written = 0;
  int error = 0;
  while (written < goal && !error) {
    ssize_t size = write(fd, block, sizeof block);
    if (size < 0) error = errno;
    if (size > 0) written += size;
  }
  detail("%ld", written);
  return error;
}

static int use_inodes(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  long goal = number(argv[1]), made = 0;
  int error = 0;
  for (; made < goal && !error; ++made) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/inode-%ld", argv[0], made);
    if (symlink("x", path) < 0) error = errno;
  }
  detail("%ld", error ? made - 1 : made);
  return error;
}

// A path longer than PATH_MAX can't be named in one piece: a walker by path would stop or overflow.
static int deep_tree(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  if (chdir(argv[0]) < 0) return errno;
  char name[NAME_MAX + 1];
  memset(name, 'd', NAME_MAX);
  name[NAME_MAX] = 0;
  long goal = number(argv[1]), level = 0;
  for (; level < goal; ++level) {
    if (mkdir(name, 0755) < 0 || chdir(name) < 0) break;
  }
  detail("%ld", level);
  return level == goal ? 0 : errno;
}

// Takes such a tree away again, from the bottom; the controls on the host leave nothing behind.
static int remove_deep_tree(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  if (chdir(argv[0]) < 0) return errno;
  char name[NAME_MAX + 1];
  memset(name, 'd', NAME_MAX);
  name[NAME_MAX] = 0;
  long level = 0;
  while (chdir(name) == 0) ++level;
  for (; level > 0; --level) {
    if (chdir("..") < 0 || rmdir(name) < 0) return errno;
  }
  return 0;
}

const struct Probe fill_probes[] = {
    {"sparse", sparse_file, "PATH BYTES"}, {"fill", fill_file, "PATH BYTES"},
    {"inodes", use_inodes, "DIR COUNT"},   {"deep", deep_tree, "DIR LEVELS"},
    {"undeep", remove_deep_tree, "DIR"},   {NULL, NULL, NULL}};
