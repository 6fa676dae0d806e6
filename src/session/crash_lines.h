// CrashLines: what a crash in C tells on stderr (faulthandler), without the frames of our own code:
// they stand below the cell's, say nothing to its author, and can't be left out where they are
// written.
#pragma once

#include <string>
#include <string_view>

namespace caisson::session {

class CrashLines {
 public:
  // What is to be shown of these bytes; until a crash is told, all of them as they are.
  std::string_view feed(std::string_view bytes);
  // The rest: a line that has no end.
  std::string finish();

 private:
  bool seen_ = false;
  std::string line_;   // held until it has its end
  std::string shown_;  // what feed() gave last
};

}  // namespace caisson::session
