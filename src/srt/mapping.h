// srt's settings → caisson's: which file rules, which network, which environment. Looks at the host
// only through HostFiles.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "policy/caller.h"
#include "policy/host_files.h"
#include "policy/settings.h"
#include "srt/settings.h"

namespace caisson::srt {

struct Mapped {
  Settings settings;
  std::vector<std::string> notes;  // for -d
};

struct Scene {
  const SrtSettings& said;
  const Caller& caller;
  const HostFiles& files;
};

Result<Mapped> map_settings(const Scene& scene);

// What a line of --control-fd changes: the rules for hosts, and how they are reached.
RuleTexts rule_texts(const Network& network);

// A path of the settings, absolute: "~" is the home folder, a relative one starts at the current
// folder, as with srt.
Result<std::string> absolute_path(const std::string& text, const Caller& caller);
// The same of a pattern: what is put before it stands for itself, whatever it is called.
Result<std::string> absolute_pattern(const std::string& text, const Caller& caller);
std::string escaped(const std::string& path);

// The parts of map_settings().
Result<void> map_files(const Scene& scene, Mapped& to);
Result<void> map_network(const Scene& scene, Mapped& to);
void map_environment(const Scene& scene, Mapped& to);

}  // namespace caisson::srt
