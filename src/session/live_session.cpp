#include "session/live_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

#include "base/control.h"
#include "base/text.h"
#include "session/cell_words.h"
#include "session/load_tally.h"
#include "session/snapshot_file.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds kMostTimeout = std::chrono::hours(24);
constexpr size_t kMostCode = 64u << 20;
// Taking a file in has its own measure: a large one takes its time.
constexpr std::chrono::milliseconds kDataTimeout = std::chrono::minutes(2);
constexpr std::chrono::milliseconds kLastWords{3000};
// For each variable that is saved, and for all together.
struct SaveTime {
  std::chrono::milliseconds each, all;
};
constexpr SaveTime kSave{std::chrono::seconds(10), std::chrono::seconds(45)};
constexpr SaveTime kSaveAtEnd{std::chrono::seconds(3), std::chrono::seconds(10)};
// Beside that: for the file, which is put together when its parts are there (15 s at most), and for
// the answer.
constexpr std::chrono::milliseconds kSavePatience{30000};
constexpr uint64_t kMostSnapshotHeader = 16 << 20;
constexpr size_t kFeedFrom = 1 << 20;  // less is not worth the wake-ups

// Of the JSON of a value of so many characters: one takes up to six bytes, as \u0000.
uint64_t answer_for(uint64_t max_bytes) {
  constexpr uint64_t kMostValue = 64u << 20, kAround = 1u << 20;
  return 6 * std::min(max_bytes, kMostValue) + kAround;
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (!found || !found->is_string()) return {};
  return printable(std::string_view(found->get_string()).substr(0, 200));
}

// Reading back leaves the state as it is, as far as the host can tell; what is taken up is in a
// snapshot.
bool may_change(FrameType type) {
  return type != FrameType::kSave && type != FrameType::kVars && type != FrameType::kUnsave;
}

}  // namespace

bool gave_way(const CallAnswer& answer) {
  const json::value* error = answer.result.if_contains("error");
  return error && error->is_object() && text_of(error->get_object(), "type") == "GaveWay";
}

LiveSession::LiveSession(Loop& loop, SessionFacts facts, std::shared_ptr<Hold> cell,
                         std::shared_ptr<Lane> lane)
    : loop_(loop),
      facts_(std::move(facts)),
      cell_(std::move(cell)),
      lane_(std::move(lane)),
      saving_(loop) {}

SessionInfo LiveSession::info() const {
  SessionInfo info = facts_.info;
  info.alive = lane_->alive();
  info.busy = lane_->busy();
  return info;
}

void LiveSession::note(std::string text) { facts_.info.notes.push_back(std::move(text)); }

void LiveSession::note_loss(std::string text) {
  facts_.info.losses.push_back(text);
  note(std::move(text));
}

void LiveSession::greeted(const json::object& hello) {
  facts_.info.python = text_of(hello, "python");
  facts_.info.shell = text_of(hello, "shell");
  // Where its files are hangs on it, and what load may follow: a cell that wasn't told to have
  // layers has none, whatever its keeper says (an interpreter of the workspace's own, say).
  const json::value* layers = hello.if_contains("layers");
  bool asked = facts_.asked_for_layers || !control_enabled("session-hello-layers");
  facts_.info.layered = asked && layers && layers->is_bool() && layers->get_bool();
}

Error LiveSession::ended() const {
  return Error::plain(
      fmt::format("session {} has ended: {}", facts_.info.name, printable(lane_->why_ended())),
      ::access(facts_.snapshot.c_str(), F_OK) == 0
          ? "make a new one of that name; a snapshot of it can be taken up"
          : "make a new one of that name; there is no snapshot of it");
}

Task<Result<CallAnswer>> LiveSession::run(Call call) {
  if (!lane_->alive()) co_return ended();
  // Held here: a session that is ended meanwhile must not take its cell from under the call.
  std::shared_ptr<Lane> lane = lane_;
  std::shared_ptr<Hold> cell = cell_;
  call.timeout = std::clamp(call.timeout, std::chrono::milliseconds{0}, kMostTimeout);
  bool changes = may_change(call.type);
  if (changes) facts_.mark->begin();
  Result<CallAnswer> answer = co_await lane->call(std::move(call));
  if (changes) facts_.mark->finish();
  ++facts_.info.calls;
  if (facts_.after_call) facts_.after_call(facts_.info.name);
  if (answer && answer->status == "killed")
    co_await explain_kill(cell, facts_.memory_limit, *answer);
  if (!answer || answer->status != "lost") co_return answer;
  // The supervisor knows more than the end of a socket tells: a memory limit, say.
  co_await cell->ended(kLastWords);
  if (!cell->alive()) answer->notes.push_back(cell_error("its cell", cell->last_words()).what);
  co_return answer;
}

