// What went wrong, said once: one line with what and where, one with what to do.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace caisson {

struct Error {
  std::string what;  // one line: the thing and where it came from
  std::string hint;  // one line: what to do; may be empty
  int errnum = 0;    // the errno behind it, 0 if none

  static Error plain(std::string what, std::string hint = {}) {
    return {std::move(what), std::move(hint), 0};
  }
  // Takes errno as it stands: call it first thing after the failing system call.
  static Error system(std::string doing) { return from_errno(std::move(doing), errno); }
  static Error from_errno(std::string doing, int errnum);

  Error with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
};

// "Operation not permitted" for EPERM: strerror without its locale machinery.
const char* errno_text(int errnum);

}  // namespace caisson
