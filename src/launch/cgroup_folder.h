// One cgroup folder, as file descriptors and bytes. Nothing here allocates, locks or touches errno:
// the sweeper runs it in a process that shares the memory of a supervisor that may be dead.
#pragma once

#include <stddef.h>

#include <span>
#include <string_view>

namespace caisson {

constexpr size_t kMaxCgroupName = 96;

// Below: 0 or a count when it worked, -errno when not.
long write_cgroup_file(int folder, const char* file, std::string_view text);
long read_cgroup_file(int folder, const char* file, std::span<char> buffer);

// Sends SIGKILL to everything in the folder, again and again while processes appear, within a
// bound. v2: cgroup.kill, which forks can't outrun; else one by one.
void kill_cgroup_members(int folder);
// The same without waiting: once to each that is there. False: nobody was.
bool kill_cgroup_members_once(int folder);

// rmdir, with the folders that a nested program may have made below it. EBUSY is waited out, since
// a killed process leaves its cgroup a moment later. True when the folder is gone.
bool remove_cgroup_folder(int parent, const char* name, unsigned wait_milliseconds);

// v2: the way back from the leaf that a supervisor stepped aside into (controller_grant.h): stops
// handing out controllers below `parent`, moves who is in the leaf up and removes it. Only when no
// other cell lives below `parent`, since its limits would go too. True when the leaf is gone.
bool leave_supervisor_leaf(int parent, const char* leaf);

}  // namespace caisson
