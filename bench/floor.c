// The floor: what the kernel alone asks for the namespaces, mounts and exec of a cell.
//
// It walks the plan that `caisson exec --dry-run` prints (made plain by floor_plan), one system
// call after the other, and starts the program below a pid 1 as caisson does. It has no policy, no
// pipes, no cgroup, no record, no id-mapped mounts, no Landlock, no seccomp and no second thread:
// what a cell costs beyond the floor is the price of those, less what caisson does side by side.
//
// usage: floor PLAN command [argument…]
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostSteps = 512, kPlanBytes = 65536 };

struct Step {
  char kind;  // the first letter of a line, see floor_plan
  const char *path, *other;
  uint64_t a, b;
};

struct MountAttributes {
  uint64_t set, clear, propagation, userns_fd;
};

static char plan_text[kPlanBytes];
static struct Step steps[kMostSteps];
static int step_count;
static int root = -1;

static void must(long result, const char* what, const char* which) {
  if (result >= 0) return;
  fprintf(stderr, "floor: %s %s: %m\n", what, which ? which : "");
  _exit(125);
}

// One step per line, fields parted by tabs: kind, path, other, a, b.
static void read_plan(const char* file) {
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  must(fd, "open", file);
  long size = read(fd, plan_text, sizeof plan_text - 1);
  must(size, "read", file);
  close(fd);
  char* at = plan_text;
  while (*at && step_count < kMostSteps) {
    char* line = strsep(&at, "\n");
    struct Step* step = &steps[step_count++];
    step->kind = *strsep(&line, "\t");
    step->path = strsep(&line, "\t");
    step->other = strsep(&line, "\t");
    step->a = strtoull(strsep(&line, "\t"), NULL, 0);
    step->b = strtoull(line, NULL, 0);
  }
}

static void write_text(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd, "open", path);
  must(write(fd, text, strlen(text)), "write", path);
  close(fd);
}

static void map_ids(unsigned uid, unsigned gid) {
  char line[64];
  write_text("/proc/self/setgroups", "deny");
  snprintf(line, sizeof line, "%u %u 1", uid, uid);
  write_text("/proc/self/uid_map", line);
  snprintf(line, sizeof line, "%u %u 1", gid, gid);
  write_text("/proc/self/gid_map", line);
}

static void bring_up_loopback(void) {
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  must(ioctl(fd, SIOCSIFFLAGS, &request), "bring up", "lo");
  close(fd);
}

static long make_filesystem(const char* type, const char* const* options, uint64_t attributes) {
  long context = syscall(SYS_fsopen, type, 1);
  must(context, "fsopen", type);
  for (; *options; options += 2)
    must(syscall(SYS_fsconfig, context, 1, options[0], options[1], 0), "fsconfig", options[0]);
  must(syscall(SYS_fsconfig, context, 6, NULL, NULL, 0), "create", type);
  long mount = syscall(SYS_fsmount, context, 1, attributes);
  must(mount, "fsmount", type);
  close(context);
  return mount;
}

static void new_root(const struct Step* step) {
  char size[24], inodes[24];
  snprintf(size, sizeof size, "%llu", (unsigned long long)step->a);
  snprintf(inodes, sizeof inodes, "%llu", (unsigned long long)step->b);
  const char* const options[] = {"size", size, "nr_inodes", inodes, "mode", "0755", NULL};
  root = make_filesystem("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  must(syscall(SYS_move_mount, root, "", AT_FDCWD, "/proc", 4), "mount", "the root");
}

static void attach(long mount, const char* path) {
  must(syscall(SYS_move_mount, mount, "", root, path, 4), "mount", path);
  close(mount);
}

static void set_attributes(long mount, uint64_t attributes, unsigned flags) {
  struct MountAttributes what = {.set = attributes};
  must(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | flags, &what, sizeof what),
       "mount_setattr", NULL);
}

