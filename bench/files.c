// files FOLDER ROUNDS [filter]: how long a program takes to make and remove a file, to read, to
// write, to look, to open. One line of JSON, microseconds each. With "filter" it does so behind a
// seccomp filter of one instruction, which allows everything: what the kernel takes for having one
// at all.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void need(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static void allow_everything(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {1, &allow};
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "filter");
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  if (argc == 4) allow_everything();
  int rounds = atoi(argv[2]);
  char name[64], buffer[4096] = {0};
  struct stat info;
  need(rounds > 0 && chdir(argv[1]) == 0, argv[1]);

  double start = now();
  for (int i = 0; i < rounds; ++i) {
    snprintf(name, sizeof name, "bench-file-%d", i % 64);
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    need(fd >= 0, "create");
    close(fd);
    need(unlink(name) == 0, "unlink");
  }
  double create = (now() - start) / rounds;

  int fd = open("bench-file", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  need(fd >= 0, "open");
  start = now();
  for (int i = 0; i < rounds; ++i) need(pwrite(fd, buffer, sizeof buffer, 0) > 0, "write");
  double write_time = (now() - start) / rounds;
  start = now();
  for (int i = 0; i < rounds; ++i) need(pread(fd, buffer, sizeof buffer, 0) > 0, "read");
  double read_time = (now() - start) / rounds;
  start = now();
  for (int i = 0; i < rounds; ++i) need(stat("bench-file", &info) == 0, "stat");
  double stat_time = (now() - start) / rounds;
  start = now();
  for (int i = 0; i < rounds; ++i) {
    int one = open("bench-file", O_RDONLY | O_CLOEXEC);
    need(one >= 0, "open to read");
    close(one);
  }
  double open_time = (now() - start) / rounds;
  unlink("bench-file");
  printf(
      "{\"create+unlink\": %.3f, \"write\": %.3f, \"read\": %.3f, \"stat\": %.3f, \"open\": "
      "%.3f}\n",
      create, write_time, read_time, stat_time, open_time);
  return 0;
}
