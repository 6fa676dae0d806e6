// From a path, a folder or a glob to copies of files in memory.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/control.h"
#include "base/large_folder.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "session/file_copy.h"
#include "session/load_pattern.h"
#include "session/load_sight.h"
#include "session/slices.h"

namespace caisson::session {

namespace {

// A name is any bytes, and what a session is told is UTF-8.
std::string as_text(std::string name) {
  return is_valid_utf8(name) ? std::move(name) : printable(name);
}

// In order as they come: to sort 50,000 long ones at the end is work in one piece.
using Ordered = std::set<std::string>;

// What a folder holds, by the kind of it.
struct Names {
  Ordered folders, others;
  bool is_cut = false;  // there were more than may be looked at
};

// Paths that were found, and are to be opened. A cell can have so many names in so deep a folder
// that these alone would be hundreds of MB.
struct Found {
  size_t most;  // bytes
  std::vector<std::string> paths;
  size_t bytes = 0;
  bool is_cut = false;  // there were more

  void add(const std::string& above, const std::string& name) {
    bytes += sizeof(std::string) + above.size() + 1 + name.size();
    is_cut = is_cut || (bytes > most && control_enabled("session-load-names"));
    if (!is_cut) paths.push_back(above + (above.ends_with('/') ? "" : "/") + name);
  }
};

bool is_folder(int at, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info;
  return ::fstatat(at, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

class Loader {
 public:
  Loader(Loop& loop, const LoadRules& rules, FileIdentity workspace, const WrittenPlaces& written,
         const LoadBounds& bounds, LoadBudget::Share& share)
      : slices_(loop),
        sight_(rules, workspace, written),
        copies_(slices_, share, bounds.bytes),
        bounds_(bounds),
        entries_left_(bounds.entries) {}

  Result<UniqueFd> look_at(const std::string& path, struct stat& info) const {
    return sight_.look_at(path, info);
  }

  Result<UniqueFd> open(const std::string& path, struct stat& info) const {
    UniqueFd looked = TRY(look_at(path, info));
    if (S_ISDIR(info.st_mode)) return Error::from_errno("load " + printable(path), EISDIR);
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
    if (!copies_.takes(static_cast<uint64_t>(info.st_size)))
      return Error::plain(fmt::format("load {}: {} bytes are more than the session's memory takes",
                                      printable(path), info.st_size),
                          "load a part of it, or give the session more memory");
    return fd;
  }

  Task<Result<LoadedFile>> take(std::string path, std::string key) {
    LoadedFile file{std::move(key), as_text(path.substr(path.rfind('/') + 1)), {}, 0};
    struct stat info;
    Result<UniqueFd> from = open(path, info);
    if (!from) co_return from.error();
    looked_ += SteadyClock::now() - since_;
    auto expected = static_cast<uint64_t>(info.st_size);
    Result<UniqueFd> bytes = co_await copies_.copy(from->get(), expected, file.size);
    since_ = SteadyClock::now();
    if (!bytes) co_return bytes.error();
    file.bytes = std::move(*bytes);
    co_return std::move(file);
  }

  Task<Result<LoadedFiles>> one(std::string path) {
    LoadedFiles all;
    std::string key;
    Result<LoadedFile> file = co_await take(path, key);
    if (!file) co_return file.error();
    all.files.push_back(std::move(*file));
    co_return std::move(all);
  }

  // Links to folders are not followed: a tree has an end.
  Task<Result<LoadedFiles>> folder(std::string path) {
    LoadedFiles all;
    all.is_many = true;
    Result<Names> top = co_await names_of(path);
    if (!top) co_return top.error();
    Found found{bounds_.path_bytes}, folders{bounds_.path_bytes};
    co_await put_below(path, *top, found, folders);
    bool is_cut = top->is_cut;
    for (size_t i = 0; i < folders.paths.size() && found.paths.size() <= 4 * bounds_.files; ++i) {
      if (is_tired(all, path)) break;
      const std::string at = folders.paths[i];
      if (depth_below(path, at) > bounds_.depth) continue;
      Result<Names> names = co_await names_of(at);
      is_cut = is_cut || (names && names->is_cut);
      if (names)
        co_await put_below(at, *names, found, folders);
      else if (names.error().errnum != EACCES)
        leave_out(all, names.error().what);
    }
    if (is_cut || found.is_cut || folders.is_cut)
      leave_out(all, printable(path) + ": too many names");
    Ordered in_order;
    for (std::string& name : found.paths) {
      in_order.insert(std::move(name));
      if (slices_.over()) co_await pause();
    }
    for (const std::string& name : in_order) {
      if (is_tired(all, path)) break;
      std::string key = name.substr(path.size() + (path == "/" ? 0 : 1));
      Result<void> added = co_await add(all, name, key);
      if (!added) co_return added.error();
    }
    co_return finish(std::move(all), path);
  }

  // Every folder that a pattern reaches is judged before its names are read.
  Task<Result<LoadedFiles>> pattern(std::string path) {
    Result<std::vector<PatternPart>> parts = pattern_parts(path);
    if (!parts) co_return parts.error();
    LoadedFiles all;
    all.is_many = true;
    const PatternWay way = way_of(*parts);
    std::vector<std::string> found{""};
    for (size_t i = 0; i < way.steps.size(); ++i) {
      bool is_last = i + 1 == way.steps.size() && way.tail.empty();
      Found next{bounds_.path_bytes};
      for (const std::string& at : found) {
        if (is_tired(all, path)) break;
        co_await expand(all, at + way.steps[i].lead, way.steps[i].wild, next, is_last);
        if (next.is_cut) break;
      }
      if (next.is_cut) leave_out(all, printable(path) + ": too many names");
      found = std::move(next.paths);
    }
    for (const std::string& at : found) {
      if (is_tired(all, path)) break;
      std::string name = at + way.tail, key = name.substr(name.rfind('/') + 1);
      Result<void> added = co_await add(all, name, key);
      if (!added) co_return added.error();
    }
    // Nothing but what is denied is nothing: else a wildcard for one letter tells what is there.
    if (all.files.empty()) std::erase_if(all.left_out, is_refusal);
    if (all.files.empty() && all.left_out.empty()) co_return nothing_for(path);
    co_return finish(std::move(all), path);
  }

 private:
  Task<> pause() {
    looked_ += SteadyClock::now() - since_;
    co_await slices_.turn();
    since_ = SteadyClock::now();
  }

  // Who makes the names and who writes the pattern can have this go on for an hour, in slices.
  bool is_tired(LoadedFiles& all, const std::string& path) const {
    bool tired = looked_ > bounds_.looking;
    if (tired) leave_out(all, printable(path) + ": it takes too long to look for files");
    return tired;
  }

  // Whether something is there is not told of what is denied, and a pattern may begin there.
  Error nothing_for(const std::string& pattern) const {
    struct stat info;
    Result<UniqueFd> head = look_at(pattern.substr(0, pattern.find_first_of("*?[")), info);
    if (!head && head.error().errnum == 0) return head.error();
    return Error::plain(fmt::format("load {}: no such file", printable(pattern)),
                        "a pattern finds nothing that sessions may not read");
  }

  // Of a folder that was judged, and by its descriptor: a name in a folder that is denied is told
  // to nobody, nor one that a link of a cell's leads to.
  Task<Result<Names>> names_of(std::string path) {
    if (slices_.over()) co_await pause();
    struct stat info;
    Result<UniqueFd> looked = look_at(path.empty() ? "/" : path, info);
    if (!looked) co_return looked.error();
    if (!S_ISDIR(info.st_mode)) co_return Error::from_errno("load " + printable(path), ENOTDIR);
    if (is_too_large_to_list(looked->get())) co_return too_large(path);
    int fd = ::openat(looked->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* folder = fd >= 0 ? ::fdopendir(fd) : nullptr;
    if (!folder) co_return Error::system("load " + printable(path));
    ScopeExit close_it([folder] { ::closedir(folder); });
    Names names;
    for (const dirent* entry; (entry = ::readdir(folder));) {
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      names.is_cut = entries_left_ == 0;
      if (names.is_cut) break;
      --entries_left_;
      (is_folder(fd, *entry) ? names.folders : names.others).emplace(name);
      if (slices_.over()) co_await pause();
    }
    co_return std::move(names);
  }

  Task<> put_below(std::string above, const Names& names, Found& others, Found& folders) {
    for (const std::string& one : names.others) {
      others.add(above, one);
      if (slices_.over()) co_await pause();
    }
    for (const std::string& one : names.folders) {
      folders.add(above, one);
      if (slices_.over()) co_await pause();
    }
  }

  static size_t depth_below(const std::string& top, const std::string& path) {
    return static_cast<size_t>(
        std::count(path.begin() + static_cast<ptrdiff_t>(top.size()), path.end(), '/'));
  }

  // What is not there, or is no folder, has no names. A link counts as what it leads to, unless it
  // is the last part: then it is judged when it is opened.
  Task<> expand(LoadedFiles& all, std::string at, std::string part, Found& into, bool is_last) {
    Result<Names> names = co_await names_of(at);
    if (!names) {
      int why = names.error().errnum;
      if (why != ENOENT && why != ENOTDIR && why != EACCES) leave_out(all, names.error().what);
      co_return;
    }
    for (const Ordered* kind : {&names->others, &names->folders}) {
      if (is_last && kind == &names->folders) break;
      for (const std::string& one : *kind) {
        if (matches_part(part, one)) into.add(at, one);
        if (into.is_cut || is_tired(all, at)) co_return;
        if (slices_.over()) co_await pause();  // to match one may take a millisecond
      }
    }
    if (names->is_cut) leave_out(all, printable(at) + ": too many names");
  }

  static Error too_large(const std::string& path) {
    return Error::plain(fmt::format("load {}: too large a folder", printable(path)),
                        "load files of it by name");
  }
  static void leave_out(LoadedFiles& all, std::string why) {
    if (all.left_out.size() < 100) all.left_out.push_back(std::move(why));
  }

  // One file of many that can't be had is left out, and told. What a name leads to is not there any
  // more, or is a folder: that is no file, and nothing to tell.
  Task<Result<void>> add(LoadedFiles& all, const std::string& path, std::string key) {
    if (slices_.over()) co_await pause();
    if (all.files.size() >= bounds_.files) {
      leave_out(all, printable(path) + ": too many files");
      co_return Result<void>();
    }
    key = as_text(std::move(key));
    if (std::ranges::find(all.files, key, &LoadedFile::key) != all.files.end()) key = as_text(path);
    Result<LoadedFile> file = co_await take(path, key);
    if (file) {
      all.files.push_back(std::move(*file));
    } else {
      int why = file.error().errnum;
      if (copies_.is_out_of_room()) co_return file.error();
      if (why != ENOENT && why != ENOTDIR && why != EISDIR) leave_out(all, file.error().what);
    }
    co_return Result<void>();
  }

  Result<LoadedFiles> finish(LoadedFiles all, const std::string& path) {
    if (!all.files.empty()) return all;
    return Error::plain(all.left_out.empty()
                            ? fmt::format("load {}: no files there", printable(path))
                            : all.left_out.front());
  }

  Slices slices_;
  // Spent on names, and not on bytes: until `since_`, without the turns of others.
  SteadyClock::duration looked_{};
  SteadyClock::time_point since_ = SteadyClock::now();
  LoadSight sight_;
  FileCopies copies_;
  const LoadBounds& bounds_;
  size_t entries_left_;  // names that may still be looked at
};

}  // namespace

Task<Result<LoadedFiles>> open_for_load(Loop& loop, LoadRules rules, std::string path,
                                        FileIdentity workspace, WrittenPlaces written,
                                        LoadBounds bounds, std::shared_ptr<LoadBudget> budget) {
  if (!path.starts_with('/') || path.size() > 4000 || path.find('\0') != std::string::npos)
    co_return Error::plain("load: an absolute path is wanted", "begin it with /");
  co_await rules.look_again(loop);
  std::shared_ptr<LoadBudget::Share> share = budget->share();
  Loader loader(loop, rules, workspace, written, bounds, *share);
  struct stat info;
  Result<UniqueFd> looked = loader.look_at(path, info);
  if (!looked && !has_wildcard(path)) co_return looked.error();
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  Task<Result<LoadedFiles>> work = !looked                 ? loader.pattern(path)
                                   : S_ISDIR(info.st_mode) ? loader.folder(plain)
                                                           : loader.one(plain);
  Result<LoadedFiles> files = co_await std::move(work);
  if (files) files->on_loan = std::move(share);
  co_return files;
}

}  // namespace caisson::session
