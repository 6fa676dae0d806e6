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
#include "session/cell_words.h"
#include "session/kernel_bundle.h"
#include "session/live_session.h"
#include "session/snapshot_file.h"
#include "session/zygote.h"

namespace caisson::session {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMostSessions = 4096;
constexpr std::chrono::milliseconds kLastWords{3000};  // for a cell that ends to say why

Result<void> make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return Error::system("make " + printable(path));
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return Error::system("look at " + printable(path));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || info.st_mode & 0077)
    return Error::plain(fmt::format("{}: not a folder of ours alone", printable(path)),
                        "make it mode 0700, or name another one");
  return {};
}

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

json::object start_options(const SessionSpec& spec) {
  json::array functions, final;
  for (const HostFunction& one : spec.functions) {
    json::object entry{{"name", one.name}, {"doc", one.doc}};
    if (one.batch) entry["batch"] = one.name + "_batched";
    functions.push_back(std::move(entry));
  }
  for (const std::string& name : spec.final_names) final.push_back(json::string(name));
  return {
      {"functions", std::move(functions)}, {"final", std::move(final)}, {"ipython", spec.ipython}};
}

// All of a host, shared with the coroutines that work for it: they may outlive it for a moment.
class Core {
 public:
  Core(Loop& loop, SessionHostOptions options, UniqueFd kernel)
      : loop_(loop), options_(std::move(options)), kernel_(std::move(kernel)), zygote_turn_(loop) {}
  using Self = std::shared_ptr<Core>;

  static Task<Result<std::shared_ptr<Session>>> create(Self, SessionSpec);
  static Task<Result<std::shared_ptr<Session>>> branch(Self, std::string session,
                                                       std::string new_name, std::string from);
  static Task<Result<void>> end(Self, std::string name, bool save_first);
  static Task<> autosave(std::weak_ptr<Core>, Loop&, std::chrono::seconds every);

  std::shared_ptr<LiveSession> find(std::string_view name) const;
  std::vector<SessionInfo> list() const;
  void kill_all();

