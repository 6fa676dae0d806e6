// Using up what others need: processes, memory, fds, processor time, output (T55, T56, T63).
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

// Children wait on a pipe that nobody writes to, so they all end with this process.
static int fork_many(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  long goal = number(argv[0]), made = 0;
  int error = 0, gate[2];
  if (pipe(gate) < 0) return errno;
  while (made < goal) {
    pid_t child = fork();
    if (child < 0) {
      error = errno;
      break;
    }
    if (child == 0) {
      close(gate[1]);
      char byte;
      _exit(read(gate[0], &byte, 1) > 0);
    }
    ++made;
  }
  close(gate[1]);
  while (wait(NULL) > 0) continue;
  detail("%ld", made);
  return error;
}

static void* idle(void* unused) {
  while (pause() < 0) continue;
  return unused;
}

static int start_threads(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  long goal = number(argv[0]), made = 0;
  int error = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (pthread_t thread; made < goal && !error; ++made) {
    error = pthread_create(&thread, &small, idle, NULL);
  }
  detail("%ld", error ? made - 1 : made);
  return error;
}

static int use_memory(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  size_t size = (size_t)number(argv[0]);
  char* bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return errno;
  for (size_t at = 0; at < size; at += 4096) bytes[at] = 1;
  return 0;
}

// Several processes, each small: a limit per process does not see them together.
static int use_memory_together(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  long count = number(argv[0]);
  int ready[2], killed = 0, gate[2];
  if (pipe(ready) < 0 || pipe(gate) < 0) return errno;
  for (long i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    close(gate[1]);
    char byte = use_memory(1, argv + 1) ? 'n' : 'y';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(gate[0], &byte, 1) > 0);
  }
  close(ready[1]);
  long good = 0;
  char byte;
  while (good < count && read(ready[0], &byte, 1) == 1) good += byte == 'y';
  close(gate[1]);
  for (int status; wait(&status) > 0;) killed += WIFSIGNALED(status);
  detail("good=%ld killed=%d", good, killed);
  return good == count ? 0 : ENOMEM;
}

static int use_fds(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  long goal = number(argv[0]), made = 0;
  for (; made < goal; ++made) {
    if (dup(0) < 0) break;
  }
  detail("%ld", made);
  return made == goal ? 0 : errno;
}

static long clock_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int spin(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  long end = clock_ms(CLOCK_MONOTONIC) + number(argv[0]);
  while (clock_ms(CLOCK_MONOTONIC) < end) continue;
  detail("%ld", clock_ms(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

static int real_time(int argc, char** argv) {
  (void)argv;
  struct sched_param first = {.sched_priority = 1};
  return argc == 0 ? answer(sched_setscheduler(0, SCHED_FIFO, &first)) : PROBE_USAGE;
}

static int raise_priority(int argc, char** argv) {
  (void)argv;
  return argc == 0 ? answer(setpriority(PRIO_PROCESS, 0, -5)) : PROBE_USAGE;
}

// How long the kernel lets it have the processor at a time; 0 before 6.12.
static int turns(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  struct {
    unsigned size, policy;
    unsigned long long flags;
    int nice;
    unsigned priority;
    unsigned long long runtime, deadline, period;
    unsigned least, most;
  } own = {0};
  if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) < 0) return errno;
  detail("%llu", own.runtime);
  return 0;
}

// Asks for all processors and tells how many it then has.
static int use_all_processors(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  int error = answer(sched_setaffinity(0, sizeof all, &all));
  if (sched_getaffinity(0, sizeof all, &all) < 0) return errno;
  detail("%d", CPU_COUNT(&all));
  return error;
}

static int lock_memory(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  size_t size = (size_t)number(argv[0]);
  void* bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? errno : answer(mlock(bytes, size));
}

// Raises a hard limit by one; a process without the capability can't.
static int raise_limit(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct rlimit limit;
  int resource = (int)number(argv[0]);
  if (getrlimit(resource, &limit) < 0) return errno;
  if (limit.rlim_max == RLIM_INFINITY) detail("unlimited");
  if (limit.rlim_max == RLIM_INFINITY) return 0;
  limit.rlim_max += 1;
  return answer(setrlimit(resource, &limit));
}

static int zero_limit(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  struct rlimit none = {0, 0};
  long resource = number(argv[0]);
  if (!strcmp(argv[1], "setrlimit")) return answer(syscall(SYS_setrlimit, resource, &none));
  return answer(syscall(SYS_prlimit64, 0L, resource, &none, NULL));
}

// The limits of another process with the same ids.
static int limit_of_child(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    pause();
    _exit(0);
  }
  struct rlimit few = {3, 3};
  int result = answer(syscall(SYS_prlimit64, (long)child, (long)RLIMIT_NOFILE, &few, NULL));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return result;
}

// A context of Linux AIO, of which the whole machine has so many.
static int aio_context(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  unsigned long context = 0;
  return answer(syscall(SYS_io_setup, 1L, &context));
}

static int flood(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  static char block[65536];
  memset(block, argv[1][0], sizeof block);
  if (!strcmp(argv[1], "binary")) {
    for (size_t i = 0; i < sizeof block; ++i) block[i] = (char)(i * 131 + (i >> 8));
  }
  for (long left = number(argv[0]); left > 0;) {
    ssize_t size = write(1, block, left < (long)sizeof block ? (size_t)left : sizeof block);
    if (size < 0) return errno;
    left -= size;
  }
  return 0;
}

// Makes the kernel write a core, if it may.
static int crash(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  abort();
}

const struct Probe resource_probes[] = {{"forks", fork_many, "COUNT"},
                                        {"threads", start_threads, "COUNT"},
                                        {"memory", use_memory, "BYTES"},
                                        {"memory-together", use_memory_together, "COUNT BYTES"},
                                        {"use-fds", use_fds, "COUNT"},
                                        {"spin", spin, "MILLISECONDS"},
                                        {"real-time", real_time, ""},
                                        {"priority", raise_priority, ""},
                                        {"processors", use_all_processors, ""},
                                        {"turns", turns, ""},
                                        {"mlock", lock_memory, "BYTES"},
                                        {"raise-limit", raise_limit, "NUMBER"},
                                        {"zero-limit", zero_limit, "NUMBER prlimit64|setrlimit"},
                                        {"limit-of-child", limit_of_child, ""},
                                        {"aio-context", aio_context, ""},
                                        {"flood", flood, "BYTES LETTER|binary"},
                                        {"crash", crash, ""},
                                        {NULL, NULL, NULL}};
