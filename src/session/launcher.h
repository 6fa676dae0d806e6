// Launcher: the half of a server that starts cells. It is made before the server confines itself,
// as a process of its own, and knows beforehand all that it will ever do: what sessions there may
// be (offer.h), and one state folder. The server says which of them it wants, and hands over the
// descriptors that its cell talks through; what isn't on offer it can't choose. Files are opened
// here, after LoadRules.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"
#include "session/file_work.h"
#include "session/offer.h"
#include "session/session_host.h"

namespace caisson::session {

struct LauncherOptions {
  SessionOffer offer;
  SessionHostOptions host;
  // A server has 32 sessions, a zygote and a fork in reserve; the bound is for one that went mad.
  size_t most_cells = 128;
  FileWork file_work = nullptr;  // none: no client works on files
  std::string remove_at_end;     // the server's socket, which lies where the server can't reach
  bool is_passing = false;       // nobody comes back to the state folder: it goes at the end
  std::optional<Error> no_state = {};  // why there is no state folder: told to who wants a cell
};

class Launcher {
 public:
  static Result<Launcher> start(LauncherOptions options);
  // `spec`: of every session; its name is the server's to choose.
  static Result<Launcher> start(SessionSpec spec, SessionHostOptions options);
  Launcher(Launcher&& other) noexcept;
  Launcher& operator=(Launcher&&) = delete;
  ~Launcher();  // finish()

  // The server's end.
  UniqueFd take_socket() { return std::move(socket_); }
  // After the goodbye: waits until every cell is gone.
  void finish(int most_ms = 2000);

 private:
  Launcher() = default;
  UniqueFd socket_, pidfd_;
};

}  // namespace caisson::session
