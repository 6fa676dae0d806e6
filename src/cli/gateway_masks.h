// Credentials that a cell finds masked: read once, before the gateway starts, and split into what
// the cell sees and what only the gateway has.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gateway/gateway.h"
#include "plan/host_facts.h"
#include "policy/caller.h"
#include "policy/host_files.h"
#include "policy/network_policy.h"

namespace caisson {

struct Masks {
  std::vector<Secret> secrets;
  std::vector<AwsKeys> aws_keys;
  std::vector<std::pair<std::string, std::string>> variables;  // as the cell has them
  std::vector<MaskedFile> files;                               // as the cell sees them
  std::vector<std::string> warnings;
};

// A variable that isn't set and a file that isn't there have nothing to hide.
Result<Masks> make_masks(const NetworkDetails& details, const Caller& caller,
                         const HostFiles& files);

}  // namespace caisson
