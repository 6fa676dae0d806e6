// Zygote: a Python that has everything loaded, in a cell of its own, and forks a session on
// request. It never runs user code. A fork confines itself (py/confine.py) before there can be any,
// in a cgroup that the host has made for it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "session/cell_maker.h"
#include "session/dying_cells.h"
#include "session/lane.h"

namespace caisson::session {

// The cgroup of one fork. Dropping it kills what is in it and takes its folders away.
class ForkedCell final : public Hold {
 public:
  // An error when this host has no cgroup to give: a session needs a cell of its own then.
  static Result<std::shared_ptr<ForkedCell>> make(const ForkLimits&, std::shared_ptr<DyingCells>);
  ForkedCell(std::shared_ptr<DyingCells> dying, CgroupSweeper sweeper, CellCgroup cgroup)
      : dying_(std::move(dying)), sweeper_(std::move(sweeper)), cgroup_(std::move(cgroup)) {}
  ~ForkedCell() override;

  // Where a process of one thread writes "0" to be in it.
  Result<std::vector<UniqueFd>> join_fds() const;
  // A folder that is the fork's alone, and goes with it.
  void own_workspace(UniqueFd parent, std::string name, std::shared_ptr<Trash> trash) {
    parent_ = std::move(parent);
    workspace_ = std::move(name);
    trash_ = std::move(trash);
  }
  void kill() override;  // without waiting for their end
  bool alive() const override { return !killed_ && !out_of_memory(); }
  std::string last_words() const override;
  Task<> ended(std::chrono::milliseconds) override { co_return; }
  Task<std::optional<bool>> ran_out_of_memory() override { co_return new_oom_kills(); }
  bool new_oom_kills();

 private:
  bool out_of_memory() const { return cgroup_.oom_happened(); }
  std::shared_ptr<DyingCells> dying_;
  CgroupSweeper sweeper_;  // goes after the cgroup that it watches
  mutable CellCgroup cgroup_;
  uint64_t oom_kills_ = 0;
  bool killed_ = false;
  UniqueFd parent_;
  std::string workspace_;
  std::shared_ptr<Trash> trash_;
};

// The kept workspace of a session, in the room of a fork that is to become that session. It is put
// back unless that comes about: the room goes with the fork.
class TakenUp {
 public:
  TakenUp(std::shared_ptr<CellMaker> maker, std::string room, std::string session)
      : maker_(std::move(maker)), room_(std::move(room)), session_(std::move(session)) {}
  TakenUp(const TakenUp&) = delete;
  TakenUp& operator=(const TakenUp&) = delete;
  ~TakenUp() { give_back(); }
  void settle() { maker_.reset(); }
  void give_back() {
    if (std::shared_ptr<CellMaker> maker = std::exchange(maker_, nullptr))
      maker->keep_workspace(room_, session_, false);
  }

 private:
  std::shared_ptr<CellMaker> maker_;  // none: it is settled
  std::string room_, session_;
};

struct Fork {
  std::shared_ptr<Lane> lane;
  std::shared_ptr<Hold> cell;
  std::string room;  // on the host (rooms.h)
  ForkLimits limits;
  std::string not_taken_up;        // why, when it was to be
  std::shared_ptr<TakenUp> taken;  // goes before the cell
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
  // `take_up`: the session whose workspace, as it was kept, is to be its own; empty: none. That is
  // one rename, of the folder as a whole, and so it comes before the fork has its folder mounted.
  static Task<Result<Fork>> fork(std::shared_ptr<Zygote>, ForkLimits, std::string take_up);
  void kill();
  // Modules that were to be loaded ahead and could not be, for a person.
  const std::string& missing() const { return missing_; }

  void heard(Frame) override;
  void ended(std::string why) override;

 private:
  Result<Fork> order_fork(const ForkLimits&, ForkPlace);
  static Task<Result<Fork>> make_fork(std::shared_ptr<Zygote>, ForkLimits, std::string take_up);
  static Task<Result<void>> take_up(std::shared_ptr<Zygote>, std::string room, std::string session,
                                    std::shared_ptr<TakenUp>& taken);
  static Task<Result<Fork>> confined(std::shared_ptr<Zygote>, ForkLimits, ForkPlace);
  std::string room_of(const ForkPlace& place) const { return workspaces_ + "/" + place.folder; }
  static Task<> fill_reserve(std::shared_ptr<Zygote>, ForkLimits, std::chrono::milliseconds pause);

  Loop& loop_;
  std::shared_ptr<CellMaker> maker_;
  std::string workspaces_, key_;
  std::shared_ptr<Hold> cell_;
  std::shared_ptr<Channel> channel_;
  Event ready_;
  bool is_ready_ = false;
  size_t coming_ = 0;  // forks for the reserve that are being made
  uint32_t requests_ = 0;
  std::string missing_;
  std::deque<Fork> reserve_;
  std::vector<std::weak_ptr<TakenUp>> taken_;  // by forks that are no sessions yet
};

}  // namespace caisson::session
