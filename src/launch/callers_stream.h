// One of the caller's descriptors, read and written without ever waiting, and left as it is.
//
// Others may hold the same open file: what poll announced can be gone by the time it is read, and
// room be taken by the time it is written to. A supervisor that sleeps in read(2) or write(2) then
// keeps no time limit and hears no signal. Nor may it set O_NONBLOCK there: that holds for all who
// share the open file, the caller's shell included (0008).
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/unique_fd.h"

namespace caisson {

class CallersStream {
 public:
  explicit CallersStream(int fd);

  // What to ask poll about: always the caller's own. A FIFO that is opened anew tells of no end
  // that came before (fifo(7): no POLLHUP until a writer has come and gone).
  int fd() const { return fd_; }
  bool is_terminal() const { return kind_ == Kind::kTerminal; }
  // Files of a disk: no reader or writer can hold up another, and poll always says yes.
  bool is_file() const { return kind_ == Kind::kFile; }

  // As read(2) and write(2) of a non-blocking descriptor: EAGAIN where nothing can be had now.
  ssize_t read(char* to, size_t size);
  ssize_t write(std::string_view bytes);

  // The errno of a write that failed while somebody wanted the bytes (ENOSPC, EIO, EFBIG, …); 0
  // for none. A reader who left (a closed pipe, a closed window) is no failure.
  int lost() const { return lost_; }

 private:
  enum class Kind { kFile, kPipe, kTerminal, kSocket, kOther };
  static Kind kind_of(int fd);
  ssize_t write_now(std::string_view bytes);
  bool reader_left(int error) const;
  // An open file of our own, non-blocking; nothing for what can't or must not be opened twice.
  const UniqueFd& own(int access);

  int fd_;
  Kind kind_;
  UniqueFd own_;
  int lost_ = 0;
};

}  // namespace caisson
