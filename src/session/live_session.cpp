#include "session/live_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "session/snapshot_file.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds kMostTimeout = std::chrono::hours(24);
constexpr size_t kMostCode = 64u << 20;
// Reading a variable back or taking a file in has its own measure: it is not user code's to stretch
// without end, and a large file takes its time.
constexpr std::chrono::milliseconds kDataTimeout = std::chrono::minutes(2);
constexpr std::chrono::milliseconds kLastWords{3000};

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (!found || !found->is_string()) return {};
  return printable(std::string_view(found->get_string()).substr(0, 200));
}

}  // namespace

LiveSession::LiveSession(Loop& loop, SessionFacts facts, std::shared_ptr<Hold> cell,
                         std::shared_ptr<Lane> lane)
    : loop_(loop), facts_(std::move(facts)), cell_(std::move(cell)), lane_(std::move(lane)) {}

SessionInfo LiveSession::info() const {
  SessionInfo info = facts_.info;
  info.alive = lane_->alive();
  info.busy = lane_->busy();
  return info;
}

void LiveSession::note(std::string text) { facts_.info.notes.push_back(std::move(text)); }

void LiveSession::greeted(const json::object& hello) {
  facts_.info.python = text_of(hello, "python");
  facts_.info.shell = text_of(hello, "shell");
}

Error LiveSession::ended() const {
  return Error::plain(
      fmt::format("session {} has ended: {}", facts_.info.name, printable(lane_->why_ended())),
      "make a new one of that name; a snapshot of it can be taken up");
}

Task<Result<CallAnswer>> LiveSession::run(Call call) {
  if (!lane_->alive()) co_return ended();
  // Held here: a session that is ended meanwhile must not take its cell from under the call.
  std::shared_ptr<Lane> lane = lane_;
  std::shared_ptr<Hold> cell = cell_;
  call.timeout = std::clamp(call.timeout, std::chrono::milliseconds{0}, kMostTimeout);
  Result<CallAnswer> answer = co_await lane->call(std::move(call));
  ++facts_.info.calls;
  if (!answer || answer->status != "lost") co_return answer;
  // The supervisor knows more than the end of a socket tells: a memory limit, say.
  co_await cell->ended(kLastWords);
  if (!cell->alive()) answer->notes.push_back(cell_error("its cell", cell->last_words()).what);
  co_return answer;
}

