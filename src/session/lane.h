// Lane: one live interpreter of a session, seen from the host. One call runs at a time; the others
// wait their turn. The host's clock runs beside the keeper's: a lane that gives no answer is lost.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "session/answers.h"
#include "session/channel.h"
#include "session/direct.h"
#include "session/event.h"
#include "session/feed.h"
#include "session/output.h"
#include "session/session.h"

namespace caisson::session {

// From the first interrupt to the kill, by the keeper.
constexpr std::chrono::milliseconds kGrace{500};
// For the keeper to kill, to wake a checkpoint and to say so, on a machine that is busy.
constexpr std::chrono::milliseconds kPatience{5000};

struct LaneOptions {
  std::vector<HostFunction> functions;
  uint32_t host_calls = 0;           // that one exec may make
  std::function<void()> on_silence;  // no answer in time, or nonsense: the cell has to go
};

enum class LaneTurn { kToTake, kHeld };  // held: by the caller

struct Call {
  FrameType type;
  std::string body;
  std::vector<UniqueFd> descriptors;
  std::chrono::milliseconds timeout{0};  // 0: none
  std::shared_ptr<CallOutput> output;
  std::shared_ptr<Feed> feed;
  uint64_t most_answer = kMostSpilled;  // bytes of it that are read
  LaneTurn turn = LaneTurn::kToTake;
  // Of a call that nobody has asked for: once somebody else wants the turn, or has an interrupt for
  // what runs.
  std::function<void()> give_way;
};

class Lane final : public ChannelListener, public std::enable_shared_from_this<Lane> {
 public:
  Lane(Loop&, UniqueFd control, LaneOptions);
  ~Lane() override;
  void listen() { channel_->listen(weak_from_this()); }
  void close(std::string why);
  void end(std::string why);  // and says so first
  void set_options(LaneOptions options) { options_ = std::move(options); }
  bool alive() const { return channel_->open(); }
  // With something that somebody has asked for.
  bool busy() const { return turns_.taken() && !give_way_; }
  const std::string& why_ended() const { return why_ended_; }

  // START and its HELLO. A branch has none to send, and only waits.
  Task<Result<boost::json::object>> start(boost::json::object options);
  Task<Result<boost::json::object>> await_hello();
  // Of a fork of a zygote: nothing is sent to it before it has said that it is confined.
  Task<Result<void>> await_confined();
  Task<Result<CallAnswer>> call(Call);
  // For calls that are made ready at a cost: none of them waits behind another call.
  Task<Turns::Ticket> take_turn();
  // What the keeper answers itself, with DONE or REFUSED.
  Task<Result<boost::json::object>> order(FrameType, boost::json::object body,
                                          std::vector<UniqueFd> descriptors = {});
  void interrupt();
  // Before START, or before the order of a branch: its calls may go to the interpreter itself.
  void offer_nonces();
  bool is_direct() const { return direct_ != nullptr; }

  void heard(Frame) override;
  void ended(std::string why) override;

 private:
  struct Waiting {
    explicit Waiting(Loop& loop) : answered(loop) {}
    uint32_t request = 0;
    Event answered;
    std::optional<Frame> frame;
    bool is_call = false;
    CallFacts facts;
    uint32_t host_calls = 0, unanswered = 0;
    uint64_t host_call_bytes = 0;
    // Of a call that went to the interpreter itself, until the keeper has taken it over.
    bool is_direct = false;
    DirectCall direct;
    SteadyClock::time_point begin;
    uint32_t dropped = 0;
  };
  Task<Result<CallAnswer>> call_in_turn(Call);
  Task<Result<Frame>> ask(FrameType, std::string head, std::string body,
                          std::vector<UniqueFd> descriptors, SteadyClock::time_point deadline,
                          bool is_call);
  // direct_calls.cpp
  Task<> await_report();
  Task<Result<Frame>> ask_directly(Call&, SteadyClock::time_point begin);
  Task<> stay_awake(const Waiting&);
  void took_live(Frame);
  void hear_directly();
  bool take_direct_answer(DirectMessage);
  void stop_direct(StopReason);
  bool ended_by(const Frame& note);
  uint64_t draw_nonce();
  void write_nonces();

  Task<Result<Frame>> last_wait(Waiting&, SteadyClock::time_point deadline);
  CallAnswer read_answer(Frame, uint64_t most);
  static void take_output(CallAnswer&, CallOutput*);
  static Error refusal(const boost::json::object& body);
  // host_calls.cpp
  void serve_host_call(Frame);
  Result<boost::json::object> accept_host_call(Frame);
  std::string spent() const;
  static Task<> run_host_call(std::shared_ptr<Lane>, uint32_t request, boost::json::object call);
  Task<Result<boost::json::value>> run_function(boost::json::object call);
  void reply(uint32_t request, boost::json::object body);

  Loop& loop_;
  std::shared_ptr<Channel> channel_;
  LaneOptions options_;
  Turns turns_;
  std::function<void()> give_way_;  // of the call that has the turn
  Waiting* waiting_ = nullptr;      // of the coroutine that has the turn
  Event hello_, confined_;
  bool is_confined_ = false;
  std::optional<boost::json::object> greeting_;
  uint32_t requests_ = 0;
  std::shared_ptr<Direct> direct_;
  std::shared_ptr<Direct> asked_;  // the one that has the call; the other is newer
  Event* reported_ = nullptr;      // of the call that waits for its interpreter
  bool interrupted_early_ = false;
  uint32_t calls_ = 0;
  bool no_way_back_ = false;
  bool is_brisk_ = false;                   // its last call was answered soon
  SteadyClock::time_point asleep_until_{};  // stay_awake() does nothing until then
  unsigned lost_turns_ = 0;                 // more or less in a row, in stay_awake()
  std::vector<uint64_t> nonces_;            // drawn ahead
  uint32_t first_nonce_ = 0;                // the number of the call that the first of them is for
  UniqueFd ring_;                           // these, and the ones before, for the keeper to compare
  CallFacts last_facts_;
  std::vector<std::string> notes_;
  std::string why_ended_;
};

}  // namespace caisson::session
