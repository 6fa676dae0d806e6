// From a path, a folder or a glob to copies of files in memory.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/control.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "session/load_rules.h"

namespace caisson::session {

namespace {

namespace fs = std::filesystem;

Result<std::string> real_path_of(int fd) {
  char text[4096];
  std::string link = fmt::format("/proc/self/fd/{}", fd);
  ssize_t size = ::readlink(link.c_str(), text, sizeof text);
  if (size < 0) return Error::system("read " + link);
  if (size == sizeof text) return Error::plain("a path that is too long");
  return std::string(text, static_cast<size_t>(size));
}

// Each folder from the root down to it, by what it is and not by what it is called.
std::vector<FileIdentity> folders_above(const std::string& real_path) {
  std::vector<FileIdentity> folders;
  for (size_t end = real_path.rfind('/'); end != std::string::npos && end > 0;
       end = real_path.rfind('/', end - 1)) {
    struct stat info;
    if (::stat(real_path.substr(0, end).c_str(), &info) == 0)
      folders.push_back({info.st_dev, info.st_ino});
  }
  return folders;
}

// True when the path as it is written goes through this folder.
bool goes_through(const std::string& path, const FileIdentity& folder) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    struct stat info;
    std::string part = path.substr(0, end);
    if (::stat(part.c_str(), &info) == 0 && FileIdentity{info.st_dev, info.st_ino} == folder)
      return true;
    if (end == std::string::npos) return false;
  }
}

// What the kernel makes up while it is read: the environment of processes, the settings of devices.
bool is_of_the_kernel(int fd) {
  constexpr uint32_t kKinds[] = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,         DEBUGFS_MAGIC,        TRACEFS_MAGIC,
      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,  CGROUP2_SUPER_MAGIC,  BPF_FS_MAGIC,
      PSTOREFS_MAGIC,   EFIVARFS_MAGIC,      BINFMTFS_MAGIC,       SELINUX_MAGIC,
      SMACK_MAGIC,      DEVPTS_SUPER_MAGIC,  NSFS_MAGIC,           PIPEFS_MAGIC,
      SOCKFS_MAGIC,     ANON_INODE_FS_MAGIC, RDTGROUP_SUPER_MAGIC, 0x62656570 /* configfs */};
  struct statfs info;
  if (!control_enabled("session-load-kernel")) return false;
  if (::fstatfs(fd, &info) != 0) return true;
  return std::ranges::find(kKinds, static_cast<uint32_t>(info.f_type)) != std::end(kKinds);
}

// glob(3) looks at every folder that a pattern reaches: "/*/*/*/*" at all of them.
thread_local constinit size_t glob_left = 0;
dirent* bounded_readdir(void* folder) {
  if (glob_left == 0) return nullptr;
  --glob_left;
  return ::readdir(static_cast<DIR*>(folder));
}

int bounded_glob(const char* pattern, size_t entries, glob_t& found) {
  glob_left = entries;
  found.gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
  found.gl_readdir = bounded_readdir;
  found.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
  found.gl_stat = ::stat;
  found.gl_lstat = ::lstat;
  return ::glob(pattern, GLOB_ALTDIRFUNC, nullptr, &found);
}

class Loader {
 public:
  Loader(const LoadRules& rules, const std::string& workspace, const LoadBounds& bounds)
      : rules_(rules), bounds_(bounds), left_(bounds.bytes) {
    struct stat info;
    if (!workspace.empty() && ::stat(workspace.c_str(), &info) == 0)
      workspace_ = {info.st_dev, info.st_ino};
  }

  Result<UniqueFd> look_at(const std::string& path, struct stat& info) const {
    // O_PATH opens no device and waits for no FIFO.
    UniqueFd fd{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!fd) return Error::system("load " + printable(path));
    if (::fstat(fd.get(), &info) != 0) return Error::system("load " + printable(path));
    OpenedFile file{TRY(real_path_of(fd.get())), {info.st_dev, info.st_ino}, {}};
    file.folders = folders_above(file.real_path);
    bool in_workspace = file.identity == workspace_ ||
                        std::ranges::find(file.folders, workspace_) != file.folders.end();
    TRY(rules_.judge(file, in_workspace));
    if (is_of_the_kernel(fd.get()))
      return Error::plain(fmt::format("load {}: it is the kernel's, and no file", printable(path)));
    if (workspace_ != FileIdentity{} && !in_workspace && goes_through(path, workspace_) &&
        control_enabled("session-load-links"))
      return Error::plain(fmt::format("load {}: a link in the workspace leads out of it to {}",
                                      printable(path), printable(file.real_path)),
                          "name the file itself, if that is meant");
    return fd;
  }

