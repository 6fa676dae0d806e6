// The cell's file tree: what stands where, in the order in which it is put there.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace caisson {

// Names below / and /etc that a cell may see when the host has them: the read allow-list of the
// system. host/ looks which of them are there.
std::span<const std::string_view> system_folder_names();
std::span<const std::string_view> system_etc_names();

// Who the program is.
struct CellIds {
  uid_t uid;  // inside
  gid_t gid;
  bool is_host_root;  // outside: what only root may read of /proc, this one could
};
// The host's own tree (Policy::file_rules), built below kViewFolder.
std::vector<RootStep> plan_host_view(const Policy&, const HostFacts&, const CellIds&);
// Masks of /proc, each path below `proc`.
void add_proc_masks(std::vector<RootStep>&, const std::string& proc, const CellIds&);
// The devices of a cell, at /dev of the root being built.
void add_devices(std::vector<RootStep>&);

std::vector<RootStep> plan_root(const Policy&, const HostFacts&, const CellIds&);

}  // namespace caisson
