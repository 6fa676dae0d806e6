// Feed: bytes that go into a session as fast as it takes them. Sender and reader work side by side,
// and nothing is copied into a file between them. A socket and not a pipe: a reader that is gone
// must not raise SIGPIPE.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/channel.h"

namespace caisson::session {

class Feed : public std::enable_shared_from_this<Feed> {
 public:
  static Result<std::shared_ptr<Feed>> make(Loop&, std::string bytes);
  Feed(Loop&, std::string bytes);

  UniqueFd take_reader() { return std::move(reader_); }
  void start() { write_some(); }
  // What was not taken by now is not wanted.
  void close();

 private:
  void write_some();

  LoopDescriptor socket_;
  UniqueFd reader_;
  std::string bytes_;
  size_t sent_ = 0;
};

}  // namespace caisson::session
