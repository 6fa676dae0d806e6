// Zygote: a Python that has everything loaded, in a cell of its own, and forks a session on
// request. It never runs user code. A fork confines itself (py/confine.py) before there can be any,
// in a cgroup that the host has made for it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "launch/cell_cgroup.h"
#include "launch/cgroup_sweeper.h"
#include "session/cell_maker.h"
#include "session/lane.h"

namespace caisson::session {

// The cgroup of one fork. Dropping it kills what is in it and takes its folders away.
class ForkedCell final : public Hold {
 public:
  // An error when this host has no cgroup to give: a session needs a cell of its own then.
  static Result<std::shared_ptr<ForkedCell>> make(const ForkLimits&);
  ForkedCell(std::optional<CgroupSweeper> sweeper, CellCgroup cgroup)
      : sweeper_(std::move(sweeper)), cgroup_(std::move(cgroup)) {}
  ~ForkedCell() override;

  // Where a process of one thread writes "0" to be in it.
  Result<std::vector<UniqueFd>> join_fds() const;
  // A folder that is the fork's alone, and goes with it.
  void own_workspace(std::string path, std::shared_ptr<Trash> trash) {
    workspace_ = std::move(path);
    trash_ = std::move(trash);
  }
  void kill() override;
  bool alive() const override { return !killed_ && !out_of_memory(); }
  std::string last_words() const override;
  Task<> ended(std::chrono::milliseconds) override { co_return; }

 private:
  bool out_of_memory() const { return cgroup_->oom_happened(); }
  std::optional<CgroupSweeper> sweeper_;  // goes after the cgroup that it watches
  mutable std::optional<CellCgroup> cgroup_;
  bool killed_ = false;
  std::string workspace_;
  std::shared_ptr<Trash> trash_;
};

struct Fork {
  std::shared_ptr<Lane> lane;
  std::shared_ptr<Hold> cell;
  std::string room;  // on the host (rooms.h)
  ForkLimits limits;
};

class Zygote final : public ChannelListener, public std::enable_shared_from_this<Zygote> {
 public:
  // `kernel`: what its Python runs. `workspaces`: the folder of the rooms of all forks; those of
  // its own are mounted into its cell, and each fork keeps one.
  static Task<Result<std::shared_ptr<Zygote>>> start(Loop&, std::shared_ptr<CellMaker>, SessionSpec,
                                                     UniqueFd kernel, std::string workspaces);
  Zygote(Loop& loop, std::shared_ptr<CellMaker> maker, std::string workspaces);

  bool alive() const { return cell_ && cell_->alive() && channel_->open(); }
  // One that waits for its START. The one in reserve, if it fits, and then there is a new one made.
  static Task<Result<Fork>> fork(std::shared_ptr<Zygote>, ForkLimits);
  void kill();
  // Modules that were to be loaded ahead and could not be, for a person.
  const std::string& missing() const { return missing_; }

  void heard(Frame) override;
  void ended(std::string why) override;

 private:
  Result<Fork> order_fork(const ForkLimits&, ForkPlace);
  static Task<Result<Fork>> make_fork(std::shared_ptr<Zygote>, ForkLimits);
  static Task<> fill_reserve(std::shared_ptr<Zygote>, ForkLimits, std::chrono::milliseconds pause);

  Loop& loop_;
  std::shared_ptr<CellMaker> maker_;
  std::string workspaces_, key_;
  std::shared_ptr<Hold> cell_;
  std::shared_ptr<Channel> channel_;
  UniqueFd filter_;
  Event ready_;
  bool is_ready_ = false;
  size_t coming_ = 0;  // forks for the reserve that are being made
  uint32_t requests_ = 0;
  std::string missing_;
  std::deque<Fork> reserve_;
};

}  // namespace caisson::session
