// Hosts for the tests of the checks: one where all is fine, and what others lack.
#pragma once

#include <errno.h>

#include "host/deep_facts.h"

namespace caisson {

inline Attempt worked() { return {0, ""}; }
inline Attempt failed(int errnum, std::string step = "a step") { return {errnum, std::move(step)}; }

inline void give_cgroups(DeepFacts& facts, CgroupFacts::Version version) {
  facts.host.cgroup = {version, {}, "", ""};
  for (const char* controller : {"memory", "pids", "cpu"})
    facts.host.cgroup.slots.push_back({controller, "/sys/fs/cgroup/mine"});
  facts.own_cgroups = facts.host.cgroup.slots;
}

// An ordinary user on a current kernel with a delegated cgroup.
inline DeepFacts fine_host() {
  DeepFacts facts;
  facts.host.uid = facts.host.gid = 1000;
  facts.host.kernel_release = "6.18.44-generic";
  facts.host.landlock_abi = 7;
  facts.host.cpus = 4;
  give_cgroups(facts, CgroupFacts::Version::kV2);
  facts.program = "/usr/local/bin/caisson";
  facts.program_is_roots = true;
  facts.user_limit = 96349;
  facts.core_pattern = "core";
  for (const char* name : {"mount", "pid", "network", "ipc", "uts", "cgroup"})
    facts.namespaces.push_back({name, name, 96349, worked()});
  for (Attempt* attempt :
       {&facts.user_namespace, &facts.process_limit, &facts.process_limit_alone, &facts.loopback,
        &facts.tmpfs, &facts.tree_copy, &facts.tree_attributes, &facts.proc, &facts.devpts,
        &facts.overlay, &facts.clone3, &facts.pidfd, &facts.close_range, &facts.openat2,
        &facts.filter, &facts.notification, &facts.landlock, &facts.kvm})
    *attempt = worked();
  facts.audit.folder = "/home/ann/.local/state/caisson";
  facts.audit.file = facts.audit.folder + "/audit.jsonl";
  facts.audit.folder_facts = FileFacts{FileFacts::Kind::kFolder, 1000, 0700, true};
  facts.audit.file_facts = FileFacts{FileFacts::Kind::kFile, 1000, 0600, true};
  return facts;
}

// What needs a user namespace is not tried when there is none.
inline void refuse_user_namespace(DeepFacts& facts, int errnum, std::string step) {
  facts.user_namespace = failed(errnum, std::move(step));
  for (NamespaceFacts& one : facts.namespaces) one.made = {};
  for (Attempt* attempt :
       {&facts.process_limit, &facts.process_limit_alone, &facts.loopback, &facts.tmpfs,
        &facts.tree_copy, &facts.tree_attributes, &facts.proc, &facts.devpts, &facts.overlay})
    *attempt = {};
}

inline DeepFacts ubuntu_24_04() {
  DeepFacts facts = fine_host();
  facts.apparmor_userns = 1;
  facts.apparmor_profile = "unconfined";
  facts.core_pattern = "|/usr/share/apport/apport -p%p -s%s";
  refuse_user_namespace(facts, EPERM, "write /proc/self/uid_map");
  return facts;
}

inline DeepFacts docker_default() {
  DeepFacts facts = fine_host();
  facts.container = ContainerKind::kDocker;
  facts.filtered = true;
  facts.host.uid = facts.host.gid = 0;
  facts.audit.folder_facts->owner = facts.audit.file_facts->owner = 0;
  facts.clone3 = failed(ENOSYS, "clone3");
  facts.pidfd = {};
  facts.host.cgroup = {
      CgroupFacts::Version::kV2, {}, "/sys/fs/cgroup is not writable by uid 0", ""};
  facts.cgroups_read_only = true;
  refuse_user_namespace(facts, EPERM, "clone(CLONE_NEWUSER)");
  return facts;
}

}  // namespace caisson
