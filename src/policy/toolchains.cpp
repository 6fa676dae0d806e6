#include "policy/toolchains.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "policy/link_walk.h"
#include "policy/resolve.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr int kMostLinksInWay = 4;  // script → interpreter → its base interpreter → …
constexpr size_t kMaxPathEntries = 256;
constexpr size_t kMaxShebang = 256;  // BINPRM_BUF_SIZE: what execve(2) reads of a script
constexpr size_t kMaxConfig = 8192;

// What a script of a project may ask `env` for. Any other name, "deploy", would let it choose which
// of the caller's own programs is to be read.
constexpr std::string_view kInterpreters[] = {
    "bash", "bun",    "dash",    "deno", "fish", "julia",  "ksh",  "lua",
    "node", "nodejs", "perl",    "php",  "pypy", "python", "ruby", "Rscript",
    "sh",   "tclsh",  "ts-node", "tsx",  "uv",   "zsh"};

// "python", "python3", "python3.12".
bool is_interpreter(std::string_view name) {
  size_t end = name.find_last_not_of("0123456789.") + 1;
  return std::ranges::find(kInterpreters, name.substr(0, end)) != std::end(kInterpreters);
}

bool is_python(std::string_view name) { return name.starts_with("python") && is_interpreter(name); }

// A row of the table and the folder of this host that it was found at.
struct Found {
  const Installation* row;
  std::string base;  // the installation's own folder
  std::string root;  // base/below, or the marker's folder
};

class Finder {
 public:
  Finder(const Scene& scene, const std::vector<Mount>& mounts) : scene_(scene), mounts_(mounts) {}

  Toolchain find(const std::string& command) {
    if (std::string path = search(command); !path.empty()) follow(path, 0);
    settle_links();
    note_unseen(command);
    pass_variables();
    return std::move(out_);
  }

 private:
  std::string search(const std::string& command) const;
  void follow(const std::string& path, int depth);
  void follow_shebang(const std::string& path, int depth);
  void follow_env(const std::string& script, std::span<const std::string> words, int depth);
  // The word of a file that a cell may have written.
  bool may_be_a_cells(const std::string& path) const;
  void follow_told(const std::string& teller, const std::string& path);
  void follow_told_form(const std::string& form);
  bool take_base(const std::string& bin);
  bool is_base_folder(const std::string& bin) const;
  bool is_conda_installation(const std::string& root) const;
  void follow_base_interpreter(const std::string& venv);
  void note_told(const std::string& teller, const std::string& path);
  void match(const std::string& path, bool is_end);
  std::optional<Found> match_row(const Installation& row, const std::string& path) const {
    return row.marker.empty() ? match_base(row, path) : match_marker(row, path);
  }
  std::optional<Found> match_base(const Installation&, const std::string& path) const;
  std::optional<Found> match_marker(const Installation&, const std::string& path) const;
  std::vector<std::string> bases(const Installation&, const std::string& path) const;
  void take(const Found&, const std::string& path, bool is_end);
  void expose(const Found&, const std::string& path);
  void settle_links();
  void note_unseen(const std::string& command);
  void pass_variables();
  bool is_covered(std::string_view path) const {
    return mount_over(mounts_, path) || is_system_path(path) || mount_over(out_.mounts, path);
  }
  bool is_seen(const std::string& path) const {
    return is_visible(mounts_, path) || is_visible(out_.mounts, path);
  }

  const Scene& scene_;
  const std::vector<Mount>& mounts_;
  Toolchain out_;
  std::vector<Found> found_;
  std::vector<Link> passed_;  // links on the way, most of them visible anyway
  std::set<std::string> followed_;
  std::string program_;  // the command itself, links resolved
};

// As execvp(3) would, with the caller's PATH.
std::string Finder::search(const std::string& command) const {
  auto is_program = [&](const std::string& path) {
    std::optional<FileIdentity> found = scene_.files.look(path);
    return found && found->kind == FileIdentity::Kind::kFile && found->executable;
  };
  if (command.empty() || command.size() > kMaxPath) return {};
  if (command.find('/') != std::string::npos) {
    std::string path = command[0] == '/' ? command : join_path(scene_.caller.cwd, command);
    return path[0] == '/' && is_program(path) ? path : std::string();
  }
  std::string path_list = scene_.caller.env("PATH");
  size_t seen = 0;
  for (std::string_view folder : split(path_list, ':')) {
    if (!folder.starts_with('/') || folder.size() > kMaxPath) continue;
    if (++seen > kMaxPathEntries) break;
    std::string path = join_path(folder, command);
    if (is_program(path)) return path;
  }
  return {};
}

