// SessionHost: all sessions of one process, their zygotes and their cells. Dropping it ends them.
#pragma once

#include <functional>
#include <memory>

#include "session/load_rules.h"
#include "session/session.h"

namespace caisson::session {

class CellMaker;

struct SessionHostOptions {
  std::string caisson = "/proc/self/exe";  // what is started as `caisson exec` for each cell
  std::string state_folder;                // snapshots and private workspaces; 0700, made if absent
  std::string state_top;                   // that it lies in, with others; empty: it is alone
  std::string home;                        // of the caller: load denies its credential folders
  std::vector<std::string> deny_load;      // more paths that load refuses, whatever shows them
  std::vector<LoadPattern> load_patterns;  // what a policy hides of the host, and shows again
  // What the words of a policy hide, which come with a request; its error: they make no cell. None:
  // of such words only the files of secrets are known.
  std::function<Result<HiddenFromLoad>(const std::vector<std::string>& words)> hidden_by = nullptr;
  // Folders that sessions may write, as far as that is known beforehand ("": any), and the words of
  // a policy that give them. What else sessions are given is seen when they are made.
  std::vector<std::string> written, known_words;
  std::vector<std::string> environment;    // "K=V" for `caisson exec` itself, see exec_variables.h
  std::chrono::seconds autosave{300};      // 0: never
  std::chrono::milliseconds idle_save{0};  // after the last call of a row, beside that; 0: never
  bool zygotes = true;                     // false: every session is a cell of its own
  std::shared_ptr<CellMaker> maker;        // of its cells; none: this process makes them
};

class SessionHost {
 public:
  static Result<std::unique_ptr<SessionHost>> make(Loop&, SessionHostOptions);
  virtual ~SessionHost() = default;  // every cell is killed and reaped

  virtual Task<Result<std::shared_ptr<Session>>> create(SessionSpec) = 0;
  // `from`: a checkpoint of it; empty: its present state.
  virtual Task<Result<std::shared_ptr<Session>>> branch(std::string session, std::string new_name,
                                                        std::string from) = 0;
  virtual std::shared_ptr<Session> find(std::string_view name) const = 0;
  virtual std::vector<SessionInfo> list() const = 0;
  // `save_first`: a clean end, with a snapshot that the next session of that name can take up.
  virtual Task<Result<void>> end(std::string name, bool save_first) = 0;
  virtual void kill_all() = 0;  // at once, without waiting for anything that a cell does
  // The same, and nobody comes back for the workspaces that were made for its sessions.
  virtual void discard_all() = 0;
};

}  // namespace caisson::session
