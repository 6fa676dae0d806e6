// The texts that the kernel and container engines leave for doctor to read. Pure.
#pragma once

#include <string>
#include <string_view>

#include "host/deep_facts.h"

namespace caisson {

struct ContainerTraces {
  bool first_pid_namespace = false;  // then it is none, whatever the image left in the root
  bool docker_file = false;          // /.dockerenv
  bool podman_file = false;          // /run/.containerenv
  bool kubernetes = false;           // KUBERNETES_SERVICE_HOST
  std::string systemd_name;          // /run/systemd/container
  std::string variable;              // $container, as systemd and podman set it
};
ContainerKind container_kind(const ContainerTraces&);

// "pid:[4026531836]": the number that the kernel gives the first one (PROC_PID_INIT_INO).
bool is_first_pid_namespace(std::string_view link);

// No mount stands at "/": this process is in a chroot, where the kernel makes no user namespace
// (user_namespaces(7)). False when the text is empty.
bool root_is_no_mount(std::string_view mountinfo);

// The id lies in one of the ranges of /proc/self/uid_map. True when the text is empty.
bool is_mapped(std::string_view id_map, unsigned id);

// "Seccomp:	2" in /proc/self/status.
bool has_seccomp_filter(std::string_view status);

// "6.18.44-fc" is {6, 18}; {0, 0} when it can't be read.
struct KernelVersion {
  int major = 0, minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};
KernelVersion parse_kernel_version(std::string_view release);

}  // namespace caisson