  Result<LoadedFile> take(const std::string& path, std::string key) {
    struct stat info;
    UniqueFd looked = TRY(look_at(path, info));
    if (!S_ISREG(info.st_mode))
      return Error::plain(fmt::format("load {}: not a regular file", printable(path)));
    // The same file that was judged, whatever has its name by now.
    UniqueFd fd{::open(fmt::format("/proc/self/fd/{}", looked.get()).c_str(),
                       O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
    // A lease (fcntl(2), F_SETLEASE) would hold us for as long as the system gives its holder.
    if (!fd && errno == EAGAIN)
      return Error{fmt::format("load {}: in use: a program holds a lease on it", printable(path)),
                   "try again when that program has let go of it", EAGAIN};
    if (!fd) return Error::system("load " + printable(path));
    if (static_cast<uint64_t>(info.st_size) > left_)
      return Error::plain(fmt::format("load {}: {} bytes are more than the session's memory takes",
                                      printable(path), info.st_size),
                          "load a part of it, or give the session more memory");
    LoadedFile file{std::move(key), path.substr(path.rfind('/') + 1), {}, 0};
    file.bytes = TRY(copy(fd.get(), file.size));
    left_ -= std::min(left_, file.size);
    return file;
  }

  Result<LoadedFiles> one(const std::string& path) {
    LoadedFiles all;
    all.files.push_back(TRY(take(path, "")));
    return all;
  }

  Result<LoadedFiles> folder(const std::string& path) {
    LoadedFiles all;
    all.is_many = true;
    std::error_code failed;
    // Links to folders are not followed: a tree has an end.
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied,
                                        failed),
        end;
    if (failed) return Error::plain(fmt::format("load {}: {}", printable(path), failed.message()));
    std::vector<std::string> found;
    size_t seen = 0;
    for (; at != end && !failed && found.size() <= 4 * bounds_.files && ++seen <= bounds_.entries;
         at.increment(failed)) {
      if (at.depth() >= static_cast<int>(bounds_.depth)) at.disable_recursion_pending();
      std::error_code ignored;
      if (!at->is_directory(ignored)) found.push_back(at->path().string());
    }
    std::ranges::sort(found);
    for (const std::string& name : found) add(all, name, name.substr(path.size() + 1));
    return finish(std::move(all), path);
  }

  Result<LoadedFiles> pattern(const std::string& path) {
    glob_t found{};
    ScopeExit free_it([&found] { ::globfree(&found); });
    int failed = bounded_glob(path.c_str(), bounds_.entries, found);
    if (failed) return Error::plain(fmt::format("load {}: no such file", printable(path)));
    LoadedFiles all;
    all.is_many = true;
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      std::string name = found.gl_pathv[i];
      struct stat info;
      if (::stat(name.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
      add(all, name, name.substr(name.rfind('/') + 1));
    }
    return finish(std::move(all), path);
  }

 private:
  // One file of many that can't be had is left out, and told.
  void add(LoadedFiles& all, const std::string& path, std::string key) {
    if (all.files.size() >= bounds_.files) {
      if (all.left_out.size() < 100) all.left_out.push_back(printable(path) + ": too many files");
      return;
    }
    bool taken = std::ranges::find(all.files, key, &LoadedFile::key) != all.files.end();
    Result<LoadedFile> file = take(path, taken ? path : std::move(key));
    if (file)
      all.files.push_back(std::move(*file));
    else if (all.left_out.size() < 100)
      all.left_out.push_back(file.error().what);
  }

  Result<LoadedFiles> finish(LoadedFiles all, const std::string& path) {
    if (!all.files.empty()) return all;
    return Error::plain(all.left_out.empty()
                            ? fmt::format("load {}: no files there", printable(path))
                            : all.left_out.front());
  }

  Result<UniqueFd> copy(int from, uint64_t& size) const {
    UniqueFd to{::memfd_create("caisson-load", MFD_CLOEXEC)};  // lent, as in frames.h
    if (!to) return Error::system("make a memfd");
    size = 0;
    for (;;) {
      ssize_t moved = ::sendfile(to.get(), from, nullptr, 16u << 20);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return Error::system("copy a file for the session");
      if (moved == 0) break;
      size += static_cast<uint64_t>(moved);
      if (size > left_) return Error::plain("a file that grows while it is loaded");
    }
    return to;
  }

  const LoadRules& rules_;
  const LoadBounds& bounds_;
  FileIdentity workspace_;
  uint64_t left_;
};

}  // namespace

Result<LoadedFiles> open_for_load(const LoadRules& rules, const std::string& path,
                                  const std::string& workspace, const LoadBounds& bounds) {
  if (!path.starts_with('/') || path.size() > 4000 || path.find('\0') != std::string::npos)
    return Error::plain("load: an absolute path is wanted", "begin it with /");
  Loader loader(rules, workspace, bounds);
  struct stat info;
  bool is_pattern = path.find_first_of("*?[") != std::string::npos;
  if (is_pattern && ::lstat(path.c_str(), &info) != 0) return loader.pattern(path);
  UniqueFd looked = TRY(loader.look_at(path, info));
  looked.reset();
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return S_ISDIR(info.st_mode) ? loader.folder(plain) : loader.one(plain);
}

}  // namespace caisson::session
