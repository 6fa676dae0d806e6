// RemoteMaker: a CellMaker that asks a launcher (launcher.h). It never waits without the loop.
#pragma once

#include <deque>
#include <map>

#include "session/cell_maker.h"
#include "session/file_work.h"
#include "session/launch_wire.h"

namespace caisson::session {

class RemoteMaker;

// What the launcher holds for us.
class RemoteHold final : public Hold {
 public:
  RemoteHold(Loop& loop, std::weak_ptr<RemoteMaker> maker, uint32_t id)
      : loop_(loop), maker_(std::move(maker)), id_(id) {}
  ~RemoteHold() override { kill(); }
  void kill() override;
  bool alive() const override { return alive_; }
  std::string last_words() const override { return words_; }
  Task<> ended(std::chrono::milliseconds patience) override;
  Task<std::optional<bool>> ran_out_of_memory() override;

  // A cgroup's end is not told; it has to be asked for.
  void ask_for_its_end() { is_silent_ = true; }
  void heard_of_end(std::string words);
  void heard();  // it lives
  void heard_of_refusals(UniqueFd pipe) { refusals_ = RefusalPipe(std::move(pipe)); }
  std::vector<Refusal> take_refusals() override { return refusals_.take(); }

 private:
  Loop& loop_;
  std::weak_ptr<RemoteMaker> maker_;
  uint32_t id_;
  bool alive_ = true, is_silent_ = false;
  std::string words_;
  std::vector<Event*> waiting_;
  RefusalPipe refusals_;
};

class RemoteMaker final : public CellMaker, public std::enable_shared_from_this<RemoteMaker> {
 public:
  // `state_folder`: that which the launcher was made with.
  static std::shared_ptr<RemoteMaker> make(Loop&, std::string state_folder, UniqueFd socket);
  RemoteMaker(Loop&, std::string state_folder, UniqueFd socket);

  Result<std::shared_ptr<Hold>> start_cell(CellKind, const SessionSpec&,
                                           std::vector<UniqueFd> descriptors) override;
  Task<Result<ForkPlace>> make_fork(ForkLimits, std::string zygote) override;
  Task<Result<LoadedFiles>> load(std::string path, std::string workspace,
                                 uint64_t most_bytes) override;
  Result<void> drop_workspace(const std::string& session) override;
  Task<Result<void>> drop_and_tell(std::string session) override;
  Task<bool> is_written(std::string python) override;
  Task<std::optional<bool>> has_run_out(uint32_t cell);
  Result<void> note_session(const std::string& room, const std::string& session,
                            bool is_branch) override;
  void keep_workspace(const std::string& room, const std::string& session, bool is_branch) override;
  Task<Result<void>> keep_and_tell(std::string room, std::string session, bool is_branch) override;
  Task<Result<bool>> take_up_workspace(std::string room, std::string session) override;

  Task<Result<FileAnswer>> work_on_file(FileOrder order);

  void send(LaunchPacket packet);
  // The server is about to end: the launcher clears all away.
  void say_goodbye();

 private:
  // Who waits for an answer: a fork's or a load's coroutine.
  struct Question {
    explicit Question(Loop& loop) : answered(loop) {}
    Event answered;
    LaunchPacket answer;
    LoadedFiles files;
  };
  Task<void> ask(LaunchPacket packet, std::shared_ptr<Question> question);
  Task<Result<void>> ask_until_done(LaunchPacket order);
  std::shared_ptr<RemoteHold> hold(uint32_t id);
  std::shared_ptr<void> loan(uint32_t id);
  LaunchPacket room_order(LaunchWord, const std::string& room, const std::string& session) const;
  void wait_readable();
  void wait_writable();
  bool receive();
  void take(LaunchPacket packet);
  void take_answer(Question& question, LaunchPacket packet);
  bool flush();
  void lost();

  struct Outgoing {
    std::string bytes;
    std::vector<UniqueFd> descriptors;
  };
  Loop& loop_;
  std::string state_folder_;
  LoopDescriptor socket_;
  std::deque<Outgoing> outgoing_;
  bool waiting_to_write_ = false;
  uint32_t last_id_ = 0;
  bool gave_folders_ = false;  // to a session, so that it may have some to write
  UniqueFd claim_;  // of the folder of forks: ours, since what we made is somebody's while we live
  std::map<uint32_t, std::weak_ptr<RemoteHold>> holds_;
  std::map<uint32_t, std::shared_ptr<Question>> questions_;
};

}  // namespace caisson::session
