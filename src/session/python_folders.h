// Whether a zygote may run a Python. Modules of its installation (site-packages, .pth files) run in
// the zygote before anything confines them there, for all of its sessions: an installation that
// some cell can write to is that cell's code. Sessions with such a Python have cells of their own,
// where it is no more than any other code of theirs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "session/load_rules.h"
#include "session/session.h"

namespace caisson::session {

// Where an interpreter is. `path`: PATH, for a name without a slash; "" is python3. Nothing: it is
// in none of the folders.
std::string find_python(const std::string& python, std::string_view path);

// By their real names, and by what they are.
struct PythonFolders {
  // Where its modules lie: the folder above each `bin` that a link on the way to the program is in,
  // and what the pyvenv.cfg there names.
  std::vector<WrittenFolder> modules;
  // Every folder that the way to the program leads through: who writes there can turn it elsewhere.
  std::vector<WrittenFolder> way;
  // And others, of which it is not known which: the way is not there, or too long, or its
  // pyvenv.cfg is no plain file.
  bool any = false;
};
PythonFolders python_folders(const std::string& python, std::string_view path);

// Folders of the host that cells of this host were given to write. None is ever taken off: what was
// written stays.
class WritableFolders {
 public:
  void add(const SessionSpec&);
  // By its path; "": one of which it is not known where it is.
  void add_folder(std::string_view path);
  // These words of a policy give what has been added already, and need not be read.
  void know(std::vector<std::string> words) { known_words_ = std::move(words); }
  bool empty() const { return folders_.empty() && !any_; }
  // True when modules lie in, or around, a folder that a cell could write, or the way leads
  // through.
  bool touch(const PythonFolders&) const;
  WrittenPlaces places() const;

 private:
  struct Written {
    FileIdentity identity;
    std::vector<FileIdentity> above;  // itself among them
  };
  std::map<std::string, Written> folders_;  // by real names
  std::vector<std::string> known_words_;
  bool any_ =
      false;  // a policy file, or more folders than are counted: it may be any but the system's
};

}  // namespace caisson::session
