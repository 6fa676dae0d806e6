#include "setup/store.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>

#include "base/scope_exit.h"
#include "base/sha256.h"
#include "base/unique_fd.h"
#include "setup/json_text.h"

namespace caisson::setup {

namespace {

std::string parent_folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> real_path(const std::string& path) {
  char buffer[PATH_MAX];
  if (!::realpath(path.c_str(), buffer)) return {};
  return std::string(buffer);
}

bool is_within_folder(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

Result<void> write_whole(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::system("write " + path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(fd) < 0) return Error::system("write " + path);
  return {};
}

// Under sudo, HOME may still be the person's: what is made there must be theirs, not root's.
void give_to(int fd, const struct stat& owner) {
  if (::geteuid() == 0 && ::fchown(fd, owner.st_uid, owner.st_gid) < 0) return;
}

Result<std::vector<std::string>> make_folders(const std::string& folder) {
  std::vector<std::string> missing;
  struct stat above {};
  std::string at = folder;
  while (::stat(at.c_str(), &above) < 0) {
    if (errno != ENOENT || at == "/") return Error::system("open " + at);
    missing.insert(missing.begin(), at);
    at = parent_folder_of(at);
  }
  for (const std::string& one : missing) {
    if (::mkdir(one.c_str(), 0755) < 0 && errno != EEXIST) return Error::system("make " + one);
    UniqueFd fd{::open(one.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
    if (fd) give_to(fd.get(), above);
  }
  return missing;
}

Error changed_meanwhile(const std::string& path) {
  return Error::plain(path + " changed while it was being edited",
                      "nothing was written; try again");
}

// The new file, complete, under a name of its own beside the old one.
Result<std::string> write_beside(const std::string& path, std::string_view text) {
  struct stat like {};
  bool exists = ::stat(path.c_str(), &like) == 0;
  if (!exists && ::stat(parent_folder_of(path).c_str(), &like) < 0)
    return Error::system("open " + path);
  std::string name = path + ".caisson-XXXXXX";
  UniqueFd fd{::mkostemp(name.data(), O_CLOEXEC)};
  if (!fd) return Error::system("make a file beside " + path);
  mode_t mask = ::umask(0);
  ::umask(mask);
  give_to(fd.get(), like);
  Result<void> done = write_whole(fd.get(), text, path);
  if (done && ::fchmod(fd.get(), exists ? like.st_mode & 07777 : 0666 & ~mask) < 0)
    done = Error::system("set the mode of " + path);
  if (!done) {
    ::unlink(name.c_str());
    return done.error();
  }
  return name;
}

Result<void> put_in_place(const std::string& from, const std::string& to, bool replaces) {
  if (replaces) {
    if (::rename(from.c_str(), to.c_str()) < 0) return Error::system("write " + to);
    return {};
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EEXIST) return changed_meanwhile(to);
  // A filesystem that does not know the flag.
  if (errno != EINVAL || ::rename(from.c_str(), to.c_str()) < 0)
    return Error::system("write " + to);
  return {};
}

}  // namespace

Result<std::string> resolve(const Target& target) {
  std::string at = target.path, missing;
  std::optional<std::string> real;
  while (!(real = real_path(at))) {
    if (errno != ENOENT && errno != ELOOP) return Error::system("open " + at);
    // The write would follow it.
    struct stat link {};
    if (::lstat(at.c_str(), &link) == 0)
      return Error::plain(at + " is a link that leads nowhere", "mend or remove it");
    std::string above = parent_folder_of(at);
    missing = at.substr(above == "/" ? 0 : above.size()) + missing;
    at = above;
  }
  if (!missing.empty()) real = (*real == "/" ? "" : *real) + missing;
  std::optional<std::string> within = target.within.empty() ? "/" : real_path(target.within);
  if (!within || !is_within_folder(*real, *within))
    return Error::plain(target.path + " leads out of the project, to " + *real,
                        "replace the link by a file, then try again");
  return *real;
}

Result<std::optional<std::string>> read_config(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) < 0) return Error::system("open " + path);
  if (!S_ISREG(status.st_mode)) return Error::plain(path + " is not a file");
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + path);
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxConfigBytes)
      return Error::plain(path + " is larger than any settings file");
  }
}

Result<std::vector<std::string>> apply_edit(const Edit& edit, const std::string& path) {
  std::vector<std::string> folders;
  std::string beside;
  if (edit.after) {
    folders = TRY(make_folders(parent_folder_of(path)));
    beside = TRY(write_beside(path, *edit.after));
  }
  ScopeExit clean([&] {
    if (!beside.empty()) ::unlink(beside.c_str());
  });
  // As late as can be: the client may be running, and writes the same file.
  if (TRY(read_config(path)) != edit.before) return changed_meanwhile(path);
  if (!edit.after) {
    if (::unlink(path.c_str()) < 0) return Error::system("remove " + path);
    return folders;
  }
  TRY(put_in_place(beside, path, edit.before.has_value()));
  beside.clear();
  return folders;
}

std::string Receipts::file(const Receipt& receipt, std::string_view suffix) const {
  std::string key = receipt.path;
  for (const std::string& name : receipt.container) key += '\0' + name;
  return fmt::format("{}/{}{}", folder_, sha256_hex(key).substr(0, 24), suffix);
}

Result<std::optional<Receipt>> Receipts::find(const Target& target) const {
  Receipt sought{.path = target.path, .container = target.container};
  auto text = TRY(read_config(file(sought, ".json")));
  if (!text) return std::optional<Receipt>();
  Receipt receipt = TRY(parse_receipt(*text));
  auto original = TRY(read_config(file(sought, ".before")));
  if (receipt.existed && !original) receipt.exact = false;
  receipt.original = original.value_or("");
  return std::optional<Receipt>(std::move(receipt));
}

// The settings of a client hold its tokens: so does their backup.
Result<void> Receipts::keep(const Receipt& receipt) const {
  mode_t mask = ::umask(077);
  ScopeExit restore([&] { ::umask(mask); });
  TRY(make_folders(folder_));
  ::chmod(folder_.c_str(), 0700);
  for (auto [suffix, text] :
       {std::pair(".before", receipt.original), {".json", to_json(receipt)}}) {
    std::string path = file(receipt, suffix);
    std::string beside = TRY(write_beside(path, text));
    TRY(put_in_place(beside, path, true));
  }
  return {};
}

void Receipts::drop(const Receipt& receipt) const {
  ::unlink(file(receipt, ".json").c_str());
  ::unlink(file(receipt, ".before").c_str());
  ::rmdir(folder_.c_str());
  // Only folders above the file, only empty ones, the innermost first.
  for (auto folder = receipt.folders.rbegin(); folder != receipt.folders.rend(); ++folder)
    if (is_within_folder(receipt.path, *folder)) ::rmdir(folder->c_str());
}

}  // namespace caisson::setup
