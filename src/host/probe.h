// Looks at this host: facts for the plan, files for the policy, the caller for both.
#pragma once

#include "plan/host_facts.h"
#include "policy/caller.h"
#include "policy/host_files.h"
#include "policy/policy.h"

namespace caisson {

// Cheap enough for every start (about 50 µs): nothing is tried out, only looked at.
HostFacts probe_host();
// Only what a cell of this policy asks about: one that shows the host's own tree mounts no system
// folder by name.
HostFacts probe_host_for(const Policy&);

// Of these mounts' sources, those on a filesystem that can't be id-mapped (see
// Plan::throwaway_ids).
std::vector<std::string> sources_without_idmap(const std::vector<Mount>&,
                                               const std::string& kernel_release);

// Whether the kernel lists the children of a process; of use to the landlock tier alone.
bool kernel_lists_children();

struct Account {
  std::string name, home;  // of /etc/passwd; empty for who is not in it
};
Account account_of(uid_t user);

// Who runs this process, from where.
Caller current_caller(char** environment);

class RealHostFiles final : public HostFiles {
 public:
  std::optional<FileIdentity> look(const std::string& path) const override;
  std::optional<FileIdentity> look_exactly(const std::string& path) const override;
  std::optional<std::string> canonical(const std::string& path) const override;
  Name name_at(const std::string& path) const override;
  std::optional<std::string> link_target(const std::string& path) const override;
  std::optional<std::string> read(const std::string& path, size_t limit) const override;
  std::optional<std::string> read_plain(const std::string& path, size_t limit) const override;
  bool make_directory(const std::string& path) const override;
};

// The same, but a folder that would be made is only remembered, and looked at as its parent.
class PretendingHostFiles final : public HostFiles {
 public:
  std::optional<FileIdentity> look(const std::string& path) const override;
  std::optional<FileIdentity> look_exactly(const std::string& path) const override;
  std::optional<std::string> canonical(const std::string& path) const override;
  std::optional<std::string> link_target(const std::string& path) const override;
  std::optional<std::string> read(const std::string& path, size_t limit) const override;
  std::optional<std::string> read_plain(const std::string& path, size_t limit) const override;
  bool make_directory(const std::string& path) const override;

 private:
  RealHostFiles real_;
  mutable std::string made_;
};

}  // namespace caisson
