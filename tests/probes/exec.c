// Executing what one should not, by every road that avoids the name of it (T26, T27).
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

// The child tells a failed exec by a pipe that a successful one closes.
struct Attempt {
  int fd;  // execveat on this, or -1
  char** argv;
};

static void run_child(const struct Attempt* attempt, int report) {
  int null = open("/dev/null", O_RDWR);
  dup2(null, 1);
  dup2(null, 2);
  if (attempt->fd >= 0) {
    syscall(SYS_execveat, attempt->fd, "", attempt->argv, environ, AT_EMPTY_PATH);
  } else {
    execv(attempt->argv[0], attempt->argv);
  }
  int error = errno;
  if (write(report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

static int attempt_exec(struct Attempt attempt) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) return errno;
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) run_child(&attempt, report[1]);
  close(report[1]);
  int error = 0;
  ssize_t size = read(report[0], &error, sizeof error);
  int status = wait_for(child);
  if (size > 0) return error;
  detail("status=%d", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return 0;
}

static int exec_path(int argc, char** argv) {
  if (argc < 1) return PROBE_USAGE;
  return attempt_exec((struct Attempt){-1, argv});
}

static int copy_into(const char* source, int out) {
  int in = open(source, O_RDONLY);
  if (in < 0 || out < 0) return errno;
  char buffer[65536];
  ssize_t size;
  while ((size = read(in, buffer, sizeof buffer)) > 0) {
    if (write(out, buffer, (size_t)size) != size) return errno ? errno : EIO;
  }
  close(in);
  return size < 0 ? errno : 0;
}

// A program with no name at all.
static int exec_memfd(int argc, char** argv) {
  if (argc < 1) return PROBE_USAGE;
  int fd = (int)syscall(SYS_memfd_create, "unnamed", 0u);
  if (fd < 0) return errno;
  int error = copy_into(argv[0], fd);
  if (error) return error;
  return attempt_exec((struct Attempt){fd, argv});
}

// A deny-list by name does not know the copy.
static int exec_copy(int argc, char** argv) {
  if (argc < 2) return PROBE_USAGE;
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0755);
  if (fd < 0) return errno;
  int error = copy_into(argv[0], fd);
  close(fd);
  if (error) return error;
  return attempt_exec((struct Attempt){-1, argv + 1});
}

// Writes a program to `path` with the given mode, so that a set-id copy can be tried.
static int plant_program(int argc, char** argv) {
  if (argc != 3) return PROBE_USAGE;
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0755);
  if (fd < 0) return errno;
  int error = copy_into(argv[0], fd);
  if (error) return error;
  return answer(fchmod(fd, (mode_t)strtol(argv[2], NULL, 8)));
}

// CVE-2019-5736: hold the running program by its link, become another program, and open the first
// one for writing, now that it does not run any more. The second program is a nameless copy of this
// one.
static int overwrite_exe(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int held = open(argv[0], O_PATH);
  if (held < 0) return errno;
  int copy = (int)syscall(SYS_memfd_create, "unnamed", 0u);
  int error = copy < 0 ? errno : copy_into("/proc/self/exe", copy);
  if (error) return error;
  char number[16], name[] = "reopen";
  snprintf(number, sizeof number, "%d", held);
  char* words[] = {name, name, number, NULL};
  syscall(SYS_execveat, copy, "", words, environ, AT_EMPTY_PATH);
  return errno;
}

const struct Probe exec_probes[] = {
    {"exec", exec_path, "PATH [words…]"},           {"exec-memfd", exec_memfd, "PATH [words…]"},
    {"exec-copy", exec_copy, "PATH COPY [words…]"}, {"overwrite-exe", overwrite_exe, "LINK"},
    {"plant", plant_program, "PATH COPY OCTAL"},    {NULL, NULL, NULL}};