static void bind_host(const struct Step* step) {
  long mount = syscall(SYS_open_tree, AT_FDCWD, step->other,
                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  must(mount, "open_tree", step->other);
  set_attributes(mount, step->a, AT_RECURSIVE);
  attach(mount, step->path);
}

static void bind_own(const char* source, const struct Step* step) {
  long mount = syscall(SYS_open_tree, root, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  must(mount, "open_tree", source);
  if (step->a) set_attributes(mount, step->a, 0);
  attach(mount, step->path);
}

static void make_file(const struct Step* step) {
  static const char content[4096];
  int fd = openat(root, step->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  must(fd, "make", step->path);
  if (step->a) must(write(fd, content, step->a), "write", step->path);
  close(fd);
}

static void make_folder(const struct Step* step) {
  must(mkdirat(root, step->path, 0755), "mkdir", step->path);
  if (step->a != 0755) must(fchmodat(root, step->path, step->a, 0), "chmod", step->path);
}

static void pivot(void) {
  must(fchdir(root), "enter", "the root");
  must(syscall(SYS_pivot_root, ".", "."), "pivot_root", NULL);
  must(umount2(".", MNT_DETACH), "detach", "the old root");
  must(chdir("/"), "chdir", "/");
  close(root);
  struct MountAttributes what = {.propagation = MS_PRIVATE};
  must(syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &what, sizeof what), "private", "/");
}

static void drop_capabilities(void) {
  for (long capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; ++capability) {
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {0};
  must(syscall(SYS_capset, &header, none), "capset", NULL);
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs", NULL);
}

static void limit(const struct Step* step) {
  struct rlimit both = {step->b, step->b};
  must(setrlimit(step->a, &both), "rlimit", step->path);
}

static void run_step(const struct Step* step) {
  static const char* const no_options[] = {NULL};
  static const char* const devpts[] = {"ptmxmode", "0666", "mode", "0620", NULL};
  switch (step->kind) {
    case 'r':
      new_root(step);
      break;
    case 'd':
      make_folder(step);
      break;
    case 'f':
      make_file(step);
      break;
    case 'l':
      must(symlinkat(step->other, root, step->path), "link", step->path);
      break;
    case 'm':
      bind_host(step);
      break;
    case 'o':
      bind_own(step->path, step);
      break;
    case 'x':
      bind_own(step->other, step);
      break;
    case 'p':
      attach(make_filesystem("proc", no_options, step->a), step->path);
      break;
    case 't':
      attach(make_filesystem("devpts", devpts, step->a), step->path);
      break;
    case 's':
      set_attributes(root, MOUNT_ATTR_RDONLY, 0);
      break;
    case 'v':
      pivot();
      break;
    case 'n':
      bring_up_loopback();
      break;
    case 'h':
      must(sethostname("caisson", 7), "sethostname", NULL);
      break;
    case 'w':
      must(chdir(step->path), "chdir", step->path);
      break;
    case 'c':
      drop_capabilities();
      break;
    case 'q':
      limit(step);
      break;
    default:
      fprintf(stderr, "floor: no such step: %c\n", step->kind);
      _exit(125);
  }
}

static int be_init(char** command, unsigned uid, unsigned gid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  map_ids(uid, gid);
  int i = 0;
  for (; i < step_count && steps[i].kind != 'q'; ++i) run_step(&steps[i]);
  pid_t program = vfork();
  if (program == 0) {
    setsid();
    for (; i < step_count; ++i) run_step(&steps[i]);
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0;
  while (waitpid(-1, &status, 0) != program) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc < 3) return 125;
  read_plan(argv[1]);
  unsigned uid = geteuid(), gid = getegid();
  struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                     CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
                            .exit_signal = SIGCHLD};
  long pid = syscall(SYS_clone3, &args, sizeof args);
  must(pid, "clone3", NULL);
  if (pid == 0) _exit(be_init(argv + 2, uid, gid));
  int status = 0;
  must(waitpid(pid, &status, 0), "wait", NULL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