Task<Result<CallAnswer>> LiveSession::call(FrameType type, json::object body,
                                           std::vector<UniqueFd> descriptors) {
  Call call{type, json::serialize(body), std::move(descriptors), kDataTimeout, nullptr};
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::exec(ExecRequest request) {
  if (!lane_->alive()) co_return ended();
  if (request.code.size() > kMostCode)
    co_return Error::plain("code of more than 64 MiB", "pass data by set or load");
  Result<std::shared_ptr<CallOutput>> output =
      CallOutput::make(loop_, facts_.output_bytes, std::move(request.on_output));
  if (!output) co_return output.error();
  Call call{FrameType::kExec, std::move(request.code), (*output)->take_writers(),
            request.timeout.value_or(facts_.call_timeout), *output};
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::vars(uint32_t limit) {
  json::object body{{"limit", limit}};
  co_return co_await call(FrameType::kVars, std::move(body));
}

Task<Result<CallAnswer>> LiveSession::get(std::string name, uint64_t max_bytes) {
  json::object body{{"name", name}, {"max_bytes", max_bytes}};
  co_return co_await call(FrameType::kGet, std::move(body));
}

Task<Result<CallAnswer>> LiveSession::evaluate(std::string expression, uint64_t max_bytes) {
  json::object body{{"expression", expression}, {"max_bytes", max_bytes}};
  Call call{FrameType::kGet, json::serialize(body), {}, facts_.call_timeout, nullptr};
  co_return co_await run(std::move(call));
}

Task<Result<CallAnswer>> LiveSession::set(std::string name, std::string kind, std::string bytes) {
  Result<UniqueFd> sealed = sealed_memfd("caisson-set", bytes);
  if (!sealed) co_return sealed.error();
  bytes = std::string();  // the copy in the memfd is enough
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(*sealed));
  json::object body{{"name", name}, {"kind", kind}};
  co_return co_await call(FrameType::kSet, std::move(body), std::move(descriptors));
}

Task<Result<CallAnswer>> LiveSession::load(std::string path, std::string name, std::string as) {
  // Made anew each time: a folder of keys that came to be since is one, too.
  LoadRules rules(facts_.home, facts_.deny_load);
  LoadBounds bounds{.bytes = facts_.memory_bytes / 2};
  Result<LoadedFiles> files = open_for_load(rules, path, facts_.info.workspace, bounds);
  if (!files) co_return files.error();
  CallAnswer last;
  json::array loaded;
  bool first = true;
  for (LoadedFile& file : files->files) {
    json::object body{
        {"name", name}, {"filename", file.filename}, {"as", as.empty() ? "auto" : as}};
    if (files->is_many) {
      body["key"] = file.key;
      body["first"] = first;
    }
    first = false;
    std::vector<UniqueFd> descriptors;
    descriptors.push_back(std::move(file.bytes));
    Result<CallAnswer> answer =
        co_await call(FrameType::kLoad, std::move(body), std::move(descriptors));
    if (!answer || !answer->ok()) co_return answer;
    last = std::move(*answer);
    loaded.push_back(json::string(file.key));
  }
  if (files->is_many) last.result["keys"] = std::move(loaded);
  for (std::string& one : files->left_out) last.notes.push_back("left out: " + one);
  co_return last;
}

Task<Result<json::object>> LiveSession::reset() {
  if (!lane_->alive()) co_return ended();
  ++facts_.info.calls;
  co_return co_await lane_->order(FrameType::kReset, json::object());
}
Task<Result<json::object>> LiveSession::checkpoint(std::string name) {
  if (!lane_->alive()) co_return ended();
  json::object body{{"name", name}};
  co_return co_await lane_->order(FrameType::kCheckpoint, std::move(body));
}
Task<Result<json::object>> LiveSession::restore(std::string name) {
  if (!lane_->alive()) co_return ended();
  ++facts_.info.calls;
  json::object body{{"name", name}};
  co_return co_await lane_->order(FrameType::kRestore, std::move(body));
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

Task<Result<CallAnswer>> LiveSession::save(std::string path) {
  // The cell writes into memory that is charged to it, never into a file of the host's.
  UniqueFd memory{::memfd_create("caisson-snapshot", MFD_CLOEXEC)};
  if (!memory) co_return Error::system("make a memfd");
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 3));
  json::object body{{"max_bytes", kMostSnapshot}};
  Result<CallAnswer> answer =
      co_await call(FrameType::kSave, std::move(body), std::move(descriptors));
  if (!answer || !answer->ok()) co_return answer;
  Result<void> kept = write_snapshot(path, memory.get());
  if (!kept) co_return kept.error();
  saved_at_call_ = facts_.info.calls;
  co_return answer;
}

Task<Result<CallAnswer>> LiveSession::unsave(std::string path) {
  Result<UniqueFd> bytes = read_snapshot(path);
  if (!bytes) co_return bytes.error();
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(*bytes));
  co_return co_await call(FrameType::kUnsave, json::object(), std::move(descriptors));
}

void LiveSession::interrupt() { lane_->interrupt(); }

Task<Result<std::shared_ptr<LiveSession>>> LiveSession::branch(std::string new_name,
                                                               std::string from,
                                                               LaneOptions options) {
  if (!lane_->alive()) co_return ended();
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  auto lane = std::make_shared<Lane>(loop_, std::move(sockets->ours), std::move(options));
  lane->listen();
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
  facts.info.parent = facts_.info.name;
  facts.info.name = new_name;
  facts.info.calls = 0;
  facts.info.created_unix = ::time(nullptr);
  auto made = std::make_shared<LiveSession>(loop_, std::move(facts), cell_, lane);
  made->greeted(*hello);
  co_return made;
}

void LiveSession::close(std::string why) { lane_->close(std::move(why)); }

void LiveSession::kill() {
  lane_->close("it was ended");
  cell_->kill();
}

}  // namespace caisson::session