// Signal 9 alone says nothing to whoever wanted an array: the count of the cgroup tells who sent
// it.
Task<> LiveSession::explain_kill(std::shared_ptr<Hold> cell, std::string limit,
                                 CallAnswer& answer) {
  const json::value* signal = answer.ended.if_contains("signal");
  if (!signal || !signal->is_int64() || signal->get_int64() != SIGKILL) co_return;
  std::optional<bool> ran_out = co_await cell->ran_out_of_memory();
  constexpr std::string_view kWayOut = "a session made with a higher `--memory` has more";
  if (!ran_out)
    answer.notes.push_back(
        fmt::format("signal 9 is also how the kernel ends what needs more than the memory limit, "
                    "which is {}: {}",
                    limit, kWayOut));
  else if (*ran_out)
    answer.notes.push_back(fmt::format("the memory limit of {} was reached: {}", limit, kWayOut));
}

Task<Result<CallAnswer>> LiveSession::call(FrameType type, json::object body,
                                           std::vector<UniqueFd> descriptors) {
  Call call{type, json::serialize(body), std::move(descriptors), kDataTimeout, nullptr, nullptr};
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::lend(FrameType type, json::object body, UniqueFd memory,
                                           std::chrono::milliseconds time, LaneTurn turn) {
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 3));
  Call call{type, json::serialize(body), std::move(descriptors), time, nullptr, nullptr};
  call.turn = turn;
  Result<CallAnswer> answer = co_await run(std::move(call));
  if (answer && type == FrameType::kSet)
    if (std::string reading = told_reading(answer->result); !reading.empty())
      answer->notes.push_back(std::move(reading));
  boost::asio::post(loop_, [lent = std::move(memory)] { take_back(lent); });
  co_return answer;
}

