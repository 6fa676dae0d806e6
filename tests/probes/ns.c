// Namespaces and mounts from inside (T31, T32, T33).
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

static const struct {
  const char* name;
  int flag;
} kinds[] = {{"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
             {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
             {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};

static int kind_flag(const char* name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (!strcmp(kinds[i].name, name)) return kinds[i].flag;
  }
  return 0;
}

static int unshare_one(int argc, char** argv) {
  int flag = argc == 1 ? kind_flag(argv[0]) : 0;
  return flag ? answer(unshare(flag)) : PROBE_USAGE;
}

static int clone_one(int argc, char** argv) {
  int flag = argc == 1 ? kind_flag(argv[0]) : 0;
  if (!flag) return PROBE_USAGE;
  long pid = syscall(SYS_clone, (unsigned long)flag | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  wait_for((pid_t)pid);
  return 0;
}

// The flags lie behind a pointer, where a filter can't look.
static int clone3_one(int argc, char** argv) {
  int flag = argc == 1 ? kind_flag(argv[0]) : 0;
  if (!flag) return PROBE_USAGE;
  struct clone_args args = {.flags = (unsigned long)flag, .exit_signal = SIGCHLD};
  long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  wait_for((pid_t)pid);
  return 0;
}

static int join(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/ns/%s", argv[0], argv[1]);
  int fd = open(path, O_RDONLY);
  if (fd < 0) return errno;
  return answer(setns(fd, kind_flag(argv[1])));
}

static int mount_new(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return answer(mount(argv[0], argv[1], argv[0], 0, NULL));
}

static int bind_mount(int argc, char** argv) {
  return argc == 2 ? answer(mount(argv[0], argv[1], NULL, MS_BIND, NULL)) : PROBE_USAGE;
}

static int remount_writable(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  return answer(mount(NULL, argv[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int unmount(int argc, char** argv) {
  return argc == 1 ? answer(umount2(argv[0], MNT_DETACH)) : PROBE_USAGE;
}

static int open_filesystem(int argc, char** argv) {
  return argc == 1 ? answer(syscall(SYS_fsopen, argv[0], 0u)) : PROBE_USAGE;
}

static int clone_tree(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  return answer(syscall(SYS_open_tree, AT_FDCWD, argv[0], 1u /* OPEN_TREE_CLONE */));
}

static int move_tree(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return answer(syscall(SYS_move_mount, AT_FDCWD, argv[0], AT_FDCWD, argv[1], 0u));
}

static int set_attributes(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct {
    unsigned long set, clear, propagation, userns;
  } attributes = {0, 1 /* MOUNT_ATTR_RDONLY */, 0, 0};
  return answer(syscall(SYS_mount_setattr, AT_FDCWD, argv[0], 0u, &attributes, sizeof attributes));
}

static int pivot(int argc, char** argv) {
  return argc == 2 ? answer(syscall(SYS_pivot_root, argv[0], argv[1])) : PROBE_USAGE;
}

static int change_root(int argc, char** argv) {
  return argc == 1 ? answer(chroot(argv[0])) : PROBE_USAGE;
}

static int put(const char* path, const char* text) {
  int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  ssize_t size = write(fd, text, strlen(text));
  close(fd);
  return size < 0 ? -1 : 0;
}

static int run_again(int argc, char** argv) {
  char self[] = "/proc/self/exe";
  char* words[32] = {self};
  for (int i = 0; i < argc && i < 30; ++i) words[i + 1] = argv[i];
  execv(self, words);
  return errno;
}

// Runs the rest of the words in a user and mount namespace of its own: the safe place on the host
// in which the mount probes can show that they work.
static int in_own_namespaces(int argc, char** argv) {
  if (argc < 1) return PROBE_USAGE;
  char uids[64], gids[64];
  snprintf(uids, sizeof uids, "0 %u 1", geteuid());
  snprintf(gids, sizeof gids, "0 %u 1", getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return errno;
  if (put("/proc/self/setgroups", "deny") < 0 || put("/proc/self/uid_map", uids) < 0 ||
      put("/proc/self/gid_map", gids) < 0) {
    return errno;
  }
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) return errno;
  return run_again(argc, argv);
}

// Mounts something first, so that the next probe has a mount of its own to take away or to move.
static int after_mount(int argc, char** argv) {
  if (argc < 3) return PROBE_USAGE;
  if (mount(argv[0], argv[1], argv[0], 0, NULL) < 0) return errno;
  return run_again(argc - 2, argv + 2);
}

const struct Probe ns_probes[] = {{"unshare", unshare_one, "KIND"},
                                  {"clone", clone_one, "KIND"},
                                  {"clone3", clone3_one, "KIND"},
                                  {"setns", join, "PID KIND"},
                                  {"mount", mount_new, "TYPE DIR"},
                                  {"bind", bind_mount, "FROM TO"},
                                  {"remount-rw", remount_writable, "PATH"},
                                  {"umount", unmount, "PATH"},
                                  {"fsopen", open_filesystem, "TYPE"},
                                  {"open-tree", clone_tree, "PATH"},
                                  {"move-mount", move_tree, "FROM TO"},
                                  {"mount-setattr", set_attributes, "PATH"},
                                  {"pivot-root", pivot, "NEW OLD"},
                                  {"chroot", change_root, "PATH"},
                                  {"after-mount", after_mount, "TYPE DIR NAME [words…]"},
                                  {"own-ns", in_own_namespaces, "NAME [words…]"},
                                  {NULL, NULL, NULL}};
