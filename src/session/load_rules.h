// Which files of the host a session may load. The decision is about the file that was opened, after
// every link was followed: by the name the kernel gives it, and by the folders it really lies in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"

namespace caisson::session {

// A folder or file as the kernel knows it; the same one under another name is still the same.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct DeniedPath {
  std::string path;  // for the message, and for what does not exist yet
  FileIdentity identity;
};

// What is known about a file that has been opened: itself, and every folder above it.
struct OpenedFile {
  std::string real_path;
  FileIdentity identity;
  std::vector<FileIdentity> folders;
};

class LoadRules {
 public:
  LoadRules(std::string_view home, const std::vector<std::string>& more);
  explicit LoadRules(std::vector<DeniedPath> denied) : denied_(std::move(denied)) {}
  // A folder of caisson's own: snapshots, tokens and the files of all sessions. Of it a session may
  // have what lies in its own workspace.
  void deny_own(std::string path);
  // Pure. The error says which rule it was.
  Result<void> judge(const OpenedFile&, bool in_workspace = false) const;

 private:
  std::vector<DeniedPath> denied_, own_;
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
  size_t entries = 50'000;  // that are looked at, to find them
};

struct LoadedFiles {
  std::vector<LoadedFile> files;
  std::vector<std::string> left_out;  // "path: why", of folders and globs
  bool is_many = false;
};

// `workspace`: the folder that the cell can write to, if any, by what it is. What is named by a
// path through it must really lie in it: a link there is the cell's word. Large files and many of
// them take their time: it works in slices, and others have their turn.
Task<Result<LoadedFiles>> open_for_load(Loop&, LoadRules, std::string path, FileIdentity workspace,
                                        LoadBounds);

}  // namespace caisson::session