Task<Result<CallAnswer>> LiveSession::exec(ExecRequest request) {
  if (!lane_->alive()) co_return ended();
  if (request.code.size() > kMostCode)
    co_return Error::plain("code of more than 64 MiB", "pass data by set or load");
  Result<OutputPipes> pipes = facts_.pipes->take();
  if (!pipes) co_return pipes.error();
  auto output = std::make_shared<CallOutput>(loop_, std::move(*pipes), facts_.output_bytes,
                                             std::move(request.on_output));
  boost::asio::post(loop_, [ahead = facts_.pipes] { ahead->refill(); });
  Call call{FrameType::kExec,
            std::move(request.code),
            output->take_writers(),
            request.timeout.value_or(facts_.call_timeout),
            output,
            nullptr};
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::vars(uint32_t limit) {
  json::object body{{"limit", limit}};
  co_return co_await call(FrameType::kVars, std::move(body));
}

Task<Result<CallAnswer>> LiveSession::get(std::string name, uint64_t max_bytes) {
  json::object body{{"name", name}, {"max_bytes", max_bytes}};
  // Like any call: a variable of the user's own type says itself how it reads.
  Call call{FrameType::kGet, json::serialize(body), {}, facts_.call_timeout, nullptr, nullptr};
  call.most_answer = answer_for(max_bytes);
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::evaluate(std::string expression, uint64_t max_bytes) {
  json::object body{{"expression", expression}, {"max_bytes", max_bytes}};
  Call call{FrameType::kGet, json::serialize(body), {}, facts_.call_timeout, nullptr, nullptr};
  call.most_answer = answer_for(max_bytes);
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::set(std::string name, std::string kind, std::string bytes) {
  json::object body{{"name", name}, {"kind", kind}};
  std::vector<UniqueFd> descriptors;
  if (kind == "bytes" && bytes.size() >= kFeedFrom) {
    body["size"] = bytes.size();
    Result<std::shared_ptr<Feed>> feed = Feed::make(loop_, std::move(bytes));
    if (!feed) co_return feed.error();
    descriptors.push_back((*feed)->take_reader());
    Call call{FrameType::kSet,
              json::serialize(body),
              std::move(descriptors),
              kDataTimeout,
              nullptr,
              *feed};
    co_return co_await run(std::move(call));
  }
  Result<UniqueFd> lent = lent_memfd("caisson-set", bytes);
  if (!lent) co_return lent.error();
  bytes = std::string();  // the copy in the memfd is enough
  co_return co_await lend(FrameType::kSet, std::move(body), std::move(*lent), kDataTimeout);
}

Task<Result<CallAnswer>> LiveSession::set_lent(std::string name, std::string kind, UniqueFd bytes) {
  json::object body{{"name", name}, {"kind", kind}};
  co_return co_await lend(FrameType::kSet, std::move(body), std::move(bytes), kDataTimeout);
}

// What of the host's files is the cell's to change. For a branch the folder of all of them: its own
// can be put elsewhere, and a link left in its place.
std::string LiveSession::files_folder() const {
  bool is_branch = facts_.info.layered && !facts_.info.parent.empty();
  return is_branch ? facts_.room + "/layers" : facts_.info.workspace;
}

Task<Result<CallAnswer>> LiveSession::load(std::string path, std::string name, LoadAs how) {
  if (!lane_->alive()) co_return ended();
  // The copies are memory of the host's (load_budget.h). They are not made for a session that is
  // busy, nor are they held by one that takes its time over each of many.
  std::shared_ptr<Lane> lane = lane_;
  Turns::Ticket turn = co_await lane->take_turn();
  if (!lane->alive()) co_return ended();
  uint64_t interrupts = interrupts_;  // there may be no call of the lane's to stop, just then
  Result<LoadedFiles> files =
      co_await facts_.maker->load(path, files_folder(), facts_.memory_bytes);
  if (!files) co_return files.error();
  LoadTally tally(*files);
  auto deadline = SteadyClock::now() + kDataTimeout;
  for (LoadedFile& file : files->files) {
    if (interrupts != interrupts_) {
      tally.stopped();
      break;
    }
    json::object body{
        {"name", name}, {"filename", file.filename}, {"as", how.kind.empty() ? "auto" : how.kind}};
    if (!how.encoding.empty()) body["encoding"] = how.encoding;
    if (files->is_many) {
      body["key"] = file.key;
      body["first"] = tally.nothing_yet();
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    Result<CallAnswer> answer =
        co_await lend(FrameType::kLoad, std::move(body), std::move(file.bytes),
                      std::max(left, std::chrono::milliseconds{1}), LaneTurn::kHeld);
    if (!answer) co_return answer;
    if (!tally.add(file.key, std::move(*answer))) break;
  }
  co_return tally.sum();
}

Task<Result<json::object>> LiveSession::reset() {
  if (!lane_->alive()) co_return ended();
  ++facts_.info.calls;
  ++resets_;
  Result<json::object> done = co_await lane_->order(FrameType::kReset, json::object());
  // At once, and not with the next save: there may be none.
  if (done && control_enabled("session-reset")) ::unlink(facts_.snapshot.c_str());
  if (done) facts_.mark->saved(facts_.mark->seen());  // that there is nothing is known without one
  co_return done;
}
Task<Result<json::object>> LiveSession::checkpoint(std::string name) {
  if (!lane_->alive()) co_return ended();
  // What can't be part of a path could neither be restored nor dropped by its name.
  if (Result<void> fits = check_name(name, "checkpoint"); !fits) co_return fits.error();
  json::object body{{"name", name}};
  co_return co_await lane_->order(FrameType::kCheckpoint, std::move(body));
}
Task<Result<json::object>> LiveSession::restore(std::string name) {
  if (!lane_->alive()) co_return ended();
  ++facts_.info.calls;
  json::object body{{"name", name}};
  facts_.mark->begin();
  Result<json::object> done = co_await lane_->order(FrameType::kRestore, std::move(body));
  facts_.mark->finish();
  if (facts_.after_call) facts_.after_call(facts_.info.name);
  co_return done;
}
Task<Result<json::object>> LiveSession::drop(std::string name) {
  if (!lane_->alive()) co_return ended();
  json::object body{{"name", name}};
  co_return co_await lane_->order(FrameType::kDrop, std::move(body));
}
Task<Result<json::object>> LiveSession::checkpoints() {
  if (!lane_->alive()) co_return ended();
  co_return co_await lane_->order(FrameType::kCheckpoints, json::object());
}

// Within it each variable has its time, and all together (saving.py): what is larger or takes
// longer is left out by name.
Result<Call> LiveSession::call_to_save(SaveReason reason, const UniqueFd& memory,
                                       uint64_t most_bytes) {
  auto [each, all] = reason == SaveReason::kAtEnd ? kSaveAtEnd : kSave;
  json::object body{{"max_bytes", most_bytes - kMostSnapshotHeader},
                    {"ms_each", each.count()},
                    {"ms", all.count()},
                    {"again", reason == SaveReason::kAsked}};
  Call call{FrameType::kSave, json::serialize(body), {}, all + kSavePatience, nullptr, nullptr};
  call.descriptors.emplace_back(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 3));
  if (reason != SaveReason::kByItself) return call;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::system("make a pipe");
  call.descriptors.emplace_back(ends[0]);
  way_.reset(ends[1]);
  call.give_way = [this] { way_.reset(); };
  return call;
}

Task<Result<CallAnswer>> LiveSession::save_for(SaveReason reason, std::string path,
                                               uint64_t most_bytes) {
  if (reason != SaveReason::kByItself) way_.reset();
  // One after the other: an older state must not take the place of a newer one.
  Turns::Ticket turn = co_await saving_.take();
  uint64_t resets = resets_;
  // The cell writes into memory that is charged to it, never into a file of the host's.
  UniqueFd memory{::memfd_create("caisson-snapshot", MFD_CLOEXEC)};
  if (!memory) co_return Error::system("make a memfd");
  Result<Call> call = call_to_save(reason, memory, most_bytes);
  if (!call) co_return call.error();
  Result<CallAnswer> answer = co_await run(std::move(*call));
  way_.reset();
  std::optional<uint64_t> seen = facts_.mark->seen();
  if (!answer || !answer->ok()) {
    if (lane_->alive() && !(answer && gave_way(*answer)))
      facts_.mark->explain("no snapshot could be made of it");
    co_return answer;
  }
  uint64_t calls = facts_.info.calls;
  SnapshotTarget target{path, std::min(most_bytes, facts_.memory_bytes), nullptr};
  target.is_wanted = [this, resets] { return resets == resets_; };
  Result<void> kept = co_await write_snapshot(loop_, std::move(target), std::move(memory));
  if (!kept) {
    if (lane_->alive()) facts_.mark->explain(kept.error().what);
    co_return kept.error();
  }
  if (path != facts_.snapshot) co_return answer;
  saved_at_call_ = calls;
  facts_.mark->saved(seen);
  co_return answer;
}

Task<Result<CallAnswer>> LiveSession::unsave(std::string path) {
  facts_.mark->begin();
  Result<CallAnswer> answer = co_await unsave_within(std::move(path), kDataTimeout);
  facts_.mark->finish();
  co_return answer;
}

Task<Result<CallAnswer>> LiveSession::unsave_within(std::string path,
                                                    std::chrono::milliseconds time) {
  Result<UniqueFd> bytes = co_await read_snapshot(loop_, path);
  if (!bytes) co_return bytes.error();
  co_return co_await lend(FrameType::kUnsave, json::object(), std::move(*bytes), time);
}

void LiveSession::interrupt() {
  ++interrupts_;
  lane_->interrupt();
}

Task<Result<std::shared_ptr<LiveSession>>> LiveSession::branch(std::string new_name,
                                                               std::string from,
                                                               LaneOptions options) {
  if (!lane_->alive()) co_return ended();
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  auto lane = std::make_shared<Lane>(loop_, std::move(sockets->ours), std::move(options));
  lane->listen();
  if (lane_->is_direct()) lane->offer_nonces();
  json::object body{{"name", new_name}};
  if (!from.empty()) body["from"] = from;
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets->theirs));
  Result<json::object> done =
      co_await lane_->order(FrameType::kBranch, std::move(body), std::move(descriptors));
  if (!done) co_return done.error();
  Result<json::object> hello = co_await lane->await_hello();
  if (!hello) co_return hello.error();
  SessionFacts facts = facts_;
  facts.private_workspace.clear();  // its parent's
  if (facts.info.layered) {
    facts.info.inside = "/branches/" + new_name;
    facts.info.workspace = fmt::format("{}/layers/{}", facts.room, new_name);
  }
  facts.info.parent = facts_.info.name;
  facts.info.name = new_name;
  size_t slash = facts_.snapshot.rfind('/');
  facts.snapshot = fmt::format("{}/{}.snapshot", facts_.snapshot.substr(0, slash), new_name);
  facts.mark = std::make_shared<StateMark>(
      loop_, facts_.mark->path().empty() ? std::string() : mark_path(facts.snapshot));
  facts.info.calls = 0;
  facts.info.notes.clear();
  facts.info.losses.clear();
  facts.info.created_unix = ::time(nullptr);
  auto made = std::make_shared<LiveSession>(loop_, std::move(facts), cell_, lane);
  made->greeted(*hello);
  if (const json::value* entry = done->if_contains("checkpoint"); entry && entry->is_object())
    if (std::string lost = not_kept(entry->get_object()); !lost.empty()) made->note(lost);
  // Nothing of it is saved yet.
  made->facts_.mark->begin();
  made->facts_.mark->finish();
  made->saved_at_call_ = UINT64_MAX;
  co_return made;
}

void LiveSession::close(std::string why) {
  ++resets_;  // a snapshot that is being written comes too late
  lane_->end(std::move(why));
}

void LiveSession::kill() {
  ++resets_;
  lane_->close("it was ended");
  cell_->kill();
}

}  // namespace caisson::session
