#include "session/python_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "session/path_walk.h"

namespace caisson::session {

namespace {

constexpr size_t kMostFolders = 4096;
constexpr int kMostPythonLinks = 40;  // as the kernel follows
// All of this is asked of the launcher, which others wait for, about names that a cell may have
// made: a way of more folders than this is nobody's installation.
constexpr size_t kMostVisited = 1024;
constexpr off_t kMostConfig = 64 << 10;

// As far as it exists: a folder that is made later has its name by then.
std::string real_name(const std::string& path) {
  char text[PATH_MAX];
  return ::realpath(path.c_str(), text) ? text : path;
}

std::string parent(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

bool lies_below_path(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

Result<WrittenFolder> folder_at(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return Error::system("look at a folder");
  return WrittenFolder{TRY(real_path_of(fd)), {info.st_dev, info.st_ino}};
}

// What stands at a name of a folder's, whatever that is: nothing is opened by it. A device or a
// pipe does something when it is opened, and a cell can put a link to one there.
struct Named {
  UniqueFd fd;  // O_PATH; none: nothing is there
  struct stat info {};
};
Result<Named> named(int folder, const char* name) {
  Named found{UniqueFd{::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)}};
  if (!found.fd && errno != ENOENT) return Error::system("look at a name");
  if (found.fd && ::fstat(found.fd.get(), &found.info) != 0) return Error::system("look at a name");
  return found;
}

// The very file that was looked at. O_NONBLOCK: a lease on it would have us wait (fcntl(2)).
Result<std::string> folder_text(const Named& file) {
  if (!S_ISREG(file.info.st_mode) || file.info.st_size > kMostConfig)
    return Error::plain("no small file");
  std::string path = fmt::format("/proc/self/fd/{}", file.fd.get());
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return Error::system("open a file");
  std::string text(static_cast<size_t>(kMostConfig), '\0');
  ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return Error::system("read a file");
  text.resize(static_cast<size_t>(size));
  return text;
}

// "home = /usr/bin": where a virtual environment takes the rest from, as Python reads it.
Result<std::string> home_in(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string key(trim(line.substr(0, equals)));
    if (::strcasecmp(key.c_str(), "home") != 0) continue;
    std::string_view home = trim(line.substr(equals + 1));
    if (home.starts_with('/')) return std::string(home);
    return Error::plain("a home that depends on where one is");
  }
  return std::string();
}

class Search {
 public:
  Result<PythonFolders> run(std::string program) {
    for (int i = 0; i < kMostPythonLinks && !program.empty(); ++i) program = TRY(follow(program));
    if (!program.empty()) return Error::from_errno("find a Python", ELOOP);
    return std::move(found_);
  }

 private:
  // Down from "/", name by name: all that is above a folder on the way is among them, too.
  Result<UniqueFd> walk(const std::string& path) {
    auto visit = [this](int folder, Turn) { return add_to_way(folder); };
    Walked walked = TRY(walk_path(path, visit));
    if (!walked.end) return Error::from_errno("find a Python", ENOENT);
    TRY(add_to_way(walked.end.get()));
    return std::move(walked.end);
  }

  Result<void> add_to_way(int folder) {
    if (found_.way.size() == kMostVisited) return Error::plain("a Python that lies too deep");
    found_.way.push_back(TRY(folder_at(folder)));
    return {};
  }

  Result<UniqueFd> add_modules(const std::string& path) {
    UniqueFd folder = TRY(walk(path));
    found_.modules.push_back(TRY(folder_at(folder.get())));
    return folder;
  }

  Result<void> add_base(int folder) {
    constexpr const char* kConfig = "pyvenv.cfg";
    if (!control_enabled("session-python-config"))
      UniqueFd{::openat(folder, kConfig, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    Named config = TRY(named(folder, kConfig));
    if (!config.fd) return {};
    std::string home = TRY(home_in(TRY(folder_text(config))));
    if (home.empty()) return {};
    TRY(walk(home));
    TRY(add_modules(parent(home)));
    return {};
  }

  // Where the link leads that the program is; "": it is none.
  Result<std::string> follow(const std::string& program) {
    UniqueFd bin = TRY(walk(parent(program))), above = TRY(add_modules(parent(parent(program))));
    // Python looks for it in both.
    for (int folder : {bin.get(), above.get()}) TRY(add_base(folder));
    Named file = TRY(named(bin.get(), program.substr(program.rfind('/') + 1).c_str()));
    if (!file.fd) return Error::from_errno("find a Python", ENOENT);
    if (!S_ISLNK(file.info.st_mode)) return std::string();
    char text[PATH_MAX];
    ssize_t size = ::readlinkat(file.fd.get(), "", text, sizeof text);
    if (size <= 0 || size == sizeof text) return Error::plain("a link that can't be read");
    std::string to(text, static_cast<size_t>(size));
    return to.starts_with('/') ? to : fmt::format("{}/{}", TRY(real_path_of(bin.get())), to);
  }

  PythonFolders found_;
};

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
  std::string program = find_python(python, path);
  if (program.empty()) return {};
  if (!program.starts_with('/')) program.insert(0, "/");  // as exec reads it, which starts there
  Result<PythonFolders> found = Search().run(program);
  if (found) return std::move(*found);
  PythonFolders unknown;
  unknown.any = true;
  return unknown;
}

void WritableFolders::add_folder(std::string_view path) {
  if (folders_.size() >= kMostFolders || !path.starts_with('/')) {
    any_ = true;  // relative, or below a home folder: exec knows which
    return;
  }
  std::string real = real_name(std::string(path));
  UniqueFd fd{::open(real.c_str(), O_PATH | O_CLOEXEC | O_DIRECTORY)};
  Written one;
  if (Result<std::vector<FileIdentity>> above = fd ? folders_from(fd.get()) : Error::plain(""))
    one.above = std::move(*above);
  struct stat info;
  if (::stat(real.c_str(), &info) == 0) one.identity = {info.st_dev, info.st_ino};
  folders_.try_emplace(std::move(real), std::move(one));
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
  for (const auto& [path, one] : folders_) all.folders.push_back({path, one.identity});
  return all;
}

// A folder that is mounted twice has two names, and is one.
bool WritableFolders::touch(const PythonFolders& python) const {
  bool by_identity = control_enabled("session-python-alias");
  auto is_same = [&](const FileIdentity& one, const FileIdentity& other) {
    return by_identity && one != FileIdentity{} && one == other;
  };
  auto lies_in_any = [&](const WrittenFolder& folder) {
    return std::ranges::any_of(folders_, [&](const auto& one) {
      return lies_below_path(folder.path, one.first) ||
             is_same(folder.identity, one.second.identity);
    });
  };
  auto is_around_any = [&](const WrittenFolder& folder) {
    return std::ranges::any_of(folders_, [&](const auto& one) {
      const std::vector<FileIdentity>& above = one.second.above;
      return lies_below_path(one.first, folder.path) ||
             std::ranges::any_of(above,
                                 [&](const auto& each) { return is_same(each, folder.identity); });
    });
  };
  auto is_near = [&](const WrittenFolder& folder) {
    if (any_ && !lies_below_path(folder.path, "/usr") && folder.path != "/") return true;
    return lies_in_any(folder) || is_around_any(folder);
  };
  if (python.any && !empty()) return true;
  return std::ranges::any_of(python.modules, is_near) ||
         std::ranges::any_of(python.way, lies_in_any);
}

}  // namespace caisson::session
