// Launcher: the half of a server that starts cells. It is made before the server confines itself,
// as a process of its own, and knows beforehand all that it will ever do: one policy, one
// interpreter, one state folder. The server names a session, and hands over the descriptors that
// its cell talks through; it can't choose a program, a folder or a word of the policy. Files are
// opened here, after LoadRules.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"
#include "session/session_host.h"

namespace caisson::session {

class Launcher {
 public:
  // `spec`: of every session; its name is the server's to choose.
  static Result<Launcher> start(SessionSpec spec, SessionHostOptions options);
  Launcher(Launcher&& other) noexcept;
  Launcher& operator=(Launcher&&) = delete;
  ~Launcher();  // finish()

  // The server's end.
  UniqueFd take_socket() { return std::move(socket_); }
  // After the goodbye: waits until every cell is gone.
  void finish();

 private:
  Launcher() = default;
  UniqueFd socket_, pidfd_;
};

}  // namespace caisson::session
