#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/rooms.h"
#include "session/zygote.h"

namespace caisson::session {

namespace {

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

Result<std::shared_ptr<Hold>> LocalMaker::start_cell(CellKind kind, const SessionSpec& spec,
                                                     std::vector<UniqueFd> descriptors) {
  // Before the first workspace is looked at: what a crash has left may be its files.
  if (!std::exchange(swept_, true)) {
    sweep_rooms(options_.state_folder, *trash_);
    trash_->empty();
  }
  CellStart start{options_.caisson, {}, options_.environment, std::move(descriptors)};
  if (kind == CellKind::kZygote) {
    std::string folder = TRY(zygote_folder(zygote_key(spec)));
    start.words = cell_words(zygote_spec(spec, folder), folder, zygote_words(spec));
  } else {
    SessionSpec whole = spec;
    std::string folder = spec.workspace;
    if (folder.empty()) {
      std::string layers = TRY(new_layers(spec.name));
      std::vector<std::string> words = mount_of_layers(layers);
      whole.policy_words.insert(whole.policy_words.end(), words.begin(), words.end());
      folder = TRY(new_workspace(spec));
    }
    start.words = cell_words(whole, folder, {"keeper", "3"});
  }
  return std::shared_ptr<Hold>(TRY(CellProcess::start(loop_, std::move(start))));
}

// Empty: what was in it was of a session that is no more.
Result<std::string> LocalMaker::new_layers(const std::string& session) {
  std::string room = room_folder(options_, session);
  TRY(make_private_folder(options_.state_folder + "/rooms"));
  TRY(trash_->take(room));
  TRY(make_room(room));
  return room + "/layers";
}

// What lies there under that name is of a session that died, or that could not be cleared away: it
// is for one that takes it up, and for no other (T60). Its last processes have the old folder,
// which is not this one.
Result<std::string> LocalMaker::new_workspace(const SessionSpec& spec) {
  std::string folder = workspace_folder(options_, spec.name);
  TRY(make_private_folder(options_.state_folder + "/workspaces"));
  if (!spec.take_up_snapshot && control_enabled("session-old-files")) TRY(trash_->take(folder));
  TRY(make_private_folder(folder));
  return folder;
}

// The interpreter's own modules run in a zygote before anything confines them; so it sees the rooms
// of those who run the same ones, and of nobody else.
Result<std::string> LocalMaker::zygote_folder(const std::string& key) {
  std::string forks = forks_folder(options_);
  TRY(make_private_folder(forks));
  if (!control_enabled("session-zygote-folder")) return forks;
  if (!claim_) claim_.emplace(TRY(ForksClaim::make(forks)));
  std::string folder = fmt::format("{}/{}-{}", forks, claim_->prefix(), key);
  TRY(make_private_folder(folder));
  return folder;
}

Result<ForkPlace> LocalMaker::make_fork_now(const ForkLimits& limits, const std::string& zygote) {
  std::string folder = TRY(zygote_folder(zygote));
  std::shared_ptr<ForkedCell> cell = TRY(ForkedCell::make(limits));
  std::string path = fmt::format("{}/{}", folder, TRY(random_name()));
  cell->own_workspace(path, trash_);
  TRY(make_room(path));
  return ForkPlace{cell, TRY(cell->join_fds()), path.substr(forks_folder(options_).size() + 1)};
}

Task<Result<ForkPlace>> LocalMaker::make_fork(ForkLimits limits, std::string zygote) {
  co_return make_fork_now(limits, zygote);
}

Result<LoadedFiles> LocalMaker::load_now(const std::string& path, const std::string& workspace,
                                         uint64_t most_bytes) {
  // Made anew each time: a folder of keys that came to be since is one, too.
  LoadRules rules(options_.home, options_.deny_load);
  rules.deny_own(options_.state_folder);
  // Beside it lies what other programs of ours keep, with the token of the API.
  std::string beside = options_.state_folder.substr(0, options_.state_folder.rfind('/'));
  if (beside.ends_with("/caisson")) rules.deny_own(std::move(beside));
  LoadBounds bounds{.bytes = most_bytes};
  return open_for_load(rules, path, workspace, bounds);
}

Task<Result<LoadedFiles>> LocalMaker::load(std::string path, std::string workspace,
                                           uint64_t most_bytes) {
  co_return load_now(path, workspace, most_bytes);
}

Result<void> LocalMaker::note_session(const std::string& room, const std::string& session,
                                      bool is_branch) {
  return session::note_session(room, session, is_branch ? "layers/" + session : "files");
}

void LocalMaker::keep_workspace(const std::string& room, const std::string& session,
                                bool is_branch) {
  std::string below = is_branch ? "layers/" + session : "files";
  (void)session::keep_workspace(options_.state_folder, session, room, below, *trash_);
}

Result<bool> LocalMaker::take_up_now(const std::string& room, const std::string& session) {
  return session::take_up_workspace(options_.state_folder, session, room + "/files");
}

Task<Result<bool>> LocalMaker::take_up_workspace(std::string room, std::string session) {
  co_return take_up_now(room, session);
}

Result<void> LocalMaker::drop_workspace(const std::string& session) {
  Result<void> layers = trash_->take(room_folder(options_, session));
  TRY(trash_->take(workspace_folder(options_, session)));
  return layers;
}

}  // namespace caisson::session
