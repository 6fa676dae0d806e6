// Files: reading, writing and re-naming what is not one's own (T01, T05–T09, T13, T22, T34).
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe.h"

static int read_file(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = open(argv[0], O_RDONLY | O_NONBLOCK);
  if (fd < 0) return errno;
  // Files of /proc come in pieces of a page.
  static char buffer[50000];
  size_t used = 0;
  while (used < sizeof buffer) {
    ssize_t size = read(fd, buffer + used, sizeof buffer - used);
    if (size < 0 && used == 0) return errno;
    if (size <= 0) break;
    used += (size_t)size;
  }
  detail_bytes(buffer, used);
  return 0;
}

static int write_text(int fd, const char* text) {
  if (fd < 0) return errno;
  return answer(write(fd, text, strlen(text)));
}

static int write_file(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return write_text(open(argv[0], O_WRONLY | O_NONBLOCK), argv[1]);
}

static int create_file(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return write_text(open(argv[0], O_WRONLY | O_CREAT | O_EXCL, 0644), argv[1]);
}

// Opens for writing, and writes nothing.
static int open_for_writing(int argc, char** argv) {
  return argc == 1 ? answer(open(argv[0], O_WRONLY | O_NONBLOCK)) : PROBE_USAGE;
}

// Anybody's who may open the file, if only for reading (flock(2)). It ends with the probe.
static int lock_file(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = open(argv[0], O_RDONLY);
  return fd < 0 ? errno : answer(flock(fd, LOCK_EX | LOCK_NB));
}

static int list_folder(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  DIR* folder = opendir(argv[0]);
  if (!folder) return errno;
  for (struct dirent* entry; (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) detail("%s\n", entry->d_name);
  }
  return 0;
}

static int stat_file(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct stat info;
  if (lstat(argv[0], &info) < 0) return errno;
  detail("mode=%o uid=%u gid=%u size=%lld dev=%llu ino=%llu rdev=%u:%u", info.st_mode, info.st_uid,
         info.st_gid, (long long)info.st_size, (unsigned long long)info.st_dev,
         (unsigned long long)info.st_ino, major(info.st_rdev), minor(info.st_rdev));
  return 0;
}

static int read_link(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  char target[4096];
  ssize_t size = readlink(argv[0], target, sizeof target);
  if (size < 0) return errno;
  detail_bytes(target, (size_t)size);
  return 0;
}

static int remove_file(int argc, char** argv) {
  return argc == 1 ? answer(unlink(argv[0])) : PROBE_USAGE;
}

static int make_folder(int argc, char** argv) {
  return argc == 1 ? answer(mkdir(argv[0], 0755)) : PROBE_USAGE;
}

static int rename_file(int argc, char** argv) {
  return argc == 2 ? answer(rename(argv[0], argv[1])) : PROBE_USAGE;
}

static int exchange_files(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return answer(renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE));
}

static int hard_link(int argc, char** argv) {
  return argc == 2 ? answer(link(argv[0], argv[1])) : PROBE_USAGE;
}

static int symbolic_link(int argc, char** argv) {
  return argc == 2 ? answer(symlink(argv[0], argv[1])) : PROBE_USAGE;
}

static int make_fifo(int argc, char** argv) {
  return argc == 1 ? answer(mkfifo(argv[0], 0644)) : PROBE_USAGE;
}

static int make_node(int argc, char** argv) {
  if (argc != 4) return PROBE_USAGE;
  mode_t kind = argv[1][0] == 'b' ? S_IFBLK : S_IFCHR;
  dev_t device = makedev((unsigned)number(argv[2]), (unsigned)number(argv[3]));
  return answer(mknod(argv[0], kind | 0666, device));
}

static int change_mode(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return answer(chmod(argv[0], (mode_t)strtol(argv[1], NULL, 8)));
}

// A new file, born with these bits, by one of the calls that can do it.
static int create_with_mode(int argc, char** argv) {
  if (argc != 3) return PROBE_USAGE;
  mode_t mode = (mode_t)strtol(argv[1], NULL, 8);
  umask(0);
  if (strcmp(argv[2], "mknod") == 0) return answer(mknod(argv[0], S_IFREG | mode, 0));
  if (strcmp(argv[2], "creat") == 0) return answer(creat(argv[0], mode));
  if (strcmp(argv[2], "openat2") == 0) {
    struct {
      unsigned long flags, mode, resolve;
    } how = {O_CREAT | O_RDWR, mode, 0};
    return answer((int)syscall(437, AT_FDCWD, argv[0], &how, sizeof how));
  }
  return answer(open(argv[0], O_CREAT | O_RDWR, mode));
}

static int change_owner(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  return answer(chown(argv[0], (uid_t)number(argv[1]), (gid_t)-1));
}

// The Shocker way: a handle needs no path, so it reaches any inode of the filesystem below a mount.
static int open_by_handle(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  union {
    struct file_handle handle;
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } file;
  file.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  int anchor = open(argv[0], O_RDONLY | O_NONBLOCK);
  if (anchor < 0) return errno;
  if (syscall(SYS_name_to_handle_at, AT_FDCWD, argv[0], &file.handle, &mount_id, 0) < 0) {
    // Without a real handle: inode 2 of an ext filesystem, the root folder.
    detail("name_to_handle_at: %s; ", strerrorname_np(errno));
    file.handle.handle_bytes = 8;
    file.handle.handle_type = 1;
    memcpy(file.handle.f_handle, "\x02\0\0\0\0\0\0\0", 8);
  }
  return answer(syscall(SYS_open_by_handle_at, anchor, &file.handle, O_RDONLY));
}

const struct Probe file_probes[] = {{"read", read_file, "PATH"},
                                    {"write", write_file, "PATH TEXT"},
                                    {"create", create_file, "PATH TEXT"},
                                    {"open-write", open_for_writing, "PATH"},
                                    {"lock", lock_file, "PATH"},
                                    {"list", list_folder, "DIR"},
                                    {"stat", stat_file, "PATH"},
                                    {"readlink", read_link, "PATH"},
                                    {"unlink", remove_file, "PATH"},
                                    {"mkdir", make_folder, "PATH"},
                                    {"rename", rename_file, "FROM TO"},
                                    {"exchange", exchange_files, "ONE OTHER"},
                                    {"link", hard_link, "OLD NEW"},
                                    {"symlink", symbolic_link, "TARGET PATH"},
                                    {"mkfifo", make_fifo, "PATH"},
                                    {"mknod", make_node, "PATH c|b MAJOR MINOR"},
                                    {"chmod", change_mode, "PATH OCTAL"},
                                    {"create-mode", create_with_mode, "PATH OCTAL CALL"},
                                    {"chown", change_owner, "PATH UID"},
                                    {"handle", open_by_handle, "PATH"},
                                    {NULL, NULL, NULL}};
