#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "host/probe.h"
#include "seccomp/filters.h"
#include "session/branch_copy.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/exec_variables.h"
#include "session/rooms.h"
#include "session/zygote.h"

namespace caisson::session {

namespace {

// Loads of others that are under way take seconds; a client has given up by a minute.
constexpr std::chrono::seconds kLoadPatience{10};
constexpr uint64_t kLoadedAtOnce = uint64_t{1} << 30;  // bytes, unless somebody says
constexpr size_t kMostDenied = 4096;

// At /branches: what checkpoints and branches hold of files (py/layers.py).
std::vector<std::string> mount_of_layers(const std::string& folder) {
  if (!can_have_layers(folder)) return {};
  return {"--mount", folder + ":/branches:rw"};
}

// The default policy, with the one grant that its forks give up. Each puts its own layers over
// those of all.
SessionSpec zygote_spec(const SessionSpec& spec, const std::string& forks) {
  SessionSpec zygote;
  zygote.python = spec.python;
  zygote.policy_words = mount_of_layers(forks);
  zygote.policy_words.push_back("--allow-nested");
  return zygote;
}

Result<std::string> random_name() {
  unsigned char raw[8];
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
  return hex(raw);
}

}  // namespace

std::string forks_folder(const SessionHostOptions& options) {
  return options.state_folder + "/forks";
}

std::string workspace_folder(const SessionHostOptions& options, const std::string& session) {
  return fmt::format("{}/workspaces/{}", options.state_folder, session);
}

std::string room_folder(const SessionHostOptions& options, const std::string& session) {
  return fmt::format("{}/rooms/{}", options.state_folder, session);
}

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

LocalMaker::LocalMaker(Loop& loop, SessionHostOptions options, Result<StateFolders> folders)
    : loop_(loop),
      options_(std::move(options)),
      folders_(std::move(folders)),
      trash_(std::make_shared<Trash>(
          loop, options_.caisson,
          UniqueFd{folders_ ? ::fcntl(folders_->trash(), F_DUPFD_CLOEXEC, 3) : -1})),
      dying_(std::make_shared<DyingCells>(loop)),
      load_rules_(options_.home, options_.deny_load, options_.load_patterns) {
  // HOME is what its caller says; the account's own folder has the keys.
  if (std::string home = account_of(::geteuid()).home; home != options_.home)
    load_rules_.deny_credentials_below(home);
  if (options_.environment.empty())
    for (char** one = environ; *one; ++one) options_.environment.emplace_back(*one);
  for (const std::string& folder : options_.written) written_.add_folder(folder);
  written_.know(options_.known_words);
  bound_loads(kLoadedAtOnce);
}

LocalMaker::LocalMaker(Loop& loop, SessionHostOptions options)
    : LocalMaker(loop, options, StateFolders::open(options.state_folder, options.state_top)) {}

// Before the first workspace is looked at: what a crash has left may be its files.
void LocalMaker::sweep() {
  if (std::exchange(swept_, true)) return;
  sweep_rooms(*folders_, *trash_);
  trash_->empty();
}

// A policy by request: what its words say is known here and nowhere else. None is taken off, and
// when there are too many to know, all is hidden. What can't be read makes no cell.
Result<void> LocalMaker::hide_from_loads(const SessionSpec& spec) {
  const std::vector<std::string>& words = spec.policy_words;
  if (words.empty() || words == options_.known_words || !control_enabled("session-load-secrets"))
    return {};
  HiddenFromLoad more{files_of_secrets(words), {}};
  if (options_.hidden_by) more = TRY(options_.hidden_by(words));
  bool is_known = std::ranges::find(hidden_by_request_, more) != hidden_by_request_.end();
  if (is_known || hidden_ > kMostDenied) return {};
  hidden_ += more.paths.size() + more.patterns.size() + 1;
  if (hidden_ > kMostDenied) more = {{"/"}, {}};
  load_rules_.hide(more);
  hidden_by_request_.push_back(std::move(more));
  return {};
}

Result<std::shared_ptr<Hold>> LocalMaker::start_cell(CellKind kind, const SessionSpec& spec,
                                                     std::vector<UniqueFd> descriptors) {
  if (!folders_) return folders_.error();
  sweep();
  TRY(hide_from_loads(spec));
  written_.add(spec);
  CellStart start{.caisson = options_.caisson,
                  .environment = exec_variables(options_.environment, spec),
                  .descriptors = std::move(descriptors)};
  TRY(kind == CellKind::kZygote ? prepare_zygote(spec, start) : prepare_own(spec, start));
  return std::shared_ptr<Hold>(TRY(CellProcess::start(loop_, std::move(start))));
}

Result<void> LocalMaker::prepare_own(const SessionSpec& spec, CellStart& start) {
  SessionSpec whole = spec;
  std::string folder = spec.workspace;
  if (folder.empty()) {
    UniqueFd layers = TRY(new_layers(spec.name));
    std::vector<std::string> words = mount_of_layers(room_folder(options_, spec.name) + "/layers");
    whole.policy_words.insert(whole.policy_words.end(), words.begin(), words.end());
    if (!words.empty()) start.mounted.push_back({"/branches", std::move(layers)});
    folder = workspace_folder(options_, spec.name);
    start.mounted.push_back({"/workspace", TRY(new_workspace(spec))});
  }
  start.words = cell_words(whole, folder);
  start.private_words = private_words(whole);
  start.command = cell_command(whole, {"keeper", "3"});
  return {};
}

Result<void> LocalMaker::prepare_zygote(const SessionSpec& spec, CellStart& start) {
  std::string key = zygote_key(spec);
  ZygoteFolder folder = TRY(zygote_folder(key));
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make a zygote's socket");
  doors_[key] = std::make_shared<ZygoteDoor>(loop_, UniqueFd{fds[0]});
  start.descriptors.emplace_back(fds[1]);
  std::string path = fmt::format("{}/{}", forks_folder(options_), folder.name);
  std::vector<std::string> words = zygote_words(spec);
  words.push_back(fmt::format("+joins={}", 2 + start.descriptors.size()));
  SessionSpec zygote = zygote_spec(spec, path);
  start.words = cell_words(zygote, path);
  start.private_words = private_words(zygote);
  start.command = cell_command(zygote, words);
  if (can_have_layers(path))
    start.mounted.push_back({"/branches", UniqueFd{::fcntl(folder.fd.get(), F_DUPFD_CLOEXEC, 3)}});
  start.mounted.push_back({"/workspace", std::move(folder.fd)});
  return {};
}

// Empty: what was in it was of a session that is no more.
Result<UniqueFd> LocalMaker::new_layers(const std::string& session) {
  TRY(trash_->take(folders_->rooms(), session));
  TRY(make_room(folders_->rooms(), session));
  return open_folder_below(folders_->rooms(), session + "/layers");
}

// What lies there under that name is of a session that died, or that could not be cleared away: it
// is for one that takes it up, and for no other (T60). Its last processes have the old folder,
// which is not this one.
Result<UniqueFd> LocalMaker::new_workspace(const SessionSpec& spec) {
  if (!spec.take_up_snapshot && control_enabled("session-old-files"))
    for (int place : {folders_->workspaces(), folders_->branches()})
      TRY(trash_->take(place, spec.name));
  return private_folder(folders_->workspaces(), spec.name);
}

// The interpreter's own modules run in a zygote before anything confines them; so it sees the rooms
// of those who run the same ones, and of nobody else.
Result<LocalMaker::ZygoteFolder> LocalMaker::zygote_folder(const std::string& key) {
  if (!control_enabled("session-zygote-folder"))
    return ZygoteFolder{".", TRY(open_folder_below(folders_->forks(), "."))};
  if (!claim_) claim_.emplace(TRY(ForksClaim::make(folders_->forks())));
  std::string name = fmt::format("{}-{}", claim_->prefix(), key);
  return ZygoteFolder{name, TRY(private_folder(folders_->forks(), name))};
}

// The filter of every program in a cell, as bytes for the fork. It goes by the door too: who orders
// a fork is not to choose what binds it.
static Result<UniqueFd> standard_filter() {
  auto filter = filter_for(FilterName::kStandard, false);
  return sealed_memfd("caisson-filter", {reinterpret_cast<const char*>(filter.data()),
                                         filter.size() * sizeof filter[0]});
}

// The descriptors that let a process join the fork's cgroup go to its zygote and to nobody else.
// The kernel asks for the rights of who has opened them (cgroups(7)): whoever has one can put any
// process of ours into a cgroup whose end is death.
Result<ForkPlace> LocalMaker::make_fork_now(const ForkLimits& limits, const std::string& zygote) {
  if (!folders_) return folders_.error();
  auto door = doors_.find(zygote);
  if (door == doors_.end()) return Error::plain("there is no such zygote");
  ZygoteFolder folder = TRY(zygote_folder(zygote));
  std::shared_ptr<ForkedCell> cell = TRY(ForkedCell::make(limits, dying_));
  std::string room = TRY(random_name()), path = fmt::format("{}/{}", folder.name, room);
  Result<void> made = make_room(folder.fd.get(), room);
  cell->own_workspace(std::move(folder.fd), room, trash_);
  TRY(std::move(made));
  std::vector<UniqueFd> ways;
  ways.push_back(TRY(standard_filter()));
  for (UniqueFd& join : TRY(cell->join_fds())) ways.push_back(std::move(join));
  TRY(door->second->let_in(room, std::move(ways)));
  return ForkPlace{cell, std::move(path)};
}

bool LocalMaker::is_written_now(const std::string& python) const {
  if (written_.empty() || !control_enabled("session-python")) return false;
  std::string path = cell_path(python, value_of(options_.environment, "PATH"));
  return written_.touch(python_folders(python, path));
}

Task<bool> LocalMaker::is_written(std::string python) { co_return is_written_now(python); }

Task<Result<ForkPlace>> LocalMaker::make_fork(ForkLimits limits, std::string zygote) {
  co_return make_fork_now(limits, zygote);
}

// A folder in the state folder is a cell's to fill: it is looked at without following anything, and
// what is no workspace by its place is none. One that was given is the user's.
FileIdentity LocalMaker::workspace_identity(const std::string& path) const {
  struct stat info;
  if (folders_ && path.starts_with(folders_->path() + "/")) {
    Result<UniqueFd> opened = folders_->open_workspace(path, false);
    if (!opened || ::fstat(opened->get(), &info) != 0) return {};
  } else if (path.empty() || ::stat(path.c_str(), &info) != 0) {
    return {};
  }
  return {info.st_dev, info.st_ino};
}

// What any cell was given to write. The folders of our own state are among it: links in them are
// cells', whichever session they are of.
WrittenPlaces LocalMaker::written_places(const std::string& workspace, FileIdentity found) const {
  WrittenPlaces places;
  if (control_enabled("session-load-written")) places = written_.places();
  WritableFolders own;
  own.add_folder(options_.state_top.empty() ? options_.state_folder : options_.state_top);
  for (WrittenFolder& one : own.places().folders) places.folders.push_back(std::move(one));
  if (found != FileIdentity{}) places.folders.push_back({workspace, found});
  return places;
}

void LocalMaker::bound_loads(uint64_t most_bytes) {
  load_budget_ = std::make_shared<LoadBudget>(loop_, most_bytes, kLoadPatience);
}

Task<Result<LoadedFiles>> LocalMaker::load(std::string path, std::string workspace,
                                           uint64_t most_bytes) {
  LoadRules rules = load_rules_;
  // With the states of other servers, and tokens of the API.
  std::string top = options_.state_top.empty() ? options_.state_folder : options_.state_top;
  rules.deny_own(top);
  // Beside it lies what other programs of ours keep.
  std::string above = top.substr(0, top.rfind('/'));
  if (above.ends_with("/caisson")) rules.deny_own(std::move(above));
  LoadBounds bounds{.bytes = most_bytes};
  FileIdentity identity = workspace_identity(workspace);
  WrittenPlaces written = written_places(workspace, identity);
  co_return co_await open_for_load(loop_, std::move(rules), std::move(path), identity,
                                   std::move(written), bounds, load_budget_);
}

Result<void> LocalMaker::note_session(const std::string& room, const std::string& session,
                                      bool is_branch) {
  if (!folders_) return folders_.error();
  UniqueFd opened = TRY(folders_->open_room(room));
  return session::note_session(opened.get(), session, is_branch ? "layers/" + session : "files");
}

Result<void> LocalMaker::keep_now(const std::string& room, const std::string& session,
                                  bool is_branch) {
  if (!folders_) return folders_.error();
  UniqueFd opened = TRY(folders_->open_room(room));
  std::string below = is_branch ? "layers/" + session : "files";
  return session::keep_workspace(*folders_, session, opened.get(), below, *trash_);
}

void LocalMaker::keep_workspace(const std::string& room, const std::string& session,
                                bool is_branch) {
  (void)keep_now(room, session, is_branch);
}

Task<Result<void>> LocalMaker::keep_and_tell(std::string room, std::string session,
                                             bool is_branch) {
  co_return keep_now(room, session, is_branch);
}

// A room of a fork has a folder for files. A cell of its own has its workspace elsewhere, where
// what is no branch's lies already.
Task<Result<bool>> LocalMaker::take_up_workspace(std::string room, std::string session) {
  if (!folders_) co_return folders_.error();
  sweep();
  bool is_own = room == room_folder(options_, session);
  Result<UniqueFd> kept = open_folder_below(folders_->branches(), session);
  if (!kept && is_own) co_return false;
  Result<UniqueFd> opened =
      is_own ? open_folder_below(folders_->rooms(), ".") : folders_->open_room(room);
  if (!opened) co_return opened.error();
  if (!kept) co_return session::take_up_workspace(*folders_, session, opened->get());
  if (!control_enabled("session-branch-copy") && !is_own)  // moved, as what is no branch's
    co_return ::renameat(folders_->branches(), session.c_str(), opened->get(), "files") == 0;
  Result<void> cleared;
  if (is_own) cleared = trash_->take(folders_->workspaces(), session);
  if (!cleared) co_return cleared.error();
  Result<UniqueFd> into = is_own ? private_folder(folders_->workspaces(), session)
                                 : open_folder_below(opened->get(), "files");
  if (!into) co_return into.error();
  Result<void> copied = co_await copy_branch(loop_, kept->get(), into->get());
  // What could not be copied stays where it is, for a person to look at.
  if (!copied) co_return copied.error();
  (void)trash_->take(folders_->branches(), session);
  co_return true;
}

Task<Result<void>> LocalMaker::drop_and_tell(std::string session) {
  co_return drop_workspace(session);
}

Result<void> LocalMaker::drop_workspace(const std::string& session) {
  if (!folders_) return folders_.error();
  Result<void> layers = trash_->take(folders_->rooms(), session);
  TRY(trash_->take(folders_->branches(), session));
  TRY(trash_->take(folders_->workspaces(), session));
  return layers;
}

}  // namespace caisson::session
