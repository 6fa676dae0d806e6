// Outliving the run and signalling others (T28, T29, T44).
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

// With signal 0: asks whether it could, and hurts nobody even where the boundary is missing.
static int could_kill(int argc, char** argv) {
  return argc == 1 ? answer(kill(target_process(argv[0]), 0)) : PROBE_USAGE;
}

static int could_kill_all(int argc, char** argv) {
  (void)argv;
  return argc == 0 ? answer(kill(-1, 0)) : PROBE_USAGE;
}

// Only ever aimed at a process that the test started for this.
static int send_signal(int argc, char** argv) {
  return argc == 2 ? answer(kill(target_process(argv[0]), (int)number(argv[1]))) : PROBE_USAGE;
}

static int signal_by_pidfd(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int handle = (int)syscall(SYS_pidfd_open, target_process(argv[0]), 0u);
  if (handle < 0) return errno;
  return answer(syscall(SYS_pidfd_send_signal, handle, 0, NULL, 0u));
}

static void ignore_polite_signals(void) {
  const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof polite / sizeof *polite; ++i) signal(polite[i], SIG_IGN);
}

// The marker is a word that the test finds in /proc/*/cmdline.
static int sleep_long(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  ignore_polite_signals();
  for (unsigned left = (unsigned)number(argv[0]); left;) left = sleep(left);
  return 0;
}

// As above, but says "ready" first and dies of SIGTERM.
static int wait_politely(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  if (write(1, "ready\n", 6) != 6) return errno;
  for (unsigned left = (unsigned)number(argv[0]); left;) left = sleep(left);
  return 0;
}

static void become_daemon(char** argv, int keep_output) {
  setsid();
  ignore_polite_signals();
  if (fork() != 0) _exit(0);
  if (!keep_output) {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  }
  char self[] = "/proc/self/exe", name[] = "sleep-long";
  char* words[] = {self, name, argv[0], argv[1], NULL};
  execv(self, words);
  _exit(127);
}

// Every way to make a process that a supervisor by ptrace or by parent would lose.
static pid_t make_process(const char* way) {
  if (!strcmp(way, "fork")) return fork();
  if (!strcmp(way, "vfork")) return (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
  unsigned long flags = CLONE_UNTRACED | CLONE_PARENT;
  if (!strcmp(way, "clone")) return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
  struct clone_args args = {.flags = flags};
  pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  // A filter that can't look behind the pointer answers ENOSYS, and libc falls back, too.
  return pid < 0 && errno == ENOSYS ? (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0) : pid;
}

static int make_daemon(int argc, char** argv) {
  if (argc != 4) return PROBE_USAGE;
  int keep_output = !strcmp(argv[3], "keep-output");
  pid_t pid = make_process(argv[2]);
  if (pid < 0) return errno;
  if (pid == 0) become_daemon(argv, keep_output);
  return 0;
}

const struct Probe signal_probes[] = {
    {"could-kill", could_kill, "PID"},
    {"could-kill-all", could_kill_all, ""},
    {"signal", send_signal, "PID NUMBER"},
    {"pidfd-signal", signal_by_pidfd, "PID"},
    {"sleep-long", sleep_long, "SECONDS MARKER"},
    {"wait", wait_politely, "SECONDS MARKER"},
    {"daemon", make_daemon, "SECONDS MARKER fork|vfork|clone|clone3 keep-output|quiet"},
    {NULL, NULL, NULL}};
