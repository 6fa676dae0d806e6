// The switch of the multi-call program, and the one line of JSON that every probe answers with.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

static char details[60000];
static size_t details_used;

void detail_bytes(const char* bytes, size_t size) {
  size_t room = sizeof details - details_used;
  if (size > room) size = room;
  memcpy(details + details_used, bytes, size);
  details_used += size;
}

void detail(const char* format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  int size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (size > 0) detail_bytes(text, size < (int)sizeof text ? (size_t)size : sizeof text - 1);
}

long number(const char* word) {
  char* end = NULL;
  long value = strtol(word, &end, 0);
  if (*end == 'K') value <<= 10;
  if (*end == 'M') value <<= 20;
  if (*end == 'G') value <<= 30;
  return value;
}

// The child ends with this process: its read returns when the last writer is gone.
static pid_t make_idle_child(void) {
  int gate[2];
  if (pipe(gate) < 0) return -1;
  pid_t child = fork();
  if (child != 0) return child;
  close(gate[1]);
  char byte;
  _exit(read(gate[0], &byte, 1) > 0);
}

pid_t target_process(const char* word) {
  if (!strcmp(word, "self")) return getpid();
  if (!strcmp(word, "parent")) return getppid();
  return strcmp(word, "child") ? (pid_t)number(word) : make_idle_child();
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) continue;
  return status;
}

// Bytes above 127 are written as \u00XX, so that the line is JSON whatever a probe has read.
static void print_escaped(const char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte == '"' || byte == '\\') {
      printf("\\%c", byte);
    } else if (byte < 32 || byte > 126) {
      printf("\\u%04x", byte);
    } else {
      putchar(byte);
    }
  }
}

static void print_answer(const char* name, int error) {
  const char* word = error ? strerrorname_np(error) : "OK";
  printf("{\"probe\":\"%s\",\"errno\":%d,\"name\":\"%s\",\"detail\":\"", name, error,
         word ? word : "unknown");
  print_escaped(details, details_used);
  printf("\"}\n");
  fflush(stdout);
}

static const struct Probe* find_probe(const char* name) {
  const struct Probe* tables[] = {compat_probes, exec_probes,   fd_probes,   file_probes,
                                  fill_probes,   ids_probes,    ipc_probes,  kernel_probes,
                                  net_probes,    ns_probes,     peer_probes, resource_probes,
                                  shared_probes, signal_probes, tty_probes};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
    for (const struct Probe* probe = tables[i]; probe->name; ++probe) {
      if (!strcmp(probe->name, name)) return probe;
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: probe NAME [words…]\n");
    return 2;
  }
  const struct Probe* probe = find_probe(argv[1]);
  if (!probe) {
    fprintf(stderr, "probe: no probe is named %s\n", argv[1]);
    return 2;
  }
  int error = probe->run(argc - 2, argv + 2);
  if (error == PROBE_USAGE) {
    fprintf(stderr, "usage: probe %s %s\n", probe->name, probe->usage);
    return 2;
  }
  print_answer(probe->name, error);
  return 0;
}
