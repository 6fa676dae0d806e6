// A path followed name by name, as the kernel follows it, with a word at each turn. A cell that can
// write a folder decides where its links lead: whoever opens files for others has to know in which
// folders the way turned, and must then use what was found, and not the path once more.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/load_rules.h"

namespace caisson::session {

enum class Turn { kName, kLink, kUp };  // a plain name, a link, ".."

struct Walked {
  UniqueFd end;         // O_PATH; none: it is not there
  UniqueFd folder;      // where the last name is; none: a link in /proc led away from it
  std::string missing;  // from the first name on that is not there, or could not be followed
  int why = 0;          // ENOENT, or what else stopped it
};

// `look` is asked for each folder in which a name of the path, or of a link on the way, is looked
// up; its error is the end of the walk. Other errors have their errno. A walk is bounded in all
// that a path and the links on the way can ask for; realpath(3) and its like are not.
using LookAtTurn = std::function<Result<void>(int folder, Turn)>;
// Asked for every link, before anything else is said about it.
using LookAtLink =
    std::function<Result<void>(int folder, const std::string& name, FileIdentity link)>;
Result<Walked> walk_path(const std::string& path, const LookAtTurn& look);
// The same, but where it stopped is told of every reason, and not of ENOENT alone.
Result<Walked> walk_as_far(const std::string& path, const LookAtTurn& look,
                           const LookAtLink& look_at_link = nullptr);

// Pure: an absolute path by its letters, without ".", ".." and empty names.
std::string plain_path(std::string_view path);

// Pure. In a folder like /tmp the kernel follows nobody's link but one's own and that of the
// folder's owner (protected_symlinks, proc(5)). Here the text of a link is read instead, so the
// rule is ours to keep.
bool may_follow_link(const struct stat& folder, const struct stat& link, uid_t we);

// Of a descriptor (path "") or a path, after its last link; nothing: it is not there.
FileIdentity identity_at(int fd, const char* path);
// As the kernel names it now.
Result<std::string> real_path_of(int fd);
// The folder itself and each one above it, by what they are.
Result<std::vector<FileIdentity>> folders_from(int folder);

// Where something lies: `folders` are itself, if it is one, and those above it.
struct FoundPlace {
  std::string path;
  std::vector<FileIdentity> folders;
};
Result<FoundPlace> place_of(int folder);
// True also for the folder itself.
bool lies_in(const FoundPlace&, const WrittenFolder&);

}  // namespace caisson::session
