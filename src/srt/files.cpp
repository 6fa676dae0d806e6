// filesystem.* and the denials that always hold → rules for files.
#include <fmt/format.h>

#include <algorithm>

#include "policy/files.h"
#include "policy/pattern_names.h"
#include "policy/places.h"
#include "srt/git.h"
#include "srt/mapping.h"

namespace caisson::srt {

namespace {

// What runs or steers programs outside when somebody next opens a shell, an editor or git there.
struct ProtectedName {
  std::string_view name;
  // Repositories carry it: `git clone` inside writes that of the folder that it makes.
  bool in_repositories = false;
};
constexpr ProtectedName kProtected[] = {
    {".gitconfig"},          {".bashrc"},       {".bash_profile"}, {".zshrc"},
    {".zprofile"},           {".profile"},      {".ripgreprc"},    {".gitmodules", true},
    {".mcp.json", true},     {".vscode", true}, {".idea", true},   {".claude/commands", true},
    {".claude/agents", true}};
// Writable as they are, when they are there.
constexpr std::string_view kAlwaysWritable[] = {"~/.npm/_logs", "~/.claude/debug"};
constexpr std::string_view kAlways = "always denied";
constexpr const char* kSteers = "it steers programs outside";
constexpr const char* kNamesPrograms =
    "it names programs that git runs outside; filesystem.allowGitConfig allows it";
constexpr const char* kNewGit =
    "git outside would run what its configuration names: make a new folder for the repository, or "
    "set filesystem.allowGitConfig";
constexpr const char* kBareRepository =
    "a folder with a HEAD can be a repository, and git outside would run what its configuration "
    "names: make a new folder for it, or set filesystem.allowGitConfig";
constexpr const char* kRuns = "git runs them outside";
constexpr const char* kLeads = "it leads git to other hooks";
// In the folder of a repository: what git runs, what names programs, and where it looks for both
// instead. Each worktree has a folder in it, each submodule one that is a repository of its own,
// and a worktree has its own submodules.
struct GitName {
  std::string_view name;
  const char* reason;
};
constexpr GitName kGitNames[] = {{"hooks", kRuns},
                                 {"commondir", kLeads},
                                 {"config", kNamesPrograms},
                                 {"config.worktree", kNamesPrograms},
                                 {"modules/**/hooks", kRuns},
                                 {"modules/**/commondir", kLeads},
                                 {"modules/**/config", kNamesPrograms},
                                 {"modules/**/config.worktree", kNamesPrograms},
                                 {"worktrees/*/commondir", kLeads},
                                 {"worktrees/*/gitdir", kLeads},
                                 {"worktrees/*/config.worktree", kNamesPrograms},
                                 {"worktrees/*/modules/**/hooks", kRuns},
                                 {"worktrees/*/modules/**/commondir", kLeads},
                                 {"worktrees/*/modules/**/config", kNamesPrograms},
                                 {"worktrees/*/modules/**/config.worktree", kNamesPrograms}};
constexpr std::string_view kTemporary = "/tmp/claude";
// The cell's own in every view, and so the last resort for temporary files.
constexpr std::string_view kOwnMemory = "/dev/shm";

class FileMapper {
 public:
  FileMapper(const Scene& scene, Mapped& to)
      : scene_(scene), to_(to), said_(scene.said.filesystem), rules_(to.settings.file_rules) {}

  Result<void> run() {
    rules_.host_view = said_.read_mode == ReadMode::kDenyList || said_.disabled;
    rules_.unlimited = said_.disabled;
    if (said_.disabled) return {};
    TRY(add(said_.deny_read, rules_.deny_read));
    TRY(add(said_.allow_read, rules_.allow_read));
    TRY(add(said_.allow_write, rules_.allow_write));
    TRY(add(said_.deny_write, rules_.deny_write));
    TRY(hide_credentials());
    TRY(add_always_writable());
    if (!scene_.caller.cwd.empty()) protect_names();
    hide_ssh_folder();
    make_temporary_folder();
    if (!rules_.host_view) return show_what_is_listed();
    return {};
  }

