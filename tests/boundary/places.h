// Where things are: the binary under test, the probes, and folders that go away with the test.
#pragma once

#include <string>

namespace caisson::boundary {

std::string caisson_binary();  // CAISSON_BIN, or the one of the release build
std::string probe_folder();    // CAISSON_PROBES, or the one of this build
std::string home_folder();     // a fresh one for this run of the suite: HOME of all it starts
bool as_root();
bool landlock_has_scopes();  // for signals and abstract sockets: ABI 6, Linux 6.12

// A folder of the test's own, with links resolved, removed with all that is in it.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  ~TempFolder();
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);  // empty when it can't be read
bool exists(const std::string& path);            // the name itself; links are not followed
void make_folder(const std::string& path);
void copy_program(const std::string& from, const std::string& to, unsigned mode = 0755);
std::string random_word();  // 16 letters, never the same twice

}  // namespace caisson::boundary