// Behind a link that a cell may have made, what stands there is the cell's word, not the caller's.
void Finder::follow(const std::string& path, int depth) {
  if (depth > kMostLinksInWay || !followed_.insert(path).second) return;
  LinkWalk walk = walk_links(path, scene_.files);
  if (!walk.complete) return;
  if (depth == 0) program_ = walk.end();
  auto told =
      std::ranges::find_if(walk.links, [&](const Link& link) { return may_be_a_cells(link.path); });
  auto vouched = static_cast<size_t>(told - walk.links.begin());
  for (size_t i = 0; i < walk.forms.size(); ++i) {
    if (walk.behind[i] <= vouched)
      match(walk.forms[i], i + 1 == walk.forms.size());
    else
      follow_told_form(walk.forms[i]);
  }
  passed_.insert(passed_.end(), walk.links.begin(), told);
  follow_shebang(walk.end(), depth);
}

// "#!/usr/bin/env python3" and "#!/home/…/bin/python": the interpreter is needed as well.
void Finder::follow_shebang(const std::string& path, int depth) {
  std::optional<std::string> head = scene_.files.read(path, kMaxShebang);
  if (!head || !head->starts_with("#!")) return;
  std::string_view line = std::string_view(*head).substr(2, head->find('\n') - 2);
  std::vector<std::string> words;
  for (std::string_view word : split(line, ' '))
    if (!trim(word).empty()) words.emplace_back(trim(word));
  if (words.empty()) return;
  if (words[0].starts_with('/') && may_be_a_cells(path))
    follow_told(path, words[0]);
  else if (words[0].starts_with('/'))
    follow(words[0], depth + 1);
  if (name_of(words[0]) == "env") follow_env(path, std::span(words).subspan(1), depth);
}

void Finder::follow_env(const std::string& script, std::span<const std::string> words, int depth) {
  for (const std::string& word : words) {
    if (word.starts_with('-') || word.find('=') != std::string::npos) continue;
    bool has_slash = word.find('/') != std::string::npos;
    std::string found = search(word);
    if (found.empty()) return;
    if (!may_be_a_cells(script) || (!has_slash && is_interpreter(word)))
      follow(found, depth + 1);
    else
      follow_told(script, found);
    return;
  }
}

// A mounted folder, or a tree that is known by a marker and may lie in any project: an earlier cell
// may have written what stands there.
bool Finder::may_be_a_cells(const std::string& path) const {
  bool mounted = std::ranges::any_of(
      mounts_, [&](const Mount& mount) { return is_within(path, mount.source); });
  return mounted || std::ranges::any_of(installations(), [&](const Installation& row) {
           return !row.marker.empty() && match_marker(row, path);
         });
}

// An interpreter by the word of such a file.
void Finder::follow_told(const std::string& teller, const std::string& path) {
  LinkWalk walk = walk_links(path, scene_.files);
  if (!walk.complete) return;
  for (const std::string& form : walk.forms) follow_told_form(form);
  note_told(teller, walk.end());
}

// In what is visible anyway it may be a virtualenv, which is based on another. Elsewhere it is a
// Python of an installation, or nothing.
void Finder::follow_told_form(const std::string& form) {
  if (!is_python(name_of(form))) return;
  if (!is_covered(form)) {
    take_base(std::string(parent_of(form)));
    return;
  }
  for (const Installation& row : installations()) {
    if (row.marker != "pyvenv.cfg") continue;
    if (std::optional<Found> found = match_marker(row, form)) take(*found, form, false);
  }
}

// Only what holds Pythons, by a folder named bin with one in it: never a single file
// (~/.local/bin/deploy), never a virtualenv (another project's packages), and nobody's first line
// leads on from there.
bool Finder::take_base(const std::string& bin) {
  LinkWalk walk = walk_links(bin, scene_.files);
  if (!walk.complete || name_of(walk.forms[0]) != "bin" || !is_base_folder(walk.end()))
    return false;
  bool taken = false;
  for (const std::string& form : walk.forms) {
    if (is_system_path(form) && !is_within(form, "/opt")) continue;
    for (const Installation& row : installations()) {
      std::optional<Found> found = row.is_base ? match_row(row, form) : std::nullopt;
      if (!found || (!row.marker.empty() && !is_conda_installation(found->root))) continue;
      take(*found, form, false);
      taken = true;
    }
  }
  if (taken) passed_.insert(passed_.end(), walk.links.begin(), walk.links.end());
  return taken;
}

bool Finder::is_base_folder(const std::string& bin) const {
  auto has = [&](const std::string& name) {
    std::optional<FileIdentity> found = scene_.files.look(join_path(bin, name));
    return found && found->kind == FileIdentity::Kind::kFile && found->executable;
  };
  if (name_of(bin) != "bin" || scene_.files.look(join_path(parent_of(bin), "pyvenv.cfg")))
    return false;
  if (has("python3") || has("python")) return true;
  for (int minor = 6; minor < 30; ++minor)  // linuxbrew's have no shorter name
    if (has(fmt::format("python3.{}", minor))) return true;
  return false;
}

