#include "session/load_rules.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"

namespace caisson::session {

namespace {

constexpr std::string_view kCredentials[] = {".ssh", ".aws", ".config/gcloud", ".gnupg"};

DeniedPath denied(std::string path) {
  struct stat info;
  DeniedPath one{std::move(path), {}};
  if (::stat(one.path.c_str(), &info) == 0) one.identity = {info.st_dev, info.st_ino};
  return one;
}

bool lies_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/' || folder == "/");
}

bool is_same(const FileIdentity& one, const OpenedFile& file) {
  if (one == FileIdentity{}) return false;
  return one == file.identity || std::ranges::find(file.folders, one) != file.folders.end();
}

}  // namespace

LoadRules::LoadRules(std::string_view home, const std::vector<std::string>& more) {
  while (home.size() > 1 && home.ends_with('/')) home.remove_suffix(1);
  if (!home.empty())
    for (std::string_view name : kCredentials)
      denied_.push_back(denied(fmt::format("{}/{}", home, name)));
  for (std::string path : more) {
    if (path.starts_with("~/") && !home.empty()) path = fmt::format("{}/{}", home, path.substr(2));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    denied_.push_back(denied(std::move(path)));
  }
}

void LoadRules::deny_own(std::string path) { own_.push_back(denied(std::move(path))); }

Result<void> LoadRules::judge(const OpenedFile& file, bool in_workspace) const {
  if (!control_enabled("session-load-rules")) return {};
  std::vector<DeniedPath> all = denied_;
  if (!in_workspace) all.insert(all.end(), own_.begin(), own_.end());
  for (const DeniedPath& one : all)
    if (lies_below(file.real_path, one.path) || is_same(one.identity, file))
      return Error::plain(fmt::format("load {}: it lies in {}, which sessions may not read",
                                      printable(file.real_path), printable(one.path)),
                          "copy what is needed to another folder, if that is meant");
  return {};
}

}  // namespace caisson::session
