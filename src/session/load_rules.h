// Which files of the host a session may load. The decision is about the file that was opened, after
// every link was followed: by the name the kernel gives it, and by the folders it really lies in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"
#include "session/load_budget.h"

namespace caisson::session {

// A folder or file as the kernel knows it; the same one under another name is still the same.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  // When it was made, in nanoseconds; 0: not known. The number of a file that was removed is soon
  // that of another one, and rules remember theirs for as long as a server runs.
  uint64_t born = 0;
  bool operator==(const FileIdentity& other) const {
    bool is_later = born != 0 && other.born != 0 && born != other.born;
    return device == other.device && inode == other.inode && !is_later;
  }
};

// A folder of the host that cells were given to write, by its real name and by what it is.
struct WrittenFolder {
  std::string path;
  FileIdentity identity;
};
struct WrittenPlaces {
  std::vector<WrittenFolder> folders;
  bool any = false;  // and others, of which it is not known which
};

struct DeniedPath {
  std::string path;  // for the message, and for what does not exist yet
  FileIdentity identity;
  std::string place = {};  // the same, with the links on the way to its last name resolved
};

// What is known about a file that has been opened, or a link that is to be followed: itself, and
// every folder above it.
struct OpenedFile {
  std::string real_path;
  FileIdentity identity;
  std::vector<FileIdentity> folders;
  std::string asked = {};  // for the message, which tells no name that was found; none: real_path
};

// Of a policy that hides files. Absolute; `*`, `?` and `[…]` match within one component, `**` any
// number of them. It covers what it matches and everything below; the most specific wins.
struct LoadPattern {
  std::string text;
  bool literal = false;  // wildcards in it stand for themselves
  bool allow = false;    // an exception to the others
  bool operator==(const LoadPattern&) const = default;
};

// What one policy hides. An exception in it is none to what another one says.
struct HiddenFromLoad {
  std::vector<std::string> paths;  // which no pattern allows again
  std::vector<LoadPattern> patterns;
  bool operator==(const HiddenFromLoad&) const = default;
};

// Whether the error is one of a rule's.
bool is_refusal(std::string_view what);

// Names in rules are looked up when the rule is made, before a cell could put something in their
// way, and that is kept. `look_again` adds what they mean now: a file has to pass both.
class LoadRules {
 public:
  // `more`: paths that no pattern allows again, as those of the credentials of `home`.
  LoadRules(std::string_view home, const std::vector<std::string>& more,
            const std::vector<LoadPattern>& patterns = {});
  explicit LoadRules(std::vector<DeniedPath> denied) : denied_(std::move(denied)) {}
  // A folder of caisson's own: snapshots, tokens and the files of all sessions. Of it a session may
  // have what lies in its own workspace.
  void deny_own(std::string path);
  void deny_credentials_below(std::string_view home);
  void hide(const HiddenFromLoad&);
  Task<> look_again(Loop&);
  // Pure. The error says which rule it was.
  Result<void> judge(const OpenedFile&, bool in_workspace = false) const;
  // What can't be opened: whether a name is there is not told either of what is denied. Pure, too:
  // `folders` are those that it would lie in, as far as they are known.
  Result<void> judge_absent(const std::string& path, std::vector<FileIdentity> folders = {},
                            std::string asked = {}) const;

 private:
  struct Ruled {
    LoadPattern said;
    LoadPattern pattern;    // links in its head resolved
    LoadPattern place;      // but for its last name: of a link itself; empty: of a wildcard
    FileIdentity identity;  // of what stands at that very path
    bool operator==(const Ruled&) const = default;
  };
  using Policy = std::vector<Ruled>;
  class Names;
  static Ruled ruled(const LoadPattern&, Names&);
  void deny(std::string path, Names&);
  void hide(const std::vector<LoadPattern>&, Names&);
  static const Ruled* hides(const Policy&, const OpenedFile&);
  const Ruled* hides(const OpenedFile&) const;

  std::string home_;
  std::vector<DeniedPath> denied_, own_;
  std::vector<Policy> policies_;
};

struct LoadedFile {
  std::string key;       // below the folder or beside the glob; empty for a single file
  std::string filename;  // its suffix tells the kind
  UniqueFd bytes;        // a copy: a descriptor of the file itself could be opened for writing
  uint64_t size = 0;
};

struct LoadBounds {
  uint64_t bytes = 0;  // of all files together
  size_t files = 1000;
  size_t depth = 8;
  size_t entries = 50'000;                    // that are looked at, to find them
  size_t path_bytes = 16 << 20;               // of the paths that were found
  std::chrono::milliseconds looking{10'000};  // for them, without the turns of others
};

struct LoadedFiles {
  std::vector<LoadedFile> files;
  std::vector<std::string> left_out;  // "path: why", of folders and globs
  bool is_many = false;
  std::shared_ptr<void> on_loan;  // what the copies hold of a LoadBudget; kept as long as they are
};

// `workspace`: of the session, by what it is; of caisson's own folders it may have that one.
// `written`: a link there is the word of some cell. A way that turns in such a folder must end in
// it, or the file is refused. Large files and many of them take their time: it works in slices, and
// others have their turn; and for its share of the budget it may have to wait.
Task<Result<LoadedFiles>> open_for_load(Loop&, LoadRules, std::string path, FileIdentity workspace,
                                        WrittenPlaces written, LoadBounds,
                                        std::shared_ptr<LoadBudget>);

}  // namespace caisson::session
