// The other ways into the kernel of an x86-64 machine (T37): the numbers mean other calls there, so
// a filter that looks at numbers alone is walked around.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#if defined(__x86_64__)
static long enter_i386(long number, long first, long second) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(first), "c"(second), "d"(0L)
                   : "memory", "r8", "r9", "r10", "r11");
  return (int)result;
}

static int report(long result) {
  detail("%ld", result);
  return result < 0 && result > -4096 ? (int)-result : 0;
}

static int i386_getpid(int argc, char** argv) {
  (void)argv;
  return argc == 0 ? report(enter_i386(20, 0, 0)) : PROBE_USAGE;
}

// socketcall(SYS_SOCKET): one number for every socket call, its arguments behind a pointer.
static int i386_socketcall(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  int* words =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (words == MAP_FAILED) return errno;
  words[0] = 1 /* AF_UNIX */, words[1] = 1 /* SOCK_STREAM */, words[2] = 0;
  return report(enter_i386(102, 1, (long)words));
}

static int x32_getpid(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  long result = syscall(SYS_getpid | 0x40000000);
  return report(result < 0 ? -errno : result);
}
#else
static int absent(int argc, char** argv) {
  (void)argc, (void)argv;
  return ENOSYS;
}
#define i386_getpid absent
#define i386_socketcall absent
#define x32_getpid absent
#endif

const struct Probe compat_probes[] = {{"int80-getpid", i386_getpid, ""},
                                      {"int80-socketcall", i386_socketcall, ""},
                                      {"x32-getpid", x32_getpid, ""},
                                      {NULL, NULL, NULL}};
