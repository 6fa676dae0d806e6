// The caller's terminal: typing into it, taking it over (T21, T41).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

static int open_terminal(const char* word) {
  if (word[0] == '/') return open(word, O_RDWR | O_NOCTTY | O_NONBLOCK);
  return (int)number(word);
}

// "wide" sets bits above the 32 that the kernel looks at: a filter that compares all 64 misses it.
static int type_into(int argc, char** argv) {
  if (argc != 3) return PROBE_USAGE;
  unsigned long request = TIOCSTI;
  if (!strcmp(argv[1], "wide")) request |= 1ul << 32;
  int fd = open_terminal(argv[0]);
  if (fd < 0) return errno;
  for (const char* letter = argv[2]; *letter; ++letter) {
    if (syscall(SYS_ioctl, fd, request, letter) < 0) return errno;
  }
  return 0;
}

// TIOCLINUX 6: the shift state; 2 and 3 select and paste. Answers ENOTTY where fd is no console.
static int console_request(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  char code = 6;
  unsigned long request = TIOCLINUX;
  if (!strcmp(argv[1], "wide")) request |= 1ul << 32;
  int fd = open_terminal(argv[0]);
  if (fd < 0) return errno;
  return answer(syscall(SYS_ioctl, fd, request, &code));
}

static int take_terminal(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = open_terminal(argv[0]);
  if (fd < 0) return errno;
  return answer(ioctl(fd, TIOCSCTTY, 1));
}

static int open_controlling(int argc, char** argv) {
  (void)argv;
  return argc == 0 ? answer(open("/dev/tty", O_RDWR)) : PROBE_USAGE;
}

static int is_terminal(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int fd = (int)number(argv[0]);
  if (!isatty(fd)) return errno;
  struct winsize size = {0};
  char name[64];
  ioctl(fd, TIOCGWINSZ, &size);
  detail("%s %ux%u", ttyname_r(fd, name, sizeof name) ? "?" : name, size.ws_col, size.ws_row);
  return 0;
}

// How many terminals of its own a process can open: the number is the kernel's for the whole host.
static int open_many(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  long most = number(argv[0]), opened = 0;
  int error = 0;
  while (opened < most && !error) {
    if (open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0)
      error = errno;
    else
      ++opened;
  }
  detail("%ld", opened);
  return error;
}

const struct Probe tty_probes[] = {{"tiocsti", type_into, "FD|PATH plain|wide TEXT"},
                                   {"tioclinux", console_request, "FD|PATH plain|wide"},
                                   {"tiocsctty", take_terminal, "FD|PATH"},
                                   {"open-tty", open_controlling, ""},
                                   {"isatty", is_terminal, "FD"},
                                   {"ptys", open_many, "N"},
                                   {NULL, NULL, NULL}};
