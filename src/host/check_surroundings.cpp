#include <fmt/format.h>

#include "host/checks.h"
#include "host/host_texts.h"

namespace caisson {

namespace {

constexpr KernelVersion kOldest{5, 12};  // mount_setattr(2)

const char* container_name(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kDocker:
      return "a Docker container";
    case ContainerKind::kPodman:
      return "a Podman container";
    case ContainerKind::kKubernetes:
      return "a Kubernetes pod";
    case ContainerKind::kOther:
      return "a container";
    case ContainerKind::kNone:
      break;
  }
  return "no container";
}

Check kernel(const DeepFacts& facts) {
  KernelVersion version = parse_kernel_version(facts.host.kernel_release);
  if (version == KernelVersion{} || version >= kOldest)
    return {"kernel", CheckStatus::kOk, facts.host.kernel_release};
  return {"kernel",
          CheckStatus::kFail,
          fmt::format("{} is older than {}.{}", facts.host.kernel_release, kOldest.major,
                      kOldest.minor),
          "the mount calls that a cell's root is made with are newer",
          {"# boot a kernel of 5.12 or later; 6.12 or later has all that caisson uses"}};
}

Check place(const DeepFacts& facts) {
  std::string found =
      facts.host.uid == 0 ? "root" : fmt::format("an ordinary user (uid {})", facts.host.uid);
  found += fmt::format(", in {}", container_name(facts.container));
  if (facts.inside_cell) found += ", inside a caisson cell";
  if (facts.chrooted) found += ", in a chroot";
  return {"place", CheckStatus::kInfo, std::move(found)};
}

}  // namespace

void check_surroundings(const DeepFacts& facts, Checks& checks) {
  checks.push_back(kernel(facts));
  checks.push_back(place(facts));
}

// The container's own filter and masks go; what caisson puts around a cell is stricter than both.
std::vector<std::string> container_fix(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kPodman:
      return {"podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"};
    case ContainerKind::kKubernetes:
      return {"# in the pod's spec:",
              "hostUsers: false",
              "# in the container's:",
              "securityContext:",
              "  procMount: Unmasked",
              "  seccompProfile: {type: Unconfined}",
              "  appArmorProfile: {type: Unconfined}"};
    case ContainerKind::kDocker:
    case ContainerKind::kOther:
    case ContainerKind::kNone:
      break;
  }
  return {
      "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
      "--security-opt systempaths=unconfined …"};
}

}  // namespace caisson
