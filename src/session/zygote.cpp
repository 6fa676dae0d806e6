#include "session/zygote.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>

#include "base/text.h"
#include "host/probe.h"
#include "launch/cgroup_names.h"
#include "plan/limits_plan.h"
#include "session/cell_words.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kZygotePatience{60};
constexpr std::chrono::milliseconds kZygoteLastWords{3000};
constexpr std::chrono::milliseconds kBeforeRefill{20};
constexpr size_t kReserve = 2;  // the next session, and the one after it
constexpr uint64_t kTmpBytes = 256u << 20;

bool has_slot(const CgroupPlan& plan, std::string_view controller) {
  return std::ranges::find(plan.slots, controller, &CgroupSlot::controller) != plan.slots.end();
}

// The same rules as for any cell; only that running out of memory ends what asked for it, and not
// the session.
Result<CgroupPlan> plan_cgroup(const ForkLimits& limits) {
  Policy policy;
  policy.limits.memory_bytes = limits.memory_bytes;
  policy.limits.cpu_millis = limits.cpu_millis;
  policy.limits.pids = limits.pids;
  Plan plan;
  TRY(plan_limits(policy, probe_host(), plan));
  if (!has_slot(plan.cgroup, "memory") || !has_slot(plan.cgroup, "pids") || plan.pin_to_cpus)
    return Error::plain("no cgroup to be had for a fork of the zygote");
  std::erase_if(plan.cgroup.files,
                [](const CgroupFile& one) { return one.file == "memory.oom.group"; });
  return std::move(plan.cgroup);
}

}  // namespace

Result<std::shared_ptr<ForkedCell>> ForkedCell::make(const ForkLimits& limits,
                                                     std::shared_ptr<DyingCells> dying) {
  CgroupPlan plan = TRY(plan_cgroup(limits));
  std::string name = new_cgroup_name();
  CgroupSweeper sweeper = TRY(CgroupSweeper::start(plan, name));  // no folder without one
  CellCgroup cgroup = TRY(CellCgroup::create(plan, name, sweeper.pid()));
  return std::make_shared<ForkedCell>(std::move(dying), std::move(sweeper), std::move(cgroup));
}

Result<std::vector<UniqueFd>> ForkedCell::join_fds() const { return cgroup_.join_fds(); }

void ForkedCell::kill() {
  if (killed_) return;
  killed_ = true;
  cgroup_.kill_once();
}

ForkedCell::~ForkedCell() {
  dying_->take(std::move(cgroup_), std::move(sweeper_));
  if (trash_) (void)trash_->take(parent_.get(), workspace_);
}

bool ForkedCell::new_oom_kills() {
  uint64_t now = cgroup_.usage().oom_kills;
  return now > std::exchange(oom_kills_, now);
}

std::string ForkedCell::last_words() const {
  return out_of_memory() ? "the memory limit was reached" : "its processes were killed";
}

Zygote::Zygote(Loop& loop, std::shared_ptr<CellMaker> maker, std::string workspaces)
    : loop_(loop), maker_(std::move(maker)), workspaces_(std::move(workspaces)), ready_(loop) {}

Task<Result<std::shared_ptr<Zygote>>> Zygote::start(Loop& loop, std::shared_ptr<CellMaker> maker,
                                                    SessionSpec spec, UniqueFd kernel,
                                                    std::string workspaces) {
  auto zygote = std::make_shared<Zygote>(loop, maker, std::move(workspaces));
  zygote->key_ = zygote_key(spec);
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets->theirs));
  descriptors.push_back(std::move(kernel));
  Result<std::shared_ptr<Hold>> cell =
      maker->start_cell(CellKind::kZygote, spec, std::move(descriptors));
  if (!cell) co_return cell.error();
  zygote->cell_ = *cell;
  zygote->channel_ = std::make_shared<Channel>(loop, std::move(sockets->ours), Speaker::kZygote);
  zygote->channel_->listen(zygote);
  bool came = co_await zygote->ready_.wait(SteadyClock::now() + kZygotePatience);
  if (came && zygote->is_ready_) co_return zygote;
  co_await (*cell)->ended(kZygoteLastWords);
  if (!(*cell)->alive()) co_return cell_error("the zygote did not start", (*cell)->last_words());
  co_return Error::plain("the zygote can't confine its forks");
}

void Zygote::heard(Frame frame) {
  if (frame.request != 0 || ready_.happened()) return;  // how a fork fares, its own socket tells
  Result<json::object> facts = parse_object(frame.body);
  const json::value* confines = facts ? facts->if_contains("confines") : nullptr;
  is_ready_ = confines && confines->is_bool() && confines->get_bool();
  const json::value* missing = facts ? facts->if_contains("missing") : nullptr;
  if (missing && missing->is_array() && !missing->get_array().empty())
    missing_ = printable(json::serialize(*missing).substr(0, 500));
  ready_.set();
}

