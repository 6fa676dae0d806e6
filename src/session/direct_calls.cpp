// Calls that go to the interpreter without the keeper, and what becomes of them: an answer, or a
// stop, which is the keeper's work.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/control.h"
#include "base/scope_exit.h"
#include "session/lane.h"

namespace caisson::session {

namespace {

constexpr uint32_t kMostDropped = 1000;  // messages of one call that don't fit
constexpr int kRounds = 64;              // at once, so that others have their turn
constexpr size_t kNoncesAtOnce = 32;
constexpr size_t kRing = 4096;  // the keeper may be so many calls behind
constexpr uint8_t kNotKeptBit = 8;
// To wake a processor that is idle takes up to 0.05 ms, more in a virtual machine. A lane whose
// last call was short is waited for awake, for a moment.
constexpr std::chrono::microseconds kBrisk{400}, kAwake{200};
// Where others compute, who offers the processor has it back after their turn, some milliseconds:
// then it is not offered again for a while, and the longer the more often that was so.
constexpr std::chrono::microseconds kOthersTurn{500}, kAsleep{1000};
constexpr unsigned kMostLost = 7;

SteadyClock::time_point after(SteadyClock::time_point begin, std::chrono::milliseconds timeout,
                              std::chrono::milliseconds more) {
  return timeout.count() ? begin + timeout + more : SteadyClock::time_point::max();
}

void start_streams(Call& call) {
  if (call.output) call.output->start();
  if (call.feed) call.feed->start();
}

}  // namespace

// The keeper is not woken for a call, but has to tell later whether what it hears comes from the
// call that ran. It holds this file; nothing that runs user code does.
void Lane::offer_nonces() {
  UniqueFd ring{::memfd_create("caisson-nonces", MFD_CLOEXEC)};
  if (!ring || ::ftruncate(ring.get(), kRing * sizeof(uint64_t)) != 0) return;
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(::fcntl(ring.get(), F_DUPFD_CLOEXEC, 3));
  if (!descriptors[0]) return;
  ring_ = std::move(ring);
  (void)channel_->send(FrameType::kNonces, 0, "", "", std::move(descriptors));
}

// Random for each call: what was left behind by an earlier one can't answer this one. Those of the
// next calls are known to nobody but us and the keeper.
uint64_t Lane::draw_nonce() {
  if (calls_ - first_nonce_ >= nonces_.size()) {
    nonces_.resize(kNoncesAtOnce);
    auto size = static_cast<ssize_t>(nonces_.size() * sizeof nonces_[0]);
    if (::getrandom(nonces_.data(), static_cast<size_t>(size), 0) != size) std::abort();
    first_nonce_ = calls_;
    write_nonces();
  }
  return nonces_[calls_ - first_nonce_];
}

void Lane::write_nonces() {
  constexpr size_t kSize = sizeof nonces_[0];
  size_t place = first_nonce_ % kRing, before_end = std::min(nonces_.size(), kRing - place);
  (void)!::pwrite(ring_.get(), nonces_.data(), before_end * kSize,
                  static_cast<off_t>(place * kSize));
  if (before_end < nonces_.size())
    (void)!::pwrite(ring_.get(), nonces_.data() + before_end, (nonces_.size() - before_end) * kSize,
                    0);
}

// A reset is done when all of the old is killed and the new is forked; the first call waits until
// it is there, and its clock starts then.
Task<> Lane::await_report() {
  auto until = SteadyClock::now() + kPatience;
  interrupted_early_ = false;
  while (alive() && direct_ && direct_->awaits_report()) {
    Event reported(loop_);
    reported_ = &reported;
    ScopeExit forget([this] { reported_ = nullptr; });
    direct_->when_ready([weak = weak_from_this()] {
      std::shared_ptr<Lane> self = weak.lock();
      if (self && self->reported_) self->reported_->set();
    });
    if (co_await reported.wait(until)) continue;
    close("its interpreter did not report in time, and its cell was killed");
    if (options_.on_silence) options_.on_silence();
  }
}

// The loop goes round meanwhile: everybody else is served as ever, and whoever wants the processor
// has it.
Task<> Lane::stay_awake(const Waiting& waiting) {
  auto now = SteadyClock::now(), until = now + kAwake;
  if (now < asleep_until_) co_return;
  while (!waiting.answered.happened() && now < until) {
    ::sched_yield();
    auto offered = std::exchange(now, SteadyClock::now());
    if (now - offered > kOthersTurn) {
      lost_turns_ = std::min(lost_turns_ + 1, kMostLost);
      asleep_until_ = now + kAsleep * (1u << lost_turns_);
      co_return;
    }
    co_await boost::asio::post(loop_.get_executor(), kAwait);
  }
  if (lost_turns_) --lost_turns_;
}

Task<Result<Frame>> Lane::ask_directly(Call& call, SteadyClock::time_point begin) {
  Waiting waiting(loop_);
  waiting.is_call = true;
  waiting.begin = begin;
  asked_ = direct_;
  if (asked_) waiting.direct = {requests_ + 1, calls_, draw_nonce()};
  if (!asked_ || !asked_->send(call.type, waiting.direct, call.body, call.descriptors)) {
    asked_.reset();
    interrupted_early_ = false;
    start_streams(call);
    CallPrefix prefix{static_cast<uint32_t>(call.timeout.count()),
                      static_cast<uint32_t>(kGrace.count()),
                      static_cast<uint8_t>(call.descriptors.size())};
    co_return co_await ask(call.type, encode_prefix(prefix), std::move(call.body),
                           std::move(call.descriptors),
                           after(begin, call.timeout, kGrace + kPatience), true);
  }
  // From here the other side is at work: what we do until it answers costs no time.
  waiting.request = ++requests_;
  waiting.is_direct = true;
  waiting_ = &waiting;
  ScopeExit forget([this] {
    waiting_ = nullptr;
    asked_->finish();
    if (asked_ != direct_) asked_->close();
    asked_.reset();
  });
  asked_->when_ready([weak = weak_from_this()] {
    if (std::shared_ptr<Lane> self = weak.lock()) self->hear_directly();
  });
  if (std::exchange(interrupted_early_, false)) interrupt();
  if (is_brisk_ && !call.feed) co_await stay_awake(waiting);
  if (!waiting.answered.happened()) start_streams(call);
  // Who stops it has given it a deadline of its own.
  auto due = waiting.is_direct ? after(begin, call.timeout, std::chrono::milliseconds{0})
                               : waiting.answered.deadline();
  bool answered = co_await waiting.answered.wait(due);
  is_brisk_ = SteadyClock::now() - begin < kBrisk;
  if (!answered && waiting.is_direct) stop_direct(StopReason::kTimeout);
  co_return co_await last_wait(waiting, waiting.answered.deadline());
}

// An interpreter to talk to: the first, or one that has woken in place of another.
void Lane::took_live(Frame frame) {
  if (!frame.spilled || frame.body.size() != 4) return;
  uint32_t generation = 0;
  for (size_t i = 4; i-- > 0;)
    generation = generation << 8 | static_cast<unsigned char>(frame.body[i]);
  // The one before may have answered just before its end.
  if (waiting_ && waiting_->is_direct) hear_directly();
  Result<std::shared_ptr<Direct>> made = Direct::take(loop_, std::move(frame.spilled), generation);
  if (direct_ && direct_ != asked_) direct_->close();
  direct_ = made ? *made : nullptr;  // without one, calls go by the keeper
  if (reported_) reported_->set();
}

void Lane::hear_directly() {
  for (int i = 0; i < kRounds && waiting_ && waiting_->is_direct; ++i) {
    DirectMessage message = asked_->receive();
    if (message.kind == DirectMessage::Kind::kNothing) break;
    // Dead, or its socket was closed by the code: the keeper finds out which, and tells.
    if (message.kind == DirectMessage::Kind::kEnded ||
        message.kind == DirectMessage::Kind::kForeign)
      return stop_direct(StopReason::kBroken);
    if (take_direct_answer(std::move(message))) return;
    if (++waiting_->dropped > kMostDropped) return stop_direct(StopReason::kBroken);
  }
  if (!waiting_ || !waiting_->is_direct) return;
  asked_->when_ready([weak = weak_from_this()] {
    if (std::shared_ptr<Lane> self = weak.lock()) self->hear_directly();
  });
}

bool Lane::take_direct_answer(DirectMessage message) {
  const DirectCall& call = waiting_->direct;
  if (message.kind != DirectMessage::Kind::kResult || message.request != call.request ||
      (message.nonce != call.nonce && control_enabled("session-nonce")) || waiting_->frame)
    return false;
  bool kept = !no_way_back_ && !(message.bits & kNotKeptBit);
  Frame frame{FrameType::kResult, call.request, std::string(1, kept ? '\0' : char{kNoWayBack}),
              std::move(message.spilled)};
  frame.body += message.body;
  waiting_->frame = std::move(frame);
  waiting_->is_direct = false;
  waiting_->answered.set();
  return true;
}

// The call is the keeper's from now on: its answer, or its end, comes by the control socket.
void Lane::stop_direct(StopReason why) {
  if (!waiting_ || !waiting_->is_direct) return;
  // It may have answered meanwhile.
  if (why != StopReason::kBroken)
    for (int i = 0; i < kRounds; ++i) {
      DirectMessage message = asked_->receive();
      if (message.kind != DirectMessage::Kind::kResult &&
          message.kind != DirectMessage::Kind::kNonsense)
        break;
      if (take_direct_answer(std::move(message))) return;
    }
  waiting_->is_direct = false;
  auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - waiting_->begin);
  std::string body =
      encode_stop(waiting_->direct, asked_->generation(), static_cast<uint32_t>(elapsed.count()),
                  static_cast<uint32_t>(kGrace.count()), why);
  uint32_t request = waiting_->request;
  // From now on there is a clock, even for a call that had none.
  waiting_->answered.move_deadline(SteadyClock::now() + kGrace + kPatience);
  (void)channel_->send(FrameType::kStop, request, "", body, {});
}

// The keeper knows nothing of a call that runs past it: for the call, the end of its interpreter
// is the answer.
bool Lane::ended_by(const Frame& note) {
  if (!waiting_ || waiting_->frame || !asked_) return false;
  if (asked_ == direct_) {
    // The note is about the one before, unless none came after.
    Result<boost::json::object> facts = parse_object(note.body);
    const boost::json::value* restored = facts ? facts->if_contains("restored") : nullptr;
    if (!restored || *restored != false) return false;
  }
  waiting_->is_direct = false;
  waiting_->frame = Frame{FrameType::kEnded, waiting_->request, note.body, {}};
  waiting_->answered.set();
  (void)channel_->send(FrameType::kHeard, 0, "", "", {});
  return true;
}

}  // namespace caisson::session
