#include "policy/places.h"

#include <algorithm>

namespace caisson {

namespace {

constexpr std::string_view kSystemFolders[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                               "/lib32", "/lib64", "/libx32", "/opt"};

constexpr std::string_view kSecretFolders[] = {
    ".aws",  ".azure",   ".cargo",          ".claude", ".config", ".docker",      ".gnupg",
    ".kube", ".mozilla", ".password-store", ".pki",    ".ssh",    ".terraform.d", ".thunderbird",
};

bool is_child_of(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && parent_of(path) == folder;
}

void add_with_links_resolved(std::vector<std::string>& list, const std::string& path,
                             const HostFiles& files) {
  if (path.size() < 2 || path[0] != '/') return;  // a daemon's home may be "/": no home to keep out
  for (const std::string& each : {path, files.canonical(path).value_or(path)})
    if (each != "/" && std::ranges::find(list, each) == list.end()) list.push_back(each);
}

}  // namespace

bool is_within(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string_view parent_of(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string join_path(std::string_view folder, std::string_view name) {
  std::string out(folder);
  if (name.empty()) return out;
  if (!out.ends_with('/')) out += '/';
  return out += name;
}

std::span<const std::string_view> system_folders() { return kSystemFolders; }

bool is_system_path(std::string_view path) {
  return is_within(path, "/etc/alternatives") ||
         std::ranges::any_of(kSystemFolders, [&](auto folder) { return is_within(path, folder); });
}

Homes find_homes(const Caller& caller, const HostFiles& files) {
  Homes homes;
  add_with_links_resolved(homes.folders, caller.home, files);
  add_with_links_resolved(homes.folders, caller.env("HOME"), files);
  add_with_links_resolved(homes.folders, "/root", files);
  add_with_links_resolved(homes.parents, "/home", files);
  return homes;
}

std::string Homes::of(std::string_view path) const {
  for (const std::string& home : folders)
    if (is_within(path, home)) return home;
  for (const std::string& parent : parents) {
    if (!is_within(path, parent) || path.size() <= parent.size()) continue;
    return std::string(path.substr(0, path.find('/', parent.size() + 1)));
  }
  return {};
}

bool Homes::reaches(std::string_view path) const {
  return std::ranges::any_of(folders, [&](auto& home) { return is_within(home, path); }) ||
         std::ranges::any_of(parents, [&](auto& parent) {
           return is_within(parent, path) || is_child_of(path, parent);
         });
}

bool keeps_secrets(std::string_view path, const Homes& homes) {
  std::string home = homes.of(path);
  if (home.empty()) return false;
  return std::ranges::any_of(kSecretFolders, [&](std::string_view name) {
    return is_within(path, join_path(home, name));
  });
}

}  // namespace caisson