 private:
  Result<void> add(const std::vector<PathEntry>& from, std::vector<FilePattern>& to) {
    for (const PathEntry& entry : from) {
      // What stands before it (the project is called "[slug]") has no wildcards.
      bool is_pattern = !entry.literal && has_wildcard(entry.text);
      Result<std::string> path = is_pattern ? absolute_pattern(entry.text, scene_.caller)
                                            : absolute_path(entry.text, scene_.caller);
      if (!path)
        return Error::plain(fmt::format("{}: {}", entry.origin, path.error().what),
                            path.error().hint);
      bool literal = entry.literal || (!is_pattern && has_wildcard(*path));
      to.push_back({.text = *path, .literal = literal, .origin = entry.origin, .reason = {}});
    }
    return {};
  }

  Result<void> hide_credentials() {
    for (const Credential& one : scene_.said.credentials) {
      if (one.mask || one.spec.source != SecretSource::kFile) continue;
      rules_.deny_read.push_back({.text = TRY(absolute_path(one.spec.from, scene_.caller)),
                                  .literal = true,
                                  .origin = one.origin,
                                  .reason = {}});
    }
    return {};
  }

  Result<void> add_always_writable() {
    for (std::string_view text : kAlwaysWritable) {
      std::string path = TRY(absolute_path(std::string(text), scene_.caller));
      bool hidden = std::ranges::any_of(rules_.deny_read, [&](const FilePattern& one) {
        return is_within(path, one.text) || means_everything(one);
      });
      if (!hidden && scene_.files.look(path))
        rules_.allow_write.push_back(
            {.text = path, .literal = true, .origin = "always writable", .reason = {}});
    }
    return {};
  }

  FilePattern& protect(std::string text, bool literal, bool only_older, const char* reason) {
    return rules_.deny_write.emplace_back(FilePattern{.text = std::move(text),
                                                      .literal = literal,
                                                      .only_in_older_folder = only_older,
                                                      .origin = std::string(kAlways),
                                                      .reason = reason});
  }

  void protect_names() {
    std::string anywhere = escaped(scene_.caller.cwd == "/" ? "" : scene_.caller.cwd) + "/**/";
    for (const ProtectedName& one : kProtected) {
      std::string name(one.name);
      protect(anywhere + name, false, one.in_repositories, kSteers);
      // Here always, what holds ".claude/commands" may itself be new; and what is there can't be
      // deleted either, nor reached through a link in its place.
      if (one.in_repositories || scene_.files.look(join_path(scene_.caller.cwd, name)))
        protect(join_path(scene_.caller.cwd, name), true, false, kSteers);
    }
    protect_git(anywhere);
    protect_repository_elsewhere();
  }

  // `git clone` and `git init` inside write those of the repository that they make, in a folder
  // that they make. In an older one a repository of the program's own would steer whoever works
  // there, by the first `git status` outside; who has allowed configuration has allowed that.
  void protect_git(const std::string& anywhere) {
    if (!said_.allow_git_config) {
      protect(anywhere + ".git", false, true, kNewGit).covers = FilePattern::Covers::kItself;
      // Without any `.git` git takes the folder itself for one: its HEAD, its config, its hooks.
      protect(anywhere + "HEAD", false, true, kBareRepository).covers =
          FilePattern::Covers::kNewFile;
    }
    for (const GitName& one : git_names()) {
      protect_in_repositories(anywhere, one);
      // Of bare ones that were there, by the names that they have by custom.
      for (const char* folder : {"?*.git/", ".bare/"})
        protect(anywhere + folder + std::string(one.name), false, true, one.reason).by_last_folder =
            true;
    }
  }

  std::vector<GitName> git_names() const {
    std::vector<GitName> names;
    for (const GitName& one : kGitNames)
      if (!said_.allow_git_config || std::string_view(one.reason) != kNamesPrograms)
        names.push_back(one);
    return names;
  }

  // `git worktree add` makes a folder in the `.git` of a repository that was there, and so does
  // `git submodule` where it can be used at all.
  bool is_made_in_older(std::string_view name) const {
    return said_.allow_git_config || name.starts_with("worktrees/");
  }

