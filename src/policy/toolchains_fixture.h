// A host with a home folder, and what a command of it makes visible. Test code only.
#pragma once

#include <gtest/gtest.h>

#include "policy/fake_host_files.h"
#include "policy/resolve.h"

namespace caisson::toolchains_test {

using Names = std::vector<std::string>;

struct World : FakeHost {
  World& path(const std::string& folder) {
    caller.environment["PATH"] = folder + ":" + caller.environment["PATH"];
    return *this;
  }
  Policy resolved(const std::string& command) const {
    Result<Policy> policy = resolve({}, caller, {{command}}, files);
    EXPECT_TRUE(policy.ok()) << policy.error().what;
    return policy.ok() ? *policy : Policy();
  }
};

// The targets of what the toolchain added.
inline Names exposed(const Policy& policy) {
  Names out;
  for (const Mount& mount : policy.mounts) {
    if (!mount.origin.starts_with("toolchain: ")) continue;
    EXPECT_EQ(mount.source, mount.target);
    EXPECT_EQ(mount.access, Access::kReadOnly);
    out.push_back(mount.target);
  }
  return out;
}

inline Names linked(const Policy& policy) {
  Names out;
  for (const Link& link : policy.links) out.push_back(link.path + " -> " + link.target);
  return out;
}

inline std::string variable(const Policy& policy, const std::string& name) {
  for (const auto& [key, value] : policy.environment)
    if (key == name) return value;
  return "(unset)";
}

}  // namespace caisson::toolchains_test
