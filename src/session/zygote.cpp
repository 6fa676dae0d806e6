#include "session/zygote.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>

#include "base/text.h"
#include "host/probe.h"
#include "launch/cgroup_names.h"
#include "plan/limits_plan.h"
#include "seccomp/filters.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kStartPatience{60};
constexpr std::chrono::milliseconds kLastWords{3000};
constexpr std::chrono::milliseconds kBeforeRefill{20};
constexpr uint64_t kTmpBytes = 256u << 20;

Result<std::string> random_name() {
  unsigned char raw[16];
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
  return hex(raw);
}

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
  if (workspace_.empty()) return;
  std::error_code ignored;
  // After the last process that could write to it. By descriptors: links are removed, not followed.
  std::filesystem::remove_all(workspace_, ignored);
}

std::string ForkedCell::last_words() const {
  return out_of_memory() ? "the memory limit was reached" : "its processes were killed";
}

Zygote::Zygote(Loop& loop, std::string workspaces)
    : loop_(loop), workspaces_(std::move(workspaces)), ready_(loop) {}

Task<Result<std::shared_ptr<Zygote>>> Zygote::start(Loop& loop, CellStart start,
                                                    std::string workspaces) {
  auto zygote = std::make_shared<Zygote>(loop, std::move(workspaces));
  Result<UniqueFd> filter = standard_filter();
  if (!filter) co_return filter.error();
  zygote->filter_ = std::move(*filter);
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  start.descriptors.insert(start.descriptors.begin(), std::move(sockets->theirs));
  Result<std::shared_ptr<CellProcess>> cell = CellProcess::start(loop, std::move(start));
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
  reserve_.reset();
  if (was_ready) cell_->kill();  // one that never was is about to say why
}

void Zygote::kill() {
  reserve_.reset();
  if (channel_) channel_->close();
  if (cell_) cell_->kill();
}

Result<Fork> Zygote::order_fork(const ForkLimits& limits) {
  Fork fork;
  fork.limits = limits;
  fork.cell = TRY(ForkedCell::make(limits));
  std::vector<UniqueFd> joins = TRY(fork.cell->join_fds());
  std::string name = TRY(random_name());
  fork.workspace = fmt::format("{}/{}", workspaces_, name);
  if (::mkdir(fork.workspace.c_str(), 0700) != 0) return Error::system("make a workspace");
  fork.cell->own_workspace(fork.workspace);
  SocketPair sockets = TRY(make_control_sockets());
  fork.lane = std::make_shared<Lane>(loop_, std::move(sockets.ours), LaneOptions{});
  fork.lane->listen();
  json::object confine{{"workspace", name}, {"tmp_bytes", kTmpBytes}, {"joins", joins.size()}};
  json::object order{{"confine", std::move(confine)}};
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets.theirs));
  descriptors.emplace_back(::fcntl(filter_.get(), F_DUPFD_CLOEXEC, 3));
  for (UniqueFd& one : joins) descriptors.push_back(std::move(one));
  // NEW has the number that START has on a session's own socket.
  TRY(channel_->send(FrameType::kStart, ++requests_, "", json::serialize(order),
                     std::move(descriptors)));
  return fork;
}

Task<Result<Fork>> Zygote::make_fork(std::shared_ptr<Zygote> self, ForkLimits limits) {
  Result<Fork> fork = self->order_fork(limits);
  if (!fork) co_return fork.error();
  Result<void> confined = co_await fork->lane->await_confined();
  if (!confined) co_return confined.error();
  co_return std::move(*fork);
}

Task<Result<Fork>> Zygote::fork(std::shared_ptr<Zygote> self, ForkLimits limits) {
  std::optional<Fork> ready;
  if (self->reserve_ && self->reserve_->limits == limits && self->reserve_->lane->alive())
    ready.swap(self->reserve_);
  if (!self->filling_ && !self->reserve_) {
    self->filling_ = true;
    spawn(self->loop_, fill_reserve(self, limits));
  }
  if (ready) co_return std::move(*ready);
  co_return co_await make_fork(self, limits);
}

Task<> Zygote::fill_reserve(std::shared_ptr<Zygote> self, ForkLimits limits) {
  // Behind the first call of the session that was just asked for: making the next one takes as long
  // as that call.
  LoopTimer pause(self->loop_.get_executor());
  pause.expires_after(kBeforeRefill);
  boost::system::error_code ignored;
  co_await pause.async_wait(boost::asio::redirect_error(kAwait, ignored));
  Result<Fork> fork = co_await make_fork(self, limits);
  self->filling_ = false;
  if (fork && self->alive()) self->reserve_ = std::move(*fork);
}

}  // namespace caisson::session