  void protect_in_repositories(const std::string& anywhere, const GitName& one) {
    std::string name = ".git/" + std::string(one.name);
    protect(anywhere + name, false, true, one.reason).by_last_folder = is_made_in_older(one.name);
    std::string here = join_path(scene_.caller.cwd, name);
    if (!has_wildcard(name) && scene_.files.look(here)) protect(here, true, false, one.reason);
  }

  // `.git` is a file: whoever rewrites it leads git to another repository, with other hooks. Or it
  // is a link: then nothing in the folder that it leads to has `.git` in its path.
  void protect_repository_elsewhere() {
    const std::string& cwd = scene_.caller.cwd;
    std::optional<FileIdentity> found = scene_.files.look(cwd + "/.git");
    if (found && found->kind == FileIdentity::Kind::kFile)
      protect(cwd + "/.git", true, false, "it says where the repository is");
    for (const std::string& folder : git_folders_elsewhere(cwd, scene_.files)) {
      protect(folder + "/gitdir", true, false, kLeads);
      for (const GitName& one : git_names()) protect_in_folder(folder, one);
    }
  }

  void protect_in_folder(const std::string& folder, const GitName& one) {
    std::string name(one.name);
    if (!has_wildcard(name)) {
      protect(folder + "/" + name, true, false, one.reason);
      return;
    }
    bool only_older = is_made_in_older(name);
    protect(escaped(folder) + "/" + name, false, only_older, one.reason).by_last_folder =
        only_older;
  }

  // In it root's files belong to nobody, and ssh refuses to start when it reads one.
  void hide_ssh_folder() {
    constexpr std::string_view kFolder = "/etc/ssh/ssh_config.d";
    if (rules_.host_view && scene_.files.look(std::string(kFolder)))
      rules_.deny_read.push_back({.text = std::string(kFolder),
                                  .literal = true,
                                  .origin = "always hidden",
                                  .reason = "ssh refuses files whose owner it can't tell",
                                  .untold = true});
  }

  // It exists, and nobody else's run sees into it.
  void make_temporary_folder() {
    const Caller& caller = scene_.caller;
    std::string asked = caller.env("CLAUDE_CODE_TMPDIR");
    if (asked.empty()) asked = caller.env("CLAUDE_TMPDIR");
    if (asked.empty()) asked = kTemporary;
    std::optional<FileIdentity> found =
        asked.starts_with('/') ? scene_.files.look(asked) : std::nullopt;
    bool there = found && found->kind == FileIdentity::Kind::kDirectory && rules_.host_view;
    std::string chosen = there ? asked : std::string(rules_.host_view ? kOwnMemory : "/tmp");
    bool granted = std::ranges::any_of(
        rules_.allow_write, [&](const FilePattern& one) { return is_within(chosen, one.text); });
    if (there && !granted) rules_.make_folders.push_back(chosen);
    to_.settings.env_set.push_back({"TMPDIR", chosen, "srt"});
  }

  // readMode "allowlist": caisson's own small root, and what the lists name at its own path.
  Result<void> show_what_is_listed() {
    std::vector<std::string> shown;
    auto show = [&](const std::vector<FilePattern>& list, Access access) {
      for (const FilePattern& one : list) {
        std::string path = one.text;
        if (!one.literal && path.ends_with("/**")) path.resize(path.size() - 3);
        if (std::ranges::find(shown, path) != shown.end()) continue;
        if (!scene_.files.look(path)) {
          to_.notes.push_back(fmt::format("{}: {} does not exist: skipped", one.origin, path));
          continue;
        }
        shown.push_back(path);
        to_.settings.mounts.push_back({path, path, access, one.origin});
      }
    };
    show(rules_.allow_write, Access::kReadWrite);
    show(rules_.allow_read, Access::kReadOnly);
    return {};
  }

  const Scene& scene_;
  Mapped& to_;
  const Filesystem& said_;
  FileRules& rules_;
};

}  // namespace

Result<void> map_files(const Scene& scene, Mapped& to) { return FileMapper(scene, to).run(); }

}  // namespace caisson::srt
