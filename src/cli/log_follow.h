// Waiting for a file to grow.
#pragma once

#include <signal.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// While it lives, SIGINT, SIGTERM and SIGHUP end the wait instead of the process.
class FileWatch {
 public:
  static Result<FileWatch> begin(const std::string& path);
  FileWatch(FileWatch&&) = default;
  ~FileWatch();

  // Until something may have changed; false when a signal asks to stop.
  Result<bool> wait();

 private:
  FileWatch(UniqueFd signals, UniqueFd changes, sigset_t old_mask)
      : signals_(std::move(signals)), changes_(std::move(changes)), old_mask_(old_mask) {}

  UniqueFd signals_, changes_;
  sigset_t old_mask_;
};

}  // namespace caisson
