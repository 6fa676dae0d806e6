// Rules for files by path pattern: the srt door's model, where the cell sees the host's own tree.
// Paths outside and inside are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// Absolute. `*` and `?` and `[…]` match within one component, `**` any number of them. A pattern
// covers what it matches and everything below it.
struct FilePattern {
  std::string text;
  bool literal = false;  // wildcards in it stand for themselves
  // Only below folders that stood there when the cell began: `git clone` inside a cell may write
  // the hooks and the config of the repository that it makes, never those of one that was there.
  // The folder that counts holds the first part behind the `**`: a `.git` that is made in an older
  // folder steers whoever works there, however new it is itself.
  bool only_in_older_folder = false;
  // The one that holds the last part counts instead: `git worktree add` makes a folder of its own
  // in the `.git` of a repository that was there.
  bool by_last_folder = false;
  enum class Covers : uint8_t {
    kTree,     // it and what lies below
    kItself,   // what lies below is left to other rules
    kWay,      // nothing, but what leads to it does not move
    kNewFile,  // itself, and only that no file gets the name: what has it is written as before
  };
  Covers covers = Covers::kTree;
  size_t literal_head = 0;  // by resolve(): so many components stand for themselves
  std::string origin;       // "filesystem.denyRead[2]", "always denied"
  std::string_view reason;  // for a person: a constant of the program's, or empty
  // caisson's own, that nobody asked for: nobody is told who opens the folder that it hides. To
  // hear of one costs every cell some milliseconds at its end (FileDenials).
  bool untold = false;
  bool operator==(const FilePattern&) const = default;
};

// One path that stood there when the cell was planned, and what the cell finds in its place. Made
// by resolve() from the patterns; parents come before what lies in them.
enum class FilePlaceKind {
  kWritable,  // the host's own, writable
  kReadOnly,  // … inside a writable folder, and not writable
  kShown,     // … inside a hidden folder, and readable
  kHidden,    // an empty folder, or a file that nobody may open
  kPrivate    // an empty folder of the cell's own, in memory, writable
};
struct FilePlace {
  FilePlaceKind kind = FilePlaceKind::kWritable;
  std::string path;  // absolute, links resolved
  bool is_directory = true;
  uint64_t device = 0, inode = 0;  // what was looked at (T03, T04); 0: the cell makes it
  std::string origin;
  bool untold = false;  // as the pattern's
  bool operator==(const FilePlace&) const = default;
};

struct FileRules {
  bool host_view = false;  // the host's tree, read-only, instead of the minimal root
  bool unlimited = false;  // srt's filesystem.disabled: no rules, everything as the host has it
  std::vector<FilePattern> deny_read, allow_read;    // the most specific wins
  std::vector<FilePattern> allow_write, deny_write;  // a denial wins
  std::vector<std::string> make_folders;             // private ones that must exist: TMPDIR
  bool report = true;                                // denied reads and writes become denials
  std::vector<std::string> sockets;                  // of the host, that may be connected to
  std::vector<FilePlace> places;                     // by resolve()
  bool operator==(const FileRules&) const = default;
};

}  // namespace caisson
