#include "host/host_texts.h"

#include <charconv>

#include "base/text.h"

namespace caisson {

ContainerKind container_kind(const ContainerTraces& traces) {
  std::string_view systemd_name = trim(traces.systemd_name);
  if (traces.first_pid_namespace) return ContainerKind::kNone;
  if (traces.kubernetes) return ContainerKind::kKubernetes;
  if (traces.docker_file || systemd_name == "docker") return ContainerKind::kDocker;
  if (traces.podman_file || systemd_name == "podman" || traces.variable == "podman")
    return ContainerKind::kPodman;
  if (!systemd_name.empty() || !traces.variable.empty()) return ContainerKind::kOther;
  return ContainerKind::kNone;
}

bool is_first_pid_namespace(std::string_view link) { return link == "pid:[4026531836]"; }

// "35 31 0:32 ROOT POINT …" per line.
bool root_is_no_mount(std::string_view mountinfo) {
  if (trim(mountinfo).empty()) return false;
  for (std::string_view line : split(mountinfo, '\n')) {
    std::vector<std::string_view> fields = split(line, ' ');
    if (fields.size() > 4 && fields[4] == "/") return false;
  }
  return true;
}

static std::vector<unsigned long> numbers(std::string_view line) {
  std::vector<unsigned long> found;
  for (std::string_view word : split(line, ' ')) {
    unsigned long value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (!word.empty() && error == std::errc()) found.push_back(value);
  }
  return found;
}

bool is_mapped(std::string_view id_map, unsigned id) {
  if (trim(id_map).empty()) return true;
  for (std::string_view line : split(id_map, '\n')) {
    std::vector<unsigned long> range = numbers(line);  // first inside, first outside, count
    if (range.size() == 3 && id >= range[0] && id - range[0] < range[2]) return true;
  }
  return false;
}

bool has_seccomp_filter(std::string_view status) {
  for (std::string_view line : split(status, '\n'))
    if (line.starts_with("Seccomp:")) return trim(line.substr(8)) == "2";
  return false;
}

KernelVersion parse_kernel_version(std::string_view release) {
  KernelVersion version;
  const char* end = release.data() + release.size();
  auto [dot, error] = std::from_chars(release.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return {};
  return version;
}

}  // namespace caisson
