// The filters as data: which system calls a cell has, by group, and what it is told about the rest.
#pragma once

#include <vector>

#include "seccomp/filters.h"
#include "seccomp/generate/rule.h"

namespace caisson {

// No call is in two groups of one list.
std::vector<Group> standard_groups();

// Each of these takes the place of what the standard groups say about the same calls.
std::vector<Group> nested_groups();
std::vector<Group> no_sockets_groups();
std::vector<Group> notify_exec_groups();
enum class Asking { kNames, kNamesAndRemovals, kNamesAndReads };
std::vector<Group> names_groups(Asking which);

std::vector<Group> init_groups();
std::vector<Group> gateway_groups();
std::vector<Group> warden_groups();
std::vector<Group> server_groups();
std::vector<Group> listener_groups();

// The verdict for a call that no group names.
Verdict unlisted_verdict(FilterName filter);

// System calls that are newer than the libseccomp (2.5.4) which gives us the other numbers. From
// 424 on a number is the same on every architecture; those below are x86-64's own.
struct KnownNumber {
  std::string_view name;
  int number;
};
std::vector<KnownNumber> newer_calls(Arch arch);

}  // namespace caisson
