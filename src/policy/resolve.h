// resolve(): Settings of a Caller → Policy. Looks at the host only through HostFiles.
#pragma once

#include "base/result.h"
#include "policy/caller.h"
#include "policy/host_files.h"
#include "policy/policy.h"
#include "policy/settings.h"

namespace caisson {

Result<Policy> resolve(const Settings&, const Caller&, const Command&, const HostFiles&);

// The same policy gives the same text, so digest() names it.
std::string to_canonical_json(const Policy&);
std::string digest(const Policy&);

// The mounts that a command from a home-folder toolchain needs ({} when it comes from the system).
std::vector<Mount> toolchain_mounts(const std::string& command, const Caller&, const HostFiles&);

}  // namespace caisson