// conda-meta alone is in every environment, and one that lies in a project is that project's.
bool Finder::is_conda_installation(const std::string& root) const {
  auto has_conda = [&](std::string_view top) {
    return scene_.files.look(join_path(top, "condabin")).has_value() || name_of(top) == ".conda";
  };
  std::string_view envs = parent_of(root);
  return has_conda(root) || (name_of(envs) == "envs" && has_conda(parent_of(envs)));
}

// The folders that may be a row's base for `path`: of the home it lies in, or as a variable says.
std::vector<std::string> Finder::bases(const Installation& row, const std::string& path) const {
  std::vector<std::string> out;
  std::string named =
      row.base_variable.empty() ? std::string() : scene_.caller.env(std::string(row.base_variable));
  if (Result<std::string> clean = clean_path(named, "/"); named.starts_with('/') && clean)
    out.push_back(*clean);
  if (row.base.starts_with('/'))
    out.emplace_back(row.base);
  else if (std::string home = scene_.homes.of(path); !home.empty())
    out.push_back(join_path(home, row.base));
  return out;
}

std::optional<Found> Finder::match_base(const Installation& row, const std::string& path) const {
  for (const std::string& base : bases(row, path)) {
    if (scene_.homes.reaches(base)) continue;
    bool any_child = row.below.ends_with("/*");
    std::string_view below = row.below.substr(0, row.below.size() - (any_child ? 2 : 0));
    std::string root = join_path(base, below);
    if (!is_within(path, root) || path.size() == root.size()) continue;
    if (any_child) root = path.substr(0, path.find('/', root.size() + 1));
    return Found{&row, base, root};
  }
  return std::nullopt;
}

// X/bin/python → X. The nearest X only: a marker further up could be the work of whoever writes
// there.
std::optional<Found> Finder::match_marker(const Installation& row, const std::string& path) const {
  size_t bin = path.rfind("/bin/");
  if (path.ends_with("/bin")) bin = path.size() - 4;
  if (bin == std::string::npos || bin == 0) return std::nullopt;
  std::string root = path.substr(0, bin);
  // A home folder that is a virtualenv as well stays a home folder.
  if (scene_.homes.reaches(root) || parent_of(root) == "/" || name_of(root) == ".local")
    return std::nullopt;
  if (!scene_.files.look(join_path(root, row.marker))) return std::nullopt;
  return Found{&row, root, root};
}

void Finder::match(const std::string& path, bool is_end) {
  if (is_system_path(path) && !is_within(path, "/opt")) return;  // most commands end here
  for (const Installation& row : installations())
    if (std::optional<Found> found = match_row(row, path)) take(*found, path, is_end);
}

void Finder::take(const Found& found, const std::string& path, bool is_end) {
  const Installation& row = *found.row;
  bool known = std::ranges::any_of(
      found_, [&](const Found& other) { return other.row == &row && other.root == found.root; });
  if (row.expose.empty() && is_end) expose(found, path);
  if (known) return;
  found_.push_back(found);
  for (std::string_view name : row.expose) expose(found, join_path(found.root, name));
  if (row.marker == "pyvenv.cfg") follow_base_interpreter(found.root);
  for (const Installation& other : installations()) {
    if (row.also.empty() || other.name != row.also) continue;
    for (const std::string& base : bases(other, path)) {
      std::string root = join_path(base, other.below);
      if (scene_.files.look(root)) return take({&other, base, root}, path, false);
    }
  }
}

// A virtualenv borrows the standard library of the interpreter that "home = …" names. Whoever can
// write the virtualenv chooses that, so that it is never more than a base interpreter (T01).
void Finder::follow_base_interpreter(const std::string& venv) {
  // A link may lead to what only its reader can open. Inside it would lead nowhere, either.
  std::string path = join_path(venv, "pyvenv.cfg");
  std::optional<std::string> config = scene_.files.read_plain(path, kMaxConfig);
  if (!config) return;
  for (std::string_view line : split(*config, '\n')) {
    size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "home") continue;
    std::string home(trim(line.substr(equals + 1)));
    if (!home.starts_with('/') || home.size() > kMaxPath) return;
    if (!take_base(home)) note_told(path, home);
    return;
  }
}

