// Meeting other processes without a network: local sockets, SysV and POSIX objects (T43, T44).
#include <fcntl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

static int connect_local(const char* name, int abstract, int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + abstract, sizeof address.sun_path - 1, "%s", name);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name));
  int fd = socket(AF_UNIX, type, 0);
  if (fd < 0) return errno;
  return answer(connect(fd, (struct sockaddr*)&address, size));
}

static int connect_abstract(int argc, char** argv) {
  return argc == 1 ? connect_local(argv[0], 1, SOCK_STREAM) : PROBE_USAGE;
}

static int connect_abstract_datagram(int argc, char** argv) {
  return argc == 1 ? connect_local(argv[0], 1, SOCK_DGRAM) : PROBE_USAGE;
}

static int connect_path(int argc, char** argv) {
  return argc == 1 ? connect_local(argv[0], 0, SOCK_STREAM) : PROBE_USAGE;
}

// Reads the text that the test left in a segment with this key.
static int attach_segment(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  int id = shmget((key_t)number(argv[0]), 0, 0);
  if (id < 0) return errno;
  char* text = shmat(id, NULL, SHM_RDONLY);
  if (text == (char*)-1) return errno;
  detail("%.64s", text);
  return 0;
}

// A segment of one's own works in a cell as everywhere: databases use them.
static int own_segment(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0) return errno;
  return answer(shmctl(id, IPC_RMID, NULL));
}

static int find_queue(int argc, char** argv) {
  return argc == 1 ? answer(msgget((key_t)number(argv[0]), 0)) : PROBE_USAGE;
}

static int find_semaphore(int argc, char** argv) {
  return argc == 1 ? answer(semget((key_t)number(argv[0]), 0, 0)) : PROBE_USAGE;
}

static int open_shared(int argc, char** argv) {
  return argc == 1 ? answer(shm_open(argv[0], O_RDONLY, 0)) : PROBE_USAGE;
}

static int open_posix_queue(int argc, char** argv) {
  return argc == 1 ? answer(mq_open(argv[0], O_RDONLY | O_NONBLOCK)) : PROBE_USAGE;
}

const struct Probe ipc_probes[] = {{"abstract", connect_abstract, "NAME"},
                                   {"abstract-datagram", connect_abstract_datagram, "NAME"},
                                   {"unix", connect_path, "PATH"},
                                   {"shm", attach_segment, "KEY"},
                                   {"own-shm", own_segment, ""},
                                   {"msg", find_queue, "KEY"},
                                   {"sem", find_semaphore, "KEY"},
                                   {"posix-shm", open_shared, "NAME"},
                                   {"posix-mq", open_posix_queue, "NAME"},
                                   {NULL, NULL, NULL}};
