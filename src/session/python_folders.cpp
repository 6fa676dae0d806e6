#include "session/python_folders.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unique_fd.h"

namespace caisson::session {

namespace {

constexpr size_t kMostFolders = 4096;
constexpr int kMostLinks = 40;  // as the kernel follows

// As far as it exists: a folder that is made later has its name by then.
std::string real_name(const std::string& path) {
  char text[PATH_MAX];
  return ::realpath(path.c_str(), text) ? text : path;
}

std::string parent(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// "home = /usr/bin": where a virtual environment takes the rest from.
std::string base_of(const std::string& folder) {
  UniqueFd fd{::open((folder + "/pyvenv.cfg").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  char text[4096];
  ssize_t size = fd ? ::read(fd.get(), text, sizeof text) : 0;
  if (size <= 0) return {};
  for (std::string_view line : split(std::string_view(text, static_cast<size_t>(size)), '\n')) {
    size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "home") continue;
    std::string_view home = trim(line.substr(equals + 1));
    if (home.starts_with('/')) return parent(std::string(home));
  }
  return {};
}

}  // namespace

std::string find_python(const std::string& python, std::string_view path) {
  std::string name = python.empty() ? "python3" : python;
  if (name.find('/') != std::string::npos) return name;
  for (std::string_view folder : split(path, ':')) {
    std::string here = fmt::format("{}/{}", folder, name);
    if (folder.starts_with('/') && is_program(here)) return here;
  }
  return {};
}

PythonFolders python_folders(const std::string& python, std::string_view path) {
  PythonFolders found;
  std::string program = find_python(python, path);
  for (int i = 0; i < kMostLinks && !program.empty(); ++i) {
    std::string folder = parent(parent(program));
    found.modules.push_back(real_name(folder));
    if (std::string base = base_of(folder); !base.empty()) found.modules.push_back(real_name(base));
    for (std::string above = parent(program); above != "/"; above = parent(above))
      found.way.push_back(real_name(above));
    char text[PATH_MAX];
    ssize_t size = ::readlink(program.c_str(), text, sizeof text);
    if (size <= 0) break;
    std::string to(text, static_cast<size_t>(size));
    program = to.starts_with('/') ? to : fmt::format("{}/{}", real_name(parent(program)), to);
  }
  return found;
}

void WritableFolders::add_folder(std::string_view path) {
  if (folders_.size() >= kMostFolders || !path.starts_with('/')) {
    any_ = true;  // relative, or below a home folder: exec knows which
    return;
  }
  std::string real = real_name(std::string(path));
  struct stat info;
  FileIdentity identity;
  if (::stat(real.c_str(), &info) == 0) identity = {info.st_dev, info.st_ino};
  folders_.try_emplace(std::move(real), identity);
}

void WritableFolders::add(const SessionSpec& spec) {
  if (!spec.workspace.empty()) add_folder(spec.workspace);
  if (spec.policy_words == known_words_) return;
  for (size_t i = 0; i < spec.policy_words.size(); ++i) {
    std::string_view word = spec.policy_words[i], value;
    if (size_t equals = word.find('='); equals != std::string_view::npos) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    } else if (i + 1 < spec.policy_words.size()) {
      value = spec.policy_words[i + 1];
    }
    if (word == "--policy" || word == "--settings") any_ = true;
    if (word == "--allow-write" || word == "--workspace") add_folder(value);
    if (word != "--mount" || !value.ends_with(":rw")) continue;
    bool is_plain = value.find('\\') == value.npos;  // "\:" is a colon in a name
    add_folder(is_plain ? value.substr(0, value.find(':')) : std::string_view());
  }
}

WrittenPlaces WritableFolders::places() const {
  WrittenPlaces all{{}, any_};
  for (const auto& [path, identity] : folders_) all.folders.push_back({path, identity});
  return all;
}

bool WritableFolders::touch(const PythonFolders& python) const {
  auto lies_in_any = [this](const std::string& folder) {
    return std::ranges::any_of(folders_,
                               [&](const auto& one) { return lies_in(folder, one.first); });
  };
  auto is_near = [&](const std::string& folder) {
    if (any_ && !lies_in(folder, "/usr") && folder != "/") return true;
    return lies_in_any(folder) || std::ranges::any_of(folders_, [&](const auto& one) {
             return lies_in(one.first, folder);
           });
  };
  return std::ranges::any_of(python.modules, is_near) ||
         std::ranges::any_of(python.way, lies_in_any);
}

}  // namespace caisson::session