// Never a home folder, nor anything above one, nor a folder straight below "/", whatever the table
// and the variables say. And never by a link out of the installation: a virtualenv that came with a
// project may have "lib" point at ~/.ssh, or be a link to another project's itself.
void Finder::expose(const Found& at, const std::string& path) {
  LinkWalk walk = walk_links(path, scene_.files), root = walk_links(at.root, scene_.files);
  if (!walk.complete || !root.complete || !is_within(walk.end(), root.end())) return;
  auto is_a_cells = [&](const Link& link) { return may_be_a_cells(link.path); };
  if (std::ranges::any_of(root.links, is_a_cells)) return;
  std::optional<FileIdentity> found = scene_.files.look_exactly(walk.end());
  bool plain = found && (found->kind == FileIdentity::Kind::kFile ||
                         found->kind == FileIdentity::Kind::kDirectory);
  if (!plain) return;
  const std::string& source = walk.end();
  passed_.insert(passed_.end(), walk.links.begin(), walk.links.end());
  if (scene_.homes.reaches(source) || parent_of(source) == "/" || is_covered(source)) return;
  for (std::string_view own : {"/proc", "/sys", "/dev", "/etc", "/run"})
    if (is_within(source, own)) return;
  bool is_directory = found->kind == FileIdentity::Kind::kDirectory;
  // What lies in it and was exposed on its own is part of it now.
  std::erase_if(out_.mounts, [&](const Mount& other) { return is_within(other.target, source); });
  out_.mounts.push_back({.source = source,
                         .target = source,
                         .access = Access::kReadOnly,
                         .origin = fmt::format("toolchain: {}", at.row->name),
                         .device = found->device,
                         .inode = found->inode,
                         .is_directory = is_directory});
}

// The cell's own places, where the plan decides what stands.
static bool is_cells_own(std::string_view path) {
  for (std::string_view exact : {"/run", "/var", "/var/run", "/var/tmp"})
    if (path == exact) return true;
  for (std::string_view place : {"/proc", "/dev", "/sys", "/etc", "/tmp"})
    if (is_within(path, place)) return true;
  return false;
}

// A link is made anew only where the cell has nothing yet, and only on the way to what it sees.
void Finder::settle_links() {
  auto holds_something = [&](const std::string& path) {
    auto below = [&](const Mount& mount) { return is_within(mount.target, path); };
    return std::ranges::any_of(mounts_, below) || std::ranges::any_of(out_.mounts, below);
  };
  std::ranges::sort(passed_, {}, &Link::path);
  for (Link& link : passed_) {
    std::optional<std::string> end = scene_.files.canonical(link.path);
    bool useful = end && (is_seen(*end) || holds_something(*end));
    bool taken = is_covered(link.path) || holds_something(link.path) || is_cells_own(link.path);
    bool nested = std::ranges::any_of(
        out_.links, [&](const Link& other) { return is_within(link.path, other.path); });
    if (!useful || taken || nested) continue;
    link.origin = "toolchain";
    out_.links.push_back(link);
  }
}

void Finder::note_unseen(const std::string& command) {
  if (program_.empty() || is_covered(program_)) return;
  std::string folder(parent_of(program_));
  out_.notes.push_back(fmt::format(
      "{} is {}, outside of every installation that caisson knows: left out; to see it: --mount {}",
      printable(command), printable(program_), shell_quote(fmt::format("{0}:{0}:ro", folder))));
}

void Finder::note_told(const std::string& teller, const std::string& path) {
  std::optional<std::string> end = scene_.files.canonical(path);
  if (!end || is_covered(*end) || *end == program_) return;
  // No command to copy: the path is the word of whoever wrote the file.
  out_.notes.push_back(fmt::format(
      "{} names {}, which is no Python of an installation that caisson knows: left out; "
      "--mount shows what a cell is to see",
      printable(teller), printable(*end)));
}

void Finder::pass_variables() {
  for (const Found& found : found_) {
    const Installation& row = *found.row;
    for (std::string_view name : row.paths) {
      std::string value = scene_.caller.env(std::string(name));
      if (is_within(value, found.root) || is_seen(value)) out_.variables.emplace_back(name, value);
    }
    std::string version = scene_.caller.env(std::string(row.version_variable));
    if (!version.empty()) out_.variables.emplace_back(row.version_variable, version);
    if (!row.home_variable.empty()) out_.variables.emplace_back(row.home_variable, found.base);
  }
  std::ranges::sort(out_.variables);
  auto same_name = [](const auto& one, const auto& other) { return one.first == other.first; };
  auto repeated = std::unique(out_.variables.begin(), out_.variables.end(), same_name);
  out_.variables.erase(repeated, out_.variables.end());
}

}  // namespace

Toolchain find_toolchain(const std::string& command, const Scene& scene,
                         const std::vector<Mount>& mounts) {
  return Finder(scene, mounts).find(command);
}

std::vector<Mount> toolchain_mounts(const std::string& command, const Caller& caller,
                                    const HostFiles& files) {
  Settings nothing_said;
  Scene scene{nothing_said, caller, files, find_homes(caller, files)};
  return find_toolchain(command, scene, {}).mounts;
}

}  // namespace caisson
