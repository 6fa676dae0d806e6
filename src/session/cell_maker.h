// CellMaker: what a host of sessions needs of the machine: cells, places for forks, files to load.
// One that does it in this process, or (remote_maker.h) one that asks a launcher, for a process
// that has given up the right to do any of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/cell_process.h"
#include "session/dying_cells.h"
#include "session/load_rules.h"
#include "session/python_folders.h"
#include "session/rooms.h"
#include "session/session_host.h"
#include "session/zygote_door.h"

namespace caisson::session {

// What a fork may use; forks with the same limits are alike until they are started.
struct ForkLimits {
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0, pids = 0;
  bool operator==(const ForkLimits&) const = default;
};

// A cgroup and a folder for a fork of the zygote, which has been told how to join. Both go with the
// hold.
struct ForkPlace {
  std::shared_ptr<Hold> hold;
  std::string folder;  // "ZYGOTE/ROOM", below the folder of forks
};

enum class CellKind { kOwn, kZygote };

class CellMaker {
 public:
  virtual ~CellMaker() = default;
  // `descriptors`: the command's 3, 4, …
  virtual Result<std::shared_ptr<Hold>> start_cell(CellKind, const SessionSpec&,
                                                   std::vector<UniqueFd> descriptors) = 0;
  // `zygote`: its key, as of zygote_key().
  virtual Task<Result<ForkPlace>> make_fork(ForkLimits, std::string zygote) = 0;
  // A file, a folder or a glob of the host, judged by LoadRules.
  virtual Task<Result<LoadedFiles>> load(std::string path, std::string workspace,
                                         uint64_t most_bytes) = 0;
  // The private one of a session by that name, in a cell of its own that has ended.
  virtual Result<void> drop_workspace(const std::string& session) = 0;
  // The same, when it is known how it went.
  virtual Task<Result<void>> drop_and_tell(std::string session) = 0;
  // Whether a session of this maker's could write to that Python (python_folders.h).
  virtual Task<bool> is_written(std::string python) = 0;
  // rooms.h. `is_branch`: its files are in the layers of the room, and not the room's own.
  virtual Result<void> note_session(const std::string& room, const std::string& session,
                                    bool is_branch) = 0;
  virtual void keep_workspace(const std::string& room, const std::string& session,
                              bool is_branch) = 0;
  // The same, when it is done: a keeper that is told to end a branch removes what is left there.
  virtual Task<Result<void>> keep_and_tell(std::string room, std::string session,
                                           bool is_branch) = 0;
  // Before the cell has its folder mounted. False: nothing was kept, or it is in place.
  virtual Task<Result<bool>> take_up_workspace(std::string room, std::string session) = 0;
};

class LocalMaker final : public CellMaker {
 public:
  LocalMaker(Loop& loop, SessionHostOptions options);
  // `folders`: of the state folder, opened before somebody could change what its names mean.
  LocalMaker(Loop& loop, SessionHostOptions options, Result<StateFolders> folders);

  Result<std::shared_ptr<Hold>> start_cell(CellKind, const SessionSpec&,
                                           std::vector<UniqueFd> descriptors) override;
  Task<Result<ForkPlace>> make_fork(ForkLimits, std::string zygote) override;
  Task<Result<LoadedFiles>> load(std::string path, std::string workspace,
                                 uint64_t most_bytes) override;
  Result<void> drop_workspace(const std::string& session) override;
  Task<Result<void>> drop_and_tell(std::string session) override;
  Task<bool> is_written(std::string python) override;
  Result<void> note_session(const std::string& room, const std::string& session,
                            bool is_branch) override;
  void keep_workspace(const std::string& room, const std::string& session, bool is_branch) override;
  Task<Result<void>> keep_and_tell(std::string room, std::string session, bool is_branch) override;
  Task<Result<bool>> take_up_workspace(std::string room, std::string session) override;

  // All loads that are under way (load_budget.h).
  void bound_loads(uint64_t most_bytes);

  // Once, when there is one (ForksClaim).
  UniqueFd take_claim_lock() { return claim_ ? claim_->hand_over() : UniqueFd(); }

  // The same, at once.
  bool is_written_now(const std::string& python) const;
  Result<void> keep_now(const std::string& room, const std::string& session, bool is_branch);
  Result<ForkPlace> make_fork_now(const ForkLimits&, const std::string& zygote);

  const Result<StateFolders>& folders() const { return folders_; }
  Trash& trash() { return *trash_; }

 private:
  struct ZygoteFolder {
    std::string name;
    UniqueFd fd;
  };
  void sweep();
  Result<void> hide_from_loads(const SessionSpec&);
  Result<void> prepare_own(const SessionSpec&, CellStart&);
  Result<void> prepare_zygote(const SessionSpec&, CellStart&);
  Result<UniqueFd> new_layers(const std::string& session);
  Result<UniqueFd> new_workspace(const SessionSpec&);
  Result<ZygoteFolder> zygote_folder(const std::string& key);
  FileIdentity workspace_identity(const std::string& path) const;
  WrittenPlaces written_places(const std::string& workspace, FileIdentity found) const;

  Loop& loop_;
  SessionHostOptions options_;
  Result<StateFolders> folders_;
  std::shared_ptr<Trash> trash_;
  std::shared_ptr<DyingCells> dying_;
  bool swept_ = false;
  std::optional<ForksClaim> claim_;
  std::map<std::string, std::shared_ptr<ZygoteDoor>> doors_;  // to zygotes, by key
  WritableFolders written_;
  LoadRules load_rules_;
  std::vector<HiddenFromLoad> hidden_by_request_;
  size_t hidden_ = 0;  // rules of these
  std::shared_ptr<LoadBudget> load_budget_;
};

// Where things are in a state folder.
std::string forks_folder(const SessionHostOptions&);
std::string workspace_folder(const SessionHostOptions&, const std::string& session);
std::string room_folder(const SessionHostOptions&, const std::string& session);  // in its own cell
// Ours alone (0700), made if it is not there.
Result<void> make_private_folder(const std::string& path);

}  // namespace caisson::session
