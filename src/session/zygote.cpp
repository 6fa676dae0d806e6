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
#include "seccomp/filters.h"
#include "session/cell_words.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kStartPatience{60};
constexpr std::chrono::milliseconds kLastWords{3000};
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

// The filter of every program in a cell, as bytes for the fork.
Result<UniqueFd> standard_filter() {
  auto filter = filter_for(FilterName::kStandard, false);
  return sealed_memfd("caisson-filter", {reinterpret_cast<const char*>(filter.data()),
                                         filter.size() * sizeof filter[0]});
}

}  // namespace

Result<std::shared_ptr<ForkedCell>> ForkedCell::make(const ForkLimits& limits) {
  CgroupPlan plan = TRY(plan_cgroup(limits));
  std::string name = new_cgroup_name();
  CgroupSweeper sweeper = TRY(CgroupSweeper::start(plan, name));  // no folder without one
  CellCgroup cgroup = TRY(CellCgroup::create(plan, name, sweeper.pid()));
  return std::make_shared<ForkedCell>(std::move(sweeper), std::move(cgroup));
}

Result<std::vector<UniqueFd>> ForkedCell::join_fds() const { return cgroup_->join_fds(); }

void ForkedCell::kill() {
  if (killed_) return;
  killed_ = true;
  cgroup_->kill_all();
}

ForkedCell::~ForkedCell() {
  kill();
  if (cgroup_->remove() && sweeper_) sweeper_->dismiss();
  cgroup_.reset();
  if (trash_) (void)trash_->take(workspace_);
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
  Result<UniqueFd> filter = standard_filter();
  if (!filter) co_return filter.error();
  zygote->filter_ = std::move(*filter);
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
  bool came = co_await zygote->ready_.wait(SteadyClock::now() + kStartPatience);
  if (came && zygote->is_ready_) co_return zygote;
  co_await (*cell)->ended(kLastWords);
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
  reserve_.clear();
  if (channel_) channel_->close();
  if (cell_) cell_->kill();
}

Result<Fork> Zygote::order_fork(const ForkLimits& limits, ForkPlace place) {
  Fork fork;
  fork.limits = limits;
  fork.cell = std::move(place.hold);
  fork.room = fmt::format("{}/{}", workspaces_, place.folder);
  SocketPair sockets = TRY(make_control_sockets());
  fork.lane = std::make_shared<Lane>(loop_, std::move(sockets.ours), LaneOptions{});
  fork.lane->listen();
  json::object confine{{"workspace", place.folder.substr(place.folder.rfind('/') + 1)},
                       {"tmp_bytes", kTmpBytes},
                       {"joins", place.joins.size()}};
  confine["layers"] = can_have_layers(workspaces_);
  json::object order{{"confine", std::move(confine)}};
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets.theirs));
  descriptors.emplace_back(::fcntl(filter_.get(), F_DUPFD_CLOEXEC, 3));
  for (UniqueFd& one : place.joins) descriptors.push_back(std::move(one));
  // NEW has the number that START has on a session's own socket.
  TRY(channel_->send(FrameType::kStart, ++requests_, "", json::serialize(order),
                     std::move(descriptors)));
  return fork;
}

Task<Result<Fork>> Zygote::make_fork(std::shared_ptr<Zygote> self, ForkLimits limits) {
  Result<ForkPlace> place = co_await self->maker_->make_fork(limits, self->key_);
  if (!place) co_return place.error();
  Result<Fork> fork = self->order_fork(limits, std::move(*place));
  if (!fork) co_return fork.error();
  Result<void> confined = co_await fork->lane->await_confined();
  if (!confined) co_return confined.error();
  co_return std::move(*fork);
}

Task<Result<Fork>> Zygote::fork(std::shared_ptr<Zygote> self, ForkLimits limits) {
  std::deque<Fork>& reserve = self->reserve_;
  std::erase_if(reserve,
                [&](const Fork& one) { return !(one.limits == limits) || !one.lane->alive(); });
  std::optional<Fork> ready;
  if (!reserve.empty()) {
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
  co_return co_await make_fork(self, limits);
}

Task<> Zygote::fill_reserve(std::shared_ptr<Zygote> self, ForkLimits limits,
                            std::chrono::milliseconds wait) {
  LoopTimer pause(self->loop_.get_executor());
  pause.expires_after(wait);
  boost::system::error_code ignored;
  co_await pause.async_wait(boost::asio::redirect_error(kAwait, ignored));
  Result<Fork> fork = co_await make_fork(self, limits);
  --self->coming_;
  if (fork && self->alive()) self->reserve_.push_back(std::move(*fork));
}

}  // namespace caisson::session
