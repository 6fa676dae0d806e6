#include "session/kernel_mutants.h"

#ifdef CAISSON_MUTANTS

#include <fmt/format.h>
#include <stdlib.h>

#include "base/control.h"

namespace caisson::session {

namespace {

// The modules are Python strings in the bundle: the end of a line is a backslash and an n there.
class Kernel {
 public:
  explicit Kernel(std::string_view source) : text_(source) {}
  // A text that isn't there once is a mutant that changes nothing: no session starts then.
  void put(std::string_view instead, std::string_view of) {
    size_t at = text_.find(of);
    if (at == std::string::npos || text_.find(of, at + 1) != std::string::npos) ::abort();
    text_.replace(at, of.size(), instead);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void mutate_limits_and_namespaces(Kernel& kernel) {
  if (!control_enabled("fork-cgroup")) kernel.put("False", R"(write(fd, b"0") != 1)");
  if (!control_enabled("fork-ipc")) kernel.put("NEWPID | NEWUTS", "NEWPID | NEWIPC | NEWUTS");
  if (!control_enabled("fork-network")) {
    kernel.put("NEWUTS | NEWCGROUP", "NEWUTS | NEWNET | NEWCGROUP");
    kernel.put("", R"(    loopback_up()\n)");  // of another's it may not, and would say so
  }
}

void mutate_mounts(Kernel& kernel) {
  if (!control_enabled("fork-workspace"))
    kernel.put("pass", R"(mount("/proc/self/fd/%d" % fd, target, None, MS_BIND))");
  if (!control_enabled("fork-tmp"))
    kernel.put("pass", R"(mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV, size))");
  if (!control_enabled("fork-pts"))
    kernel.put(R"((lambda *a: 0)("none", "/dev/pts")", R"(mount("none", "/dev/pts")");
  if (!control_enabled("fork-proc-masks")) kernel.put("", R"(    mask_proc()\n)");
  if (!control_enabled("fork-proc-read-only"))
    kernel.put("MS_REMOUNT | MS_BIND | MS_NOSUID", "MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID");
}

// Without verify(), which would refuse the session: what is missing must show in what code can do.
void mutate_rights(Kernel& kernel) {
  constexpr std::string_view kEnd = R"(    install(program)\n    verify()\n)";
  if (!control_enabled("fork-capabilities")) {
    kernel.put("", R"(    drop_capabilities()\n)");
    kernel.put(R"(    install(program)\n)", kEnd);
  }
  if (!control_enabled("fork-filter")) kernel.put("", kEnd);
  if (!control_enabled("fork-landlock")) kernel.put("", R"(    second_wall(order)\n)");
}

void mutate_keeper(Kernel& kernel) {
  if (!control_enabled("keeper-hidden"))
    kernel.put("True,", "libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0,");
  if (!control_enabled("keeper-kill"))
    kernel.put(R"(pass)", R"(self.lose("it did not stop when interrupted"))");
  if (!control_enabled("keeper-ends-all")) {
    kernel.put(R"(pass\n        self.certain |= new)",
               R"(kill_each(new)\n        self.certain |= new)");
    kernel.put("pass  #", "send(-1, SIGKILL)  #");
  }
  if (!control_enabled("keeper-ends-call"))
    kernel.put("0", "end_all_since(call.started, self.keeper.processes())");
  if (!control_enabled("keeper-over"))
    kernel.put("PF_EXITING)", R"(PF_EXITING and fields[20] == b"0"))");
  if (!control_enabled("keeper-gate"))
    kernel.put("pass", "watcher.poll()  # until the keeper lets go of its end");
  if (!control_enabled("keeper-lets-go")) {
    kernel.put("", R"(            keep_only([sock.fileno() for sock in theirs] + waits)\n)");
    constexpr std::string_view kKnow = R"(        self.lanes.append(lane)\n)";
    constexpr std::string_view kWake =
        R"(        gate, live = wake_at_gate(start, self.known(), workspace)\n)";
    kernel.put(fmt::format("{}{}", kWake, kKnow), fmt::format("{}{}", kKnow, kWake));
  }
  if (!control_enabled("keeper-files")) kernel.put("", R"(            have_few_files()\n)");
  if (!control_enabled("keeper-reseed")) kernel.put("", R"(        reseed()\n)");
  if (!control_enabled("fork-reseed"))
    kernel.put(R"(attach(options)\n    None)", R"(attach(options)\n    reseed())");
  if (!control_enabled("fork-numbers")) kernel.put("", R"(    leave_low_numbers()\n)");
}

}  // namespace

std::string mutated_kernel(std::string_view source) {
  Kernel kernel(source);
  mutate_limits_and_namespaces(kernel);
  mutate_mounts(kernel);
  mutate_rights(kernel);
  mutate_keeper(kernel);
  return kernel.take();
}

}  // namespace caisson::session

#endif
