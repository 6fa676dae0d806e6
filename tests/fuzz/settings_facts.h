// What holds of Settings whoever wrote them, and Settings as text, to compare two of them.
#pragma once

#include <fmt/format.h>

#include "policy/schema.h"
#include "policy/units.h"
#include "require.h"

namespace caisson::fuzz {

enum class Origins { kShown, kHidden };

class SettingsText {
 public:
  SettingsText(const Settings& settings, Origins origins) : origins_(origins) {
    if (settings.tier) line("tier", tier_name(*settings.tier.value), settings.tier.origin);
    if (settings.timeout) {
      auto wall = *settings.timeout.value;
      line("timeout", wall ? fmt::format("{}", wall->count()) : "none", settings.timeout.origin);
    }
    limits(settings);
    paths_and_switches(settings);
    lists(settings);
  }
  std::string take() { return std::move(out_); }

 private:
  void line(std::string_view name, std::string_view value, const Origin& origin) {
    out_ += fmt::format("{}={}|{}\n", name, value, origins_ == Origins::kShown ? origin : "");
  }
  template <typename T>
  void field(std::string_view name, const Setting<T>& setting) {
    if (setting) line(name, fmt::format("{}", *setting.value), setting.origin);
  }
  void limits(const Settings& s) {
    field("memory", s.memory), field("file_size", s.file_size), field("tmp_size", s.tmp_size);
    field("output", s.output_limit), field("cpu", s.cpu_millis), field("shares", s.cpu_shares);
    field("pids", s.pids), field("files", s.files);
  }
  void paths_and_switches(const Settings& s) {
    field("workspace", s.workspace), field("workdir", s.workdir), field("read_only", s.read_only);
    field("no_exec", s.no_exec), field("tty", s.tty), field("write", s.write_current_folder);
    field("network", s.allow_network), field("nested", s.allow_nested);
  }
  void lists(const Settings& s) {
    for (const MountRequest& mount : s.mounts)
      line("mount",
           fmt::format("{}:{}:{}", mount.source, mount.target, static_cast<int>(mount.access)),
           mount.origin);
    for (const EnvironmentRequest& one : s.env_set)
      line("env", one.name + "=" + one.value, one.origin);
    for (const auto& [path, origin] : s.allow_write) line("allow_write", path, origin);
    for (const auto& [name, origin] : s.env_pass) line("env_pass", name, origin);
    for (const auto& [name, origin] : s.best_effort) line("best_effort", name, origin);
  }

  Origins origins_;
  std::string out_;
};

inline std::string to_text(const Settings& settings, Origins origins) {
  return SettingsText(settings, origins).take();
}

inline void require_no_nul(std::string_view text) {
  REQUIRE(text.find('\0') == std::string_view::npos);
}

// The kernel and the plan rely on these.
inline void require_valid(const Settings& s) {
  if (s.memory) REQUIRE(*s.memory.value >= 1 << 20 && *s.memory.value <= INT64_MAX);
  if (s.tmp_size) REQUIRE(*s.tmp_size.value >= 64 << 10);  // 0 would be a tmpfs without a limit
  if (s.pids) REQUIRE(*s.pids.value >= 1);
  if (s.files) REQUIRE(*s.files.value >= 16);
  if (s.workspace) REQUIRE(!s.workspace.value->empty() && s.workspace.value->size() <= kMaxPath);
  if (s.workdir) REQUIRE(!s.workdir.value->empty() && s.workdir.value->size() <= kMaxPath);
  require_no_nul(to_text(s, Origins::kShown));
  REQUIRE(s.mounts.size() <= 256 && s.env_set.size() <= 256 && s.env_pass.size() <= 256);
  REQUIRE(s.allow_write.size() <= 256 && s.best_effort.size() <= 256);
  for (const MountRequest& mount : s.mounts)
    REQUIRE(!mount.source.empty() && *clean_path(mount.target, "/") == mount.target);
  for (const EnvironmentRequest& one : s.env_set)
    REQUIRE(!one.name.empty() && one.name.find('=') == std::string::npos);
  for (const auto& [name, origin] : s.env_pass)
    REQUIRE(!name.empty() && name.find('=') == std::string::npos);
}

}  // namespace caisson::fuzz
