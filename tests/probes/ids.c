// Who am I, and what may I do: ids, capability sets, flags of the process (T30, T23, T65).
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe.h"

static int show_ids(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  uid_t uid, euid, suid;
  gid_t gid, egid, sgid;
  getresuid(&uid, &euid, &suid);
  getresgid(&gid, &egid, &sgid);
  detail("uid=%u euid=%u suid=%u gid=%u egid=%u sgid=%u groups=%d", uid, euid, suid, gid, egid,
         sgid, getgroups(0, NULL));
  return 0;
}

static int show_process(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  char folder[4096] = "?";
  if (!getcwd(folder, sizeof folder)) snprintf(folder, sizeof folder, "?");
  detail("pid=%d ppid=%d pgid=%d sid=%d dumpable=%d nnp=%d cwd=%s", getpid(), getppid(), getpgrp(),
         getsid(0), prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), folder);
  return 0;
}

static int show_uname(int argc, char** argv) {
  (void)argv;
  struct utsname name;
  if (argc != 0) return PROBE_USAGE;
  if (uname(&name) < 0) return errno;
  detail("%s", name.nodename);
  return 0;
}

// One word per way to become somebody else; each works for a process with the capability.
static int become(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  if (!strcmp(argv[0], "setuid")) return answer(setresuid(12345, 12345, 12345));
  if (!strcmp(argv[0], "setgid")) return answer(setresgid(12345, 12345, 12345));
  gid_t group = 12345;
  if (!strcmp(argv[0], "setgroups")) return answer(setgroups(1, &group));
  return PROBE_USAGE;
}

// Asks for one capability back: into the effective and permitted sets.
static int raise_capability(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{0}, {0}};
  long bit = number(argv[0]);
  data[bit / 32].effective = data[bit / 32].permitted = 1u << (bit % 32);
  return answer(syscall(SYS_capset, &header, data));
}

static int show_limit(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  struct rlimit limit;
  if (getrlimit((int)number(argv[0]), &limit) < 0) return errno;
  detail("%lld %lld", (long long)limit.rlim_cur, (long long)limit.rlim_max);
  return 0;
}

static int namespace_of(int argc, char** argv) {
  if (argc != 2) return PROBE_USAGE;
  char path[64], target[256];
  snprintf(path, sizeof path, "/proc/%s/ns/%s", argv[0], argv[1]);
  ssize_t size = readlink(path, target, sizeof target);
  if (size < 0) return errno;
  detail_bytes(target, (size_t)size);
  return 0;
}

static int show_variable(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  const char* value = getenv(argv[0]);
  if (!value) return ENOENT;
  detail("%s", value);
  return 0;
}

const struct Probe ids_probes[] = {{"ids", show_ids, ""},
                                   {"process", show_process, ""},
                                   {"uname", show_uname, ""},
                                   {"become", become, "setuid|setgid|setgroups"},
                                   {"capset", raise_capability, "NUMBER"},
                                   {"rlimit", show_limit, "NUMBER"},
                                   {"ns", namespace_of, "PID NAME"},
                                   {"env", show_variable, "NAME"},
                                   {NULL, NULL, NULL}};
