#include "session/session_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>

#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/kernel_bundle.h"
#include "session/kernel_mutants.h"
#include "session/live_session.h"
#include "session/rooms.h"
#include "session/snapshot_file.h"
#include "session/zygote.h"

namespace caisson::session {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMostSessions = 4096;
constexpr std::chrono::milliseconds kHostLastWords{3000};  // for a cell that ends to say why
constexpr std::chrono::seconds kTakeUpPatience{30};        // for a snapshot, whose code runs inside

// A session takes about seven descriptors; the usual soft limit of 1,024 would end at 140 of them.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::string> default_state_folder(const std::string& home) {
  const char* given = ::getenv("XDG_STATE_HOME");
  std::string top = given && *given == '/' ? given : home + "/.local/state";
  if (!top.starts_with('/')) return Error::plain("sessions: no home folder to keep state in");
  std::error_code failed;
  fs::create_directories(top + "/caisson", failed);
  if (failed) return Error::plain(fmt::format("make {}/caisson: {}", top, failed.message()));
  return top + "/caisson/sessions";
}

json::object start_options(const SessionSpec& spec, bool layers) {
  json::array functions, final;
  for (const HostFunction& one : spec.functions) {
    json::object entry{{"name", one.name}, {"doc", one.doc}};
    if (one.batch) entry["batch"] = one.name + "_batched";
    functions.push_back(std::move(entry));
  }
  for (const std::string& name : spec.final_names) final.push_back(json::string(name));
  return {{"functions", std::move(functions)},
          {"final", std::move(final)},
          {"ipython", spec.ipython},
          // Functions of the host are told by the keeper whose call they belong to.
          {"direct", spec.functions.empty()},
          {"layers", layers}};
}

// A cell of its own has its files where they are to be found again.
bool has_files_to_keep(const SessionFacts& facts, bool is_branch) {
  const SessionInfo& info = facts.info;
  return !facts.room.empty() && (is_branch ? info.layered : info.cell == "zygote");
}

// As its cell has it: what the policy says wins.
std::string memory_limit(const SessionSpec& spec) {
  std::string limit = fmt::format("{} MiB", spec.memory_bytes >> 20);
  const std::vector<std::string>& words = spec.policy_words;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--memory=")) limit = words[i].substr(9);
    if (words[i] == "--memory" && i + 1 < words.size()) limit = words[i + 1];
  }
  return printable(limit);
}

void tell_loss(SessionFacts& facts, std::string text) {
  facts.info.losses.push_back(text);
  facts.info.notes.push_back(std::move(text));
}

// All of a host, shared with the coroutines that work for it: they may outlive it for a moment.
class Core {
 public:
  Core(Loop& loop, SessionHostOptions options, UniqueFd kernel)
      : loop_(loop), options_(std::move(options)), kernel_(std::move(kernel)), zygote_turn_(loop) {
    if (!options_.maker) options_.maker = std::make_shared<LocalMaker>(loop, options_);
  }
  using Self = std::shared_ptr<Core>;

  static Task<Result<std::shared_ptr<Session>>> create(Self, SessionSpec);
  static Task<Result<std::shared_ptr<Session>>> branch(Self, std::string session,
                                                       std::string new_name, std::string from);
  static Task<Result<void>> end(Self, std::string name, bool save_first);
  static Task<> autosave(std::weak_ptr<Core>, Loop&, std::chrono::seconds every);
  static void after_call(Self, const std::string& name);

  std::shared_ptr<LiveSession> find(std::string_view name) const;
  std::vector<SessionInfo> list() const;
  void kill_all();
  void discard_all();

