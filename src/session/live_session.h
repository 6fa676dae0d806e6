// LiveSession: a session that has a lane in a running cell.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "session/cell_maker.h"
#include "session/lane.h"
#include "session/session.h"
#include "session/snapshot_file.h"
#include "session/state_mark.h"

namespace caisson::session {

// What a session keeps of its spec and of its host.
struct SessionFacts {
  SessionInfo info;
  std::chrono::milliseconds call_timeout{0};
  uint64_t output_bytes = 0, memory_bytes = 0;
  std::string memory_limit;  // of its cell, for a person: a policy may say another
  std::shared_ptr<CellMaker> maker;
  std::shared_ptr<PipesAhead> pipes;  // of the host
  std::string private_workspace;      // made for it alone, goes with it
  bool asked_for_layers = false;
  std::string room;      // of its cell, when that is its own (rooms.h)
  std::string snapshot;  // where it is saved: what was reset must not come back from there
  std::shared_ptr<StateMark> mark;  // beside it, while it is behind the state
  std::function<void(const std::string& session)> after_call;
};

// A save that nobody has asked for gives way to whatever is asked for. At the end of a session
// there is less time than before, and who asks for one has more.
enum class SaveReason { kAsked, kByItself, kAtEnd };
// In the words of the interpreter, which may say what it likes: nothing hangs on it but a reason
// and a pause.
bool gave_way(const CallAnswer&);

class LiveSession final : public Session {
 public:
  LiveSession(Loop&, SessionFacts, std::shared_ptr<Hold>, std::shared_ptr<Lane>);

  SessionInfo info() const override;
  Task<Result<CallAnswer>> exec(ExecRequest) override;
  Task<Result<CallAnswer>> vars(uint32_t limit) override;
  Task<Result<CallAnswer>> get(std::string name, uint64_t max_bytes) override;
  Task<Result<CallAnswer>> evaluate(std::string expression, uint64_t max_bytes) override;
  Task<Result<CallAnswer>> set(std::string name, std::string kind, std::string bytes) override;
  Task<Result<CallAnswer>> set_lent(std::string name, std::string kind, UniqueFd bytes) override;
  Task<Result<CallAnswer>> load(std::string path, std::string name, LoadAs how) override;
  Task<Result<boost::json::object>> reset() override;
  Task<Result<boost::json::object>> checkpoint(std::string name) override;
  Task<Result<boost::json::object>> restore(std::string name) override;
  Task<Result<boost::json::object>> drop(std::string name) override;
  Task<Result<boost::json::object>> checkpoints() override;
  Task<Result<CallAnswer>> save(std::string path, uint64_t most_bytes) override {
    return save_for(SaveReason::kAsked, std::move(path), most_bytes);
  }
  Task<Result<CallAnswer>> save_for(SaveReason, std::string path,
                                    uint64_t most_bytes = kMostSnapshot);
  Task<Result<CallAnswer>> unsave(std::string path) override;
  Task<Result<CallAnswer>> unsave_within(std::string path, std::chrono::milliseconds);
  void interrupt() override;
  std::vector<Refusal> take_refusals() override { return cell_->take_refusals(); }

  // A second lane of the same cell, and the facts of its session.
  Task<Result<std::shared_ptr<LiveSession>>> branch(std::string new_name, std::string from,
                                                    LaneOptions);
  // What the lane said of itself.
  void greeted(const boost::json::object& hello);
  void note(std::string text);
  void note_loss(std::string text);
  // Lets the lane go; the cell goes with its last lane.
  void close(std::string why);
  void kill();
  bool is_saving() const { return saving_.taken(); }
  bool changed_since_saved() const { return facts_.info.calls != saved_at_call_; }
  const SessionFacts& facts() const { return facts_; }

 private:
  Task<Result<CallAnswer>> call(FrameType, boost::json::object body,
                                std::vector<UniqueFd> descriptors = {});
  // With bytes that the session may read as long as the call lasts.
  Task<Result<CallAnswer>> lend(FrameType, boost::json::object body, UniqueFd memory,
                                std::chrono::milliseconds time, LaneTurn turn = LaneTurn::kToTake);
  Task<Result<CallAnswer>> run(Call);
  Result<Call> call_to_save(SaveReason, const UniqueFd& memory, uint64_t most_bytes);
  static Task<> explain_kill(std::shared_ptr<Hold> cell, std::string limit, CallAnswer& answer);
  Error ended() const;
  std::string files_folder() const;

  Loop& loop_;
  SessionFacts facts_;
  std::shared_ptr<Hold> cell_;
  std::shared_ptr<Lane> lane_;
  uint64_t saved_at_call_ = 0;
  Turns saving_;
  UniqueFd way_;         // of a save by itself: once it is closed, that one gives way
  uint64_t resets_ = 0;  // and its end
  uint64_t interrupts_ = 0;
};

}  // namespace caisson::session