 private:
  Result<void> reserve(const std::string& name);
  Result<std::string> workspace_for(const SessionSpec&, SessionFacts&);
  static LaneOptions lane_options(const SessionSpec&, const std::shared_ptr<Hold>&);
  // A lane that waits for its START, in what holds it.
  struct Place {
    std::shared_ptr<Lane> lane;
    std::shared_ptr<Hold> hold;
  };
  static Task<Result<Place>> own_cell(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<Place>> fork_of_zygote(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<Place>> place_for(Self, const SessionSpec&, SessionFacts&);
  static Task<Result<std::shared_ptr<Zygote>>> zygote_for(Self, const SessionSpec&);
  CellStart cell_start(const SessionSpec&, const std::string& workspace,
                       const std::vector<std::string>& kernel_words) const;
  static Task<Result<std::shared_ptr<LiveSession>>> make_session(Self, SessionSpec);
  static Task<> take_up(Self, std::shared_ptr<LiveSession>);
  std::string snapshot_path(const std::string& name) const {
    return fmt::format("{}/{}.snapshot", options_.state_folder, name);
  }
  static void drop_workspace(const std::string& path);

  Loop& loop_;
  SessionHostOptions options_;
  UniqueFd kernel_;
  std::map<std::string, std::shared_ptr<LiveSession>, std::less<>> sessions_;
  std::map<std::string, SessionSpec, std::less<>> specs_;  // of cells, for the lanes of branches
  std::set<std::string> coming_;
  Turns zygote_turn_;  // one is started at a time
  std::map<std::string, std::shared_ptr<Zygote>> zygotes_;
  std::map<std::string, std::string> without_zygote_;  // why there can be none
  bool ended_ = false;
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

Result<std::string> Core::workspace_for(const SessionSpec& spec, SessionFacts& facts) {
  if (!spec.workspace.empty()) return spec.workspace;
  std::string folder = options_.state_folder + "/workspaces";
  TRY(make_private_folder(folder));
  std::string own = fmt::format("{}/{}", folder, spec.name);
  TRY(make_private_folder(own));
  return facts.private_workspace = own;
}

LaneOptions Core::lane_options(const SessionSpec& spec, const std::shared_ptr<Hold>& hold) {
  return {spec.functions, spec.host_calls, [weak = std::weak_ptr<Hold>(hold)] {
            if (std::shared_ptr<Hold> held = weak.lock()) held->kill();
          }};
}

CellStart Core::cell_start(const SessionSpec& spec, const std::string& workspace,
                           const std::vector<std::string>& kernel_words) const {
  CellStart start{
      options_.caisson, cell_words(spec, workspace, kernel_words), options_.environment, {}};
  start.descriptors.emplace_back(::fcntl(kernel_.get(), F_DUPFD_CLOEXEC, 3));
  return start;
}

Task<Result<Core::Place>> Core::own_cell(Self self, const SessionSpec& spec, SessionFacts& facts) {
  facts.info.cell = "own";
  Result<std::string> workspace = self->workspace_for(spec, facts);
  if (!workspace) co_return workspace.error();
  facts.info.workspace = *workspace;
  Result<SocketPair> sockets = make_control_sockets();
  if (!sockets) co_return sockets.error();
  CellStart start = self->cell_start(spec, *workspace, {"keeper", "3"});
  start.descriptors.insert(start.descriptors.begin(), std::move(sockets->theirs));
  Result<std::shared_ptr<CellProcess>> cell = CellProcess::start(self->loop_, std::move(start));
  if (!cell) co_return cell.error();
  auto lane = std::make_shared<Lane>(self->loop_, std::move(sockets->ours), LaneOptions{});
  lane->listen();
  co_return Place{lane, *cell};
}

Task<Result<std::shared_ptr<Zygote>>> Core::zygote_for(Self self, const SessionSpec& spec) {
  std::vector<std::string> words{"zygote", "3"};
  words.insert(words.end(), spec.preload.begin(), spec.preload.end());
  if (spec.ipython) words.push_back("+ipython");  // its shell, where there is one
  std::string key = spec.python + "\n" + join(words, " ");
  Turns::Ticket turn = co_await self->zygote_turn_.take();
  if (auto found = self->zygotes_.find(key); found != self->zygotes_.end()) {
    if (found->second->alive()) co_return found->second;
    self->zygotes_.erase(found);
  }
  if (auto why = self->without_zygote_.find(key); why != self->without_zygote_.end())
    co_return Error::plain(why->second);
  std::string folder = self->options_.state_folder + "/forks";
  if (Result<void> made = make_private_folder(folder); !made) co_return made.error();
  SessionSpec zygote_spec;  // the default policy, with the one grant that its forks give up
  zygote_spec.python = spec.python;
  zygote_spec.policy_words = {"--allow-nested"};
  CellStart start = self->cell_start(zygote_spec, folder, words);
  Result<std::shared_ptr<Zygote>> zygote =
      co_await Zygote::start(self->loop_, std::move(start), folder);
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
  Result<Fork> fork = co_await Zygote::fork(*zygote, limits);
  if (!fork) co_return fork.error();
  facts.info.cell = "zygote";
  facts.info.workspace = fork->workspace;
  if (!(*zygote)->missing().empty())
    facts.info.notes.push_back("could not be loaded ahead: " + (*zygote)->missing());
  co_return Place{fork->lane, fork->cell};
}

// A folder of the host's or a policy of its own is a cell of its own: the zygote has neither.
Task<Result<Core::Place>> Core::place_for(Self self, const SessionSpec& spec, SessionFacts& facts) {
  if (spec.policy_words.empty() && spec.workspace.empty() && self->options_.zygotes) {
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
  facts.home = self->options_.home;
  facts.deny_load = self->options_.deny_load;
  Result<Place> place = co_await place_for(self, spec, facts);
  if (!place) co_return place.error();
  place->lane->set_options(lane_options(spec, place->hold));
  Result<json::object> hello = co_await place->lane->start(start_options(spec));
  if (!hello) {
    co_await place->hold->ended(kLastWords);
    if (place->hold->alive())
      co_return Error::plain(fmt::format("session {}: {}", spec.name, hello.error().what));
    co_return cell_error(fmt::format("session {} did not start", spec.name),
                         place->hold->last_words());
  }
  auto session =
      std::make_shared<LiveSession>(self->loop_, std::move(facts), place->hold, place->lane);
  session->greeted(*hello);
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
  if (take_up_snapshot) co_await take_up(self, *made);
  co_return std::shared_ptr<Session>(*made);
}

Task<> Core::take_up(Self self, std::shared_ptr<LiveSession> session) {
  std::string path = self->snapshot_path(session->info().name);
  if (::access(path.c_str(), F_OK) != 0) co_return session->note("there is no snapshot to take up");
  Result<CallAnswer> answer = co_await session->unsave(path);
  if (!answer) co_return session->note("the snapshot was not taken up: " + answer.error().what);
  if (!answer->ok()) co_return session->note("the snapshot was not taken up");
  auto names = [&](const char* key) {
    const json::value* list = answer->result.if_contains(key);
    return list && list->is_array() && !list->get_array().empty()
               ? printable(json::serialize(*list).substr(0, 2000))
               : std::string();
  };
  session->note("variables of the snapshot are back: " + names("restored"));
  if (std::string lost = names("failed"); !lost.empty()) session->note("not back: " + lost);
  if (std::string lost = names("skipped"); !lost.empty())
    session->note("were not in the snapshot: " + lost);
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
  co_return std::shared_ptr<Session>(*made);
}

Task<Result<void>> Core::end(Self self, std::string name, bool save_first) {
  std::shared_ptr<LiveSession> session = self->find(name);
  if (!session) co_return Error::plain(fmt::format("there is no session {}", printable(name)));
  Result<void> saved;
  if (save_first && session->info().alive) {
    Result<CallAnswer> answer = co_await session->save(self->snapshot_path(name));
    if (!answer)
      saved = answer.error();
    else if (!answer->ok())
      saved = Error::plain(fmt::format("session {}: the snapshot could not be made", name));
  }
  bool is_branch = !session->info().parent.empty();
  if (is_branch)
    session->close("it was ended");
  else
    session->kill();
  self->sessions_.erase(name);
  self->specs_.erase(name);
  if (!save_first) drop_workspace(session->facts().private_workspace);
  co_return saved;
}

void Core::drop_workspace(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  fs::remove_all(path, ignored);  // by descriptors; links in it are removed, not followed
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
      if (!info.alive || info.busy || !session->changed_since_saved()) continue;
      Result<CallAnswer> ignored = co_await session->save(self->snapshot_path(info.name));
      if (self->ended_) co_return;
    }
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
  for (auto& [key, zygote] : zygotes_) zygote->kill();  // all its forks with it, at once
  for (auto& [name, session] : sessions_) session->kill();
  sessions_.clear();
  zygotes_.clear();
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
  UniqueFd kernel = TRY(sealed_memfd("caisson-session", kernel_source()));
  std::chrono::seconds autosave = options.autosave;
  auto core = std::make_shared<Core>(loop, std::move(options), std::move(kernel));
  return std::unique_ptr<SessionHost>(new Host(loop, std::move(core), autosave));
}

}  // namespace caisson::session