 private:
  Result<void> reserve(const std::string& name);
  std::string workspace_for(const SessionSpec&, SessionFacts&) const;
  static LaneOptions lane_options(const SessionSpec&, const std::shared_ptr<Hold>&);
  // A lane that waits for its START, in what holds it.
  struct Place {
    std::shared_ptr<Lane> lane;
    std::shared_ptr<Hold> hold;
    std::shared_ptr<TakenUp> taken;  // until it is one of the sessions
  };
  static Task<Result<Place>> own_cell(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<Place>> fork_of_zygote(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<Place>> place_for(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<std::shared_ptr<Zygote>>> zygote_for(Self, const SessionSpec&);
  UniqueFd kernel() const { return UniqueFd(::fcntl(kernel_.get(), F_DUPFD_CLOEXEC, 3)); }
  static Task<Result<std::shared_ptr<LiveSession>>> make_session(Self, SessionSpec);
  // `lost`: what is newer than its snapshot (state_mark.h).
  static Task<> take_up(Self, std::shared_ptr<LiveSession>, std::string lost);
  std::string snapshot_path(const std::string& name) const {
    return fmt::format("{}/{}.snapshot", own_folder(options_.state_folder), name);
  }
  bool saves_by_itself() const {
    return options_.autosave.count() > 0 || options_.idle_save.count() > 0;
  }
  Result<void> drop_workspace(const SessionFacts&);
  void keep_files(const SessionFacts&, bool is_branch);
  static Task<> save_when_idle(std::weak_ptr<Core>, Loop&, std::string name);

  Loop& loop_;
  SessionHostOptions options_;
  UniqueFd kernel_;
  std::shared_ptr<PipesAhead> pipes_ = std::make_shared<PipesAhead>();
  std::map<std::string, std::shared_ptr<LiveSession>, std::less<>> sessions_;
  std::map<std::string, SessionSpec, std::less<>> specs_;  // of cells, for the lanes of branches
  std::set<std::string> coming_;
  Turns zygote_turn_;  // one is started at a time
  std::map<std::string, std::shared_ptr<Zygote>> zygotes_;
  std::map<std::string, std::string> without_zygote_;  // why there can be none
  std::set<std::string> to_save_;                      // sessions that wait to be idle
  bool ended_ = false, discarded_ = false;
};

Result<void> Core::reserve(const std::string& name) {
  TRY(check_name(name));
  auto there = sessions_.find(name);
  if (coming_.contains(name) || (there != sessions_.end() && there->second->info().alive))
    return Error::plain(fmt::format("there is a session {} already", name),
                        "choose another name, or end that one first");
  if (sessions_.size() + coming_.size() >= kMostSessions)
    return Error::plain("too many sessions", "end some first");
  coming_.insert(name);
  return {};
}

std::string Core::workspace_for(const SessionSpec& spec, SessionFacts& facts) const {
  if (!spec.workspace.empty()) return spec.workspace;
  facts.room = room_folder(options_, spec.name);
  return facts.private_workspace = workspace_folder(options_, spec.name);
}

LaneOptions Core::lane_options(const SessionSpec& spec, const std::shared_ptr<Hold>& hold) {
  return {spec.functions, spec.host_calls, [weak = std::weak_ptr<Hold>(hold)] {
            if (std::shared_ptr<Hold> held = weak.lock()) held->kill();
          }};
}

Task<Result<Core::Place>> Core::own_cell(Self self, const SessionSpec& spec, SessionFacts& facts) {
  facts.info.cell = "own";
  facts.info.workspace = self->workspace_for(spec, facts);
  if (spec.take_up_snapshot && spec.workspace.empty()) {
    Result<bool> files = co_await self->options_.maker->take_up_workspace(facts.room, spec.name);
    facts.info.files_are_back = files && *files;
    if (!files) tell_loss(facts, "not all files of the workspace are back: " + files.error().what);
  }
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(sockets->theirs));
  descriptors.push_back(self->kernel());
  Result<std::shared_ptr<Hold>> cell =
      self->options_.maker->start_cell(CellKind::kOwn, spec, std::move(descriptors));
  if (!cell) co_return cell.error();
  auto lane = std::make_shared<Lane>(self->loop_, std::move(sockets->ours), LaneOptions{});
  lane->listen();
  co_return Place{lane, *cell, nullptr};
}

Task<Result<std::shared_ptr<Zygote>>> Core::zygote_for(Self self, const SessionSpec& spec) {
  std::string key = zygote_key(spec);
  Turns::Ticket turn = co_await self->zygote_turn_.take();
  if (auto found = self->zygotes_.find(key); found != self->zygotes_.end()) {
    if (found->second->alive()) co_return found->second;
    self->zygotes_.erase(found);
  }
  if (auto why = self->without_zygote_.find(key); why != self->without_zygote_.end())
    co_return Error::plain(why->second);
  Result<std::shared_ptr<Zygote>> zygote = co_await Zygote::start(
      self->loop_, self->options_.maker, spec, self->kernel(), forks_folder(self->options_));
  if (!zygote) {
    self->without_zygote_[key] = zygote.error().what;
    co_return zygote.error();
  }
  if (self->ended_) {
    (*zygote)->kill();
    co_return Error::plain("the host of the sessions has ended");
  }
  self->zygotes_[key] = *zygote;
  co_return *zygote;
}

Task<Result<Core::Place>> Core::fork_of_zygote(Self self, const SessionSpec& spec,
                                               SessionFacts& facts) {
  Result<std::shared_ptr<Zygote>> zygote = co_await zygote_for(self, spec);
  if (!zygote) co_return zygote.error();
  ForkLimits limits{spec.memory_bytes, spec.cpu_millis, spec.pids};
  std::string take_up = spec.take_up_snapshot ? spec.name : std::string();
  Result<Fork> fork = co_await Zygote::fork(*zygote, limits, take_up);
  if (!fork) co_return fork.error();
  if (!fork->not_taken_up.empty())
    tell_loss(facts, "the files of the workspace are not back: " + fork->not_taken_up);
  else if (fork->taken)
    facts.info.notes.push_back("the files of the workspace are back");
  facts.info.files_are_back = fork->taken && fork->not_taken_up.empty();
  facts.info.cell = "zygote";
  facts.room = fork->room;
  facts.info.workspace = fork->room + "/files";
  if (Result<void> noted = self->options_.maker->note_session(fork->room, spec.name, false); !noted)
    facts.info.notes.push_back("its files will not come back after a crash: " + noted.error().what);
  if (!(*zygote)->missing().empty())
    facts.info.notes.push_back("could not be loaded ahead: " + (*zygote)->missing());
  co_return Place{fork->lane, fork->cell, fork->taken};
}

// A folder of the host's or a policy of its own is a cell of its own: the zygote has neither.
Task<Result<Core::Place>> Core::place_for(Self self, const SessionSpec& spec, SessionFacts& facts) {
  bool plain = spec.policy_words.empty() && spec.workspace.empty() && self->options_.zygotes;
  bool written = false;
  if (plain) written = co_await self->options_.maker->is_written(spec.python);
  if (written) {
    facts.info.notes.push_back("a cell of its own: a session could write to its Python");
    plain = false;
  }
  if (plain) {
    Result<Place> fork = co_await fork_of_zygote(self, spec, facts);
    if (fork) co_return fork;
    facts.info.notes.push_back("a cell of its own: " + printable(fork.error().what));
  }
  co_return co_await own_cell(self, spec, facts);
}

Task<Result<std::shared_ptr<LiveSession>>> Core::make_session(Self self, SessionSpec spec) {
  SessionFacts facts;
  facts.info.name = spec.name;
  facts.info.created_unix = ::time(nullptr);
  facts.call_timeout = spec.call_timeout;
  facts.output_bytes = spec.output_bytes;
  facts.memory_bytes = spec.memory_bytes;
  facts.memory_limit = memory_limit(spec);
  facts.maker = self->options_.maker;
  facts.pipes = self->pipes_;
  facts.snapshot = self->snapshot_path(spec.name);
  facts.mark = std::make_shared<StateMark>(
      self->loop_, self->saves_by_itself() ? mark_path(facts.snapshot) : std::string());
  if (self->options_.idle_save.count() > 0)
    facts.after_call = [weak = std::weak_ptr<Core>(self)](const std::string& name) {
      if (Self core = weak.lock()) after_call(core, name);
    };
  Result<Place> place = co_await place_for(self, spec, facts);
  if (!place) co_return place.error();
  place->lane->set_options(lane_options(spec, place->hold));
  bool layers = spec.workspace.empty() && can_have_layers(self->options_.state_folder);
  facts.asked_for_layers = layers;
  Result<json::object> hello = co_await place->lane->start(start_options(spec, layers));
  if (!hello) {
    co_await place->hold->ended(kHostLastWords);
    if (place->hold->alive())
      co_return Error::plain(fmt::format("session {}: {}", spec.name, hello.error().what));
    Error why =
        cell_error(fmt::format("session {} did not start", spec.name), place->hold->last_words());
    if (why.hint.empty() && !spec.python.empty())
      why.hint = fmt::format("is {} a Python? --python names an interpreter, 3.9 or later",
                             printable(spec.python));
    co_return why;
  }
  auto session =
      std::make_shared<LiveSession>(self->loop_, std::move(facts), place->hold, place->lane);
  session->greeted(*hello);
  if (place->taken && !self->ended_) place->taken->settle();
  co_return session;
}

Task<Result<std::shared_ptr<Session>>> Core::create(Self self, SessionSpec spec) {
  if (Result<void> fits = check_spec(spec); !fits) co_return fits.error();
  if (Result<void> free = self->reserve(spec.name); !free) co_return free.error();
  std::string name = spec.name;
  bool take_up_snapshot = spec.take_up_snapshot;
  Result<std::shared_ptr<LiveSession>> made = co_await make_session(self, spec);
  self->coming_.erase(name);
  if (!made) co_return made.error();
  if (self->ended_) {
    (*made)->kill();
    co_return Error::plain("the host of the sessions has ended");
  }
  self->specs_[name] = std::move(spec);
  self->sessions_[name] = *made;
  std::string lost = take_mark(mark_path(self->snapshot_path(name)));
  if (take_up_snapshot) co_await take_up(self, *made, std::move(lost));
  co_return std::shared_ptr<Session>(*made);
}

Task<> Core::take_up(Self self, std::shared_ptr<LiveSession> session, std::string lost) {
  std::string path = self->snapshot_path(session->info().name);
  bool is_there = ::access(path.c_str(), F_OK) == 0;
  if (!lost.empty()) session->note_loss(lost + (is_there ? "" : ", and nothing of before either"));
  if (!is_there) co_return session->note("there is no snapshot to take up");
  Result<CallAnswer> answer = co_await session->unsave_within(path, kTakeUpPatience);
  if (!answer)
    co_return session->note_loss("the snapshot was not taken up: " + answer.error().what);
  if (!answer->ok())
    co_return session->note_loss("the snapshot was not taken up: " + reason_of(*answer));
  auto names = [&](const char* key) { return named_variables(answer->result.if_contains(key)); };
  std::string back = names("restored");
  session->note(back.empty() ? "the snapshot had no variables"
                             : "variables of the snapshot are back: " + back);
  if (std::string failed = names("failed"); !failed.empty())
    session->note_loss("not back: " + failed);
  if (std::string skipped = names("skipped"); !skipped.empty())
    session->note_loss("were not in the snapshot: " + skipped);
}

Task<Result<std::shared_ptr<Session>>> Core::branch(Self self, std::string session,
                                                    std::string new_name, std::string from) {
  std::shared_ptr<LiveSession> parent = self->find(session);
  if (!parent) co_return Error::plain(fmt::format("there is no session {}", printable(session)));
  if (Result<void> free = self->reserve(new_name); !free) co_return free.error();
  auto spec = self->specs_.find(session);
  LaneOptions options;  // a branch that falls silent is not worth its siblings
  if (spec != self->specs_.end()) options = self->lane_options(spec->second, nullptr);
  Result<std::shared_ptr<LiveSession>> made =
      co_await parent->branch(new_name, std::move(from), std::move(options));
  self->coming_.erase(new_name);
  if (!made) co_return made.error();
  if (spec = self->specs_.find(session); spec != self->specs_.end())
    self->specs_[new_name] = SessionSpec(spec->second);
  self->sessions_[new_name] = *made;
  if ((*made)->info().layered)
    (void)self->options_.maker->note_session((*made)->facts().room, new_name, true);
  if (self->options_.idle_save.count() > 0) after_call(self, new_name);
  co_return std::shared_ptr<Session>(*made);
}

Task<Result<void>> Core::end(Self self, std::string name, bool save_first) {
  std::shared_ptr<LiveSession> session = self->find(name);
  if (!session) co_return Error::plain(fmt::format("there is no session {}", printable(name)));
  Result<void> saved;
  bool was_alive = session->info().alive;
  if (!save_first && was_alive) session->facts().mark->clear();  // it is given up
  if (save_first && was_alive) {
    Result<CallAnswer> answer =
        co_await session->save_for(SaveReason::kAtEnd, self->snapshot_path(name));
    if (!answer)
      saved = answer.error();
    else if (!answer->ok())
      saved = Error::plain(
          fmt::format("session {}: the snapshot could not be made: {}", name, reason_of(*answer)));
  }
  bool is_branch = !session->info().parent.empty();
  // While there is a room: it goes with the cell, and a branch's folder with its lane, whose keeper
  // removes it at once. So this is waited for.
  if (save_first && has_files_to_keep(session->facts(), is_branch)) {
    std::string room = session->facts().room;
    Result<void> kept = co_await self->options_.maker->keep_and_tell(room, name, is_branch);
    (void)kept;  // where code inside has put a link in their place, the loss is its own
  }
  if (is_branch)
    session->close("it was ended");
  else
    session->kill();
  self->sessions_.erase(name);
  self->specs_.erase(name);
  // A failure is told: nobody must believe that files are gone which are not.
  if (!save_first && !session->facts().private_workspace.empty())
    saved = co_await self->options_.maker->drop_and_tell(name);
  co_return saved;
}

void Core::keep_files(const SessionFacts& facts, bool is_branch) {
  if (has_files_to_keep(facts, is_branch))
    options_.maker->keep_workspace(facts.room, facts.info.name, is_branch);
}

Result<void> Core::drop_workspace(const SessionFacts& facts) {
  if (facts.private_workspace.empty()) return {};
  return options_.maker->drop_workspace(facts.info.name);
}

Task<> Core::autosave(std::weak_ptr<Core> weak, Loop& loop, std::chrono::seconds every) {
  for (;;) {
    LoopTimer timer(loop.get_executor());
    timer.expires_after(every);
    boost::system::error_code failed;
    co_await timer.async_wait(boost::asio::redirect_error(kAwait, failed));
    Self self = weak.lock();
    if (!self || self->ended_ || failed) co_return;
    std::vector<std::shared_ptr<LiveSession>> all;
    for (auto& [name, session] : self->sessions_) all.push_back(session);
    for (std::shared_ptr<LiveSession>& session : all) {
      SessionInfo info = session->info();
      // One that is at work is saved the next time: nobody waits for an autosave.
      if (!info.alive || info.busy || session->is_saving() || !session->changed_since_saved())
        continue;
      Result<CallAnswer> ignored =
          co_await session->save_for(SaveReason::kByItself, self->snapshot_path(info.name));
      if (self->ended_) co_return;
    }
  }
}

void Core::after_call(Self self, const std::string& name) {
  if (self->ended_ || !self->to_save_.insert(name).second) return;
  spawn(self->loop_, save_when_idle(self, self->loop_, name));
}

// Once for a row of calls. A state that takes long to save is saved the less often: a tenth of the
// time at most.
Task<> Core::save_when_idle(std::weak_ptr<Core> weak, Loop& loop, std::string name) {
  std::chrono::milliseconds pause{0};
  for (uint64_t calls = 0;;) {
    if (Self self = weak.lock()) pause = std::max(pause, self->options_.idle_save);
    LoopTimer timer(loop.get_executor());
    timer.expires_after(pause);
    boost::system::error_code failed;
    co_await timer.async_wait(boost::asio::redirect_error(kAwait, failed));
    Self self = weak.lock();
    std::shared_ptr<LiveSession> session = self && !self->ended_ ? self->find(name) : nullptr;
    if (!session || !session->info().alive || !session->changed_since_saved()) {
      if (self) self->to_save_.erase(name);
      co_return;  // the next call begins anew
    }
    SessionInfo info = session->info();
    if (info.busy || session->is_saving() || std::exchange(calls, info.calls) != info.calls)
      continue;
    SteadyClock::time_point begin = SteadyClock::now();
    Result<CallAnswer> saved =
        co_await session->save_for(SaveReason::kByItself, self->snapshot_path(name));
    if (!saved || !(saved->ok() || gave_way(*saved))) {
      self->to_save_.erase(name);
      co_return;
    }
    calls = session->info().calls;
    auto took = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begin);
    pause = took * 9;
  }
}

std::shared_ptr<LiveSession> Core::find(std::string_view name) const {
  auto found = sessions_.find(name);
  return found == sessions_.end() ? nullptr : found->second;
}

std::vector<SessionInfo> Core::list() const {
  std::vector<SessionInfo> all;
  for (const auto& [name, session] : sessions_) all.push_back(session->info());
  return all;
}

void Core::kill_all() {
  ended_ = true;
  // What was not ended is to come back, and so are its files: the room goes with the cell.
  for (auto& [name, session] : sessions_)
    if (!discarded_) keep_files(session->facts(), !session->info().parent.empty());
  for (auto& [key, zygote] : zygotes_) zygote->kill();  // all its forks with it, at once
  for (auto& [name, session] : sessions_) session->kill();
  sessions_.clear();
  zygotes_.clear();
}

void Core::discard_all() {
  std::vector<SessionFacts> all;
  for (auto& [name, session] : sessions_) {
    all.push_back(session->facts());
    session->facts().mark->clear();
  }
  discarded_ = true;
  kill_all();
  for (const SessionFacts& one : all) (void)drop_workspace(one);
}

class Host final : public SessionHost {
 public:
  Host(Loop& loop, std::shared_ptr<Core> core, std::chrono::seconds autosave)
      : core_(std::move(core)) {
    if (autosave.count() > 0) spawn(loop, Core::autosave(core_, loop, autosave));
  }
  ~Host() override { core_->kill_all(); }
  Task<Result<std::shared_ptr<Session>>> create(SessionSpec spec) override {
    return Core::create(core_, std::move(spec));
  }
  Task<Result<std::shared_ptr<Session>>> branch(std::string session, std::string new_name,
                                                std::string from) override {
    return Core::branch(core_, std::move(session), std::move(new_name), std::move(from));
  }
  std::shared_ptr<Session> find(std::string_view name) const override { return core_->find(name); }
  std::vector<SessionInfo> list() const override { return core_->list(); }
  Task<Result<void>> end(std::string name, bool save_first) override {
    return Core::end(core_, std::move(name), save_first);
  }
  void kill_all() override { core_->kill_all(); }
  void discard_all() override { core_->discard_all(); }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

Result<std::unique_ptr<SessionHost>> SessionHost::make(Loop& loop, SessionHostOptions options) {
  if (options.home.empty())
    if (const char* home = ::getenv("HOME")) options.home = home;
  if (options.state_folder.empty()) options.state_folder = TRY(default_state_folder(options.home));
  TRY(make_private_folder(options.state_folder));
  raise_file_limit();
  UniqueFd kernel = TRY(sealed_memfd("caisson-session", mutated_kernel(kernel_source())));
  std::chrono::seconds autosave = options.autosave;
  auto core = std::make_shared<Core>(loop, std::move(options), std::move(kernel));
  return std::unique_ptr<SessionHost>(new Host(loop, std::move(core), autosave));
}

}  // namespace caisson::session