void Zygote::ended(std::string) {
  bool was_ready = std::exchange(is_ready_, false);
  ready_.set();
  reserve_.clear();
  if (was_ready) cell_->kill();  // one that never was is about to say why
}

void Zygote::kill() {
  for (const std::weak_ptr<TakenUp>& one : taken_)
    if (std::shared_ptr<TakenUp> taken = one.lock()) taken->give_back();
  reserve_.clear();
  if (channel_) channel_->close();
  if (cell_) cell_->kill();
}

Result<Fork> Zygote::order_fork(const ForkLimits& limits, ForkPlace place) {
  Fork fork;
  fork.limits = limits;
  fork.cell = std::move(place.hold);
  fork.room = room_of(place);
  SocketPair sockets = TRY(make_control_sockets());
  fork.lane = std::make_shared<Lane>(loop_, std::move(sockets.ours), LaneOptions{});
  fork.lane->listen();
  json::object confine{{"workspace", place.folder.substr(place.folder.rfind('/') + 1)},
                       {"tmp_bytes", kTmpBytes}};
  confine["layers"] = can_have_layers(workspaces_);
  json::object order{{"confine", std::move(confine)}};
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets.theirs));
  // NEW has the number that START has on a session's own socket.
  TRY(channel_->send(FrameType::kStart, ++requests_, "", json::serialize(order),
                     std::move(descriptors)));
  return fork;
}

Task<Result<Fork>> Zygote::confined(std::shared_ptr<Zygote> self, ForkLimits limits,
                                    ForkPlace place) {
  Result<Fork> fork = self->order_fork(limits, std::move(place));
  if (!fork) co_return fork.error();
  Result<void> confined = co_await fork->lane->await_confined();
  if (!confined) co_return confined.error();
  co_return std::move(*fork);
}

Task<Result<void>> Zygote::take_up(std::shared_ptr<Zygote> self, std::string room,
                                   std::string session, std::shared_ptr<TakenUp>& taken) {
  // Noted first: after a crash these files are looked for in the rooms.
  (void)self->maker_->note_session(room, session, false);
  // And known before it is done: a host that ends meanwhile has it put back.
  taken = std::make_shared<TakenUp>(self->maker_, room, session);
  std::erase_if(self->taken_, [](const auto& one) { return one.expired(); });
  self->taken_.push_back(taken);
  Result<bool> moved = co_await self->maker_->take_up_workspace(room, session);
  if (moved && *moved) co_return Result<void>();
  taken->settle();  // what is kept stays where it is
  taken.reset();
  if (!moved) co_return moved.error();
  co_return Result<void>();
}

Task<Result<Fork>> Zygote::make_fork(std::shared_ptr<Zygote> self, ForkLimits limits,
                                     std::string session) {
  Result<ForkPlace> place = co_await self->maker_->make_fork(limits, self->key_);
  if (!place) co_return place.error();
  std::string room = self->room_of(*place);
  std::shared_ptr<Hold> hold = place->hold;
  std::shared_ptr<TakenUp> taken;  // after the hold, which takes the room along
  Result<void> done;
  if (!session.empty()) done = co_await take_up(self, room, session, taken);
  Result<Fork> fork = co_await confined(self, limits, std::move(*place));
  if (!fork) co_return fork.error();
  fork->taken = taken;
  if (!done) fork->not_taken_up = done.error().what;
  co_return std::move(*fork);
}

Task<Result<Fork>> Zygote::fork(std::shared_ptr<Zygote> self, ForkLimits limits,
                                std::string take_up) {
  std::deque<Fork>& reserve = self->reserve_;
  std::erase_if(reserve,
                [&](const Fork& one) { return !(one.limits == limits) || !one.lane->alive(); });
  std::optional<Fork> ready;
  if (!reserve.empty() && take_up.empty()) {
    ready = std::move(reserve.front());
    reserve.pop_front();
  }
  // Behind the first call of the session that was just asked for: making the next one takes as long
  // as that call. But where sessions are asked for in a row, nobody waits.
  bool in_a_row = !ready && self->requests_ > 0;
  std::chrono::milliseconds pause = in_a_row ? std::chrono::milliseconds{0} : kBeforeRefill;
  for (; reserve.size() + self->coming_ < kReserve; ++self->coming_)
    spawn(self->loop_, fill_reserve(self, limits, pause));
  if (ready) co_return std::move(*ready);
  co_return co_await make_fork(self, limits, std::move(take_up));
}

Task<> Zygote::fill_reserve(std::shared_ptr<Zygote> self, ForkLimits limits,
                            std::chrono::milliseconds wait) {
  LoopTimer pause(self->loop_.get_executor());
  pause.expires_after(wait);
  boost::system::error_code ignored;
  co_await pause.async_wait(boost::asio::redirect_error(kAwait, ignored));
  std::string nobody;
  Result<Fork> fork = co_await make_fork(self, limits, nobody);
  --self->coming_;
  if (fork && self->alive()) self->reserve_.push_back(std::move(*fork));
}

}  // namespace caisson::session
