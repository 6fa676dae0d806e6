#include "session/load_rules.h"

#include <fnmatch.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/path_walk.h"

namespace caisson::session {

namespace {

// Where programs keep what opens accounts, below the home folder: files and folders. Also told in
// docs/mcp.md.
constexpr std::string_view kCredentials[] = {
    // keys and passwords
    ".ssh", ".gnupg", ".netrc", ".authinfo", ".authinfo.gpg", ".pgpass", ".my.cnf", ".mylogin.cnf",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".vault-token",
    // clouds
    ".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".oci", ".config/doctl",
    ".config/hcloud", ".config/rclone", ".config/sops", ".terraform.d/credentials.tfrc.json",
    ".terraformrc", ".pulumi/credentials.json", ".fly",
    // containers and clusters
    ".docker/config.json", ".config/containers/auth.json", ".kube", ".config/helm/registry",
    // forges and git
    ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
    // registries of packages
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config",
    ".composer/auth.json", ".config/composer/auth.json", ".m2/settings.xml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config",
    ".huggingface/token", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".kaggle",
    // assistants
    ".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
    ".config/github-copilot", ".local/share/opencode/auth.json",
    // browsers and messages
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".thunderbird"};

constexpr size_t kMostParts = 64;   // of a pattern
constexpr size_t kMostTurns = 512;  // on the way to where one begins

DeniedPath denied(std::string path) {
  struct stat info;
  DeniedPath one{std::move(path), {}};
  if (::stat(one.path.c_str(), &info) == 0) one.identity = {info.st_dev, info.st_ino};
  return one;
}

bool lies_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/' || folder == "/");
}

bool is_same(const FileIdentity& one, const OpenedFile& file) {
  if (one == FileIdentity{}) return false;
  return one == file.identity || std::ranges::find(file.folders, one) != file.folders.end();
}

struct Part {
  std::string text;
  size_t end;  // of it in the path
};

std::vector<Part> parts_of(std::string_view path) {
  std::vector<Part> parts;
  for (size_t at = 0; at < path.size();) {
    size_t begin = path.find_first_not_of('/', at);
    if (begin == std::string_view::npos) break;
    at = std::min(path.find('/', begin), path.size());
    parts.push_back({std::string(path.substr(begin, at - begin)), at});
  }
  return parts;
}

bool has_wildcard(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

// Letters are compared without their case, as the cell's own rules do (T06).
bool part_matches(const LoadPattern& pattern, const std::string& part, const std::string& name) {
  if (pattern.literal || !has_wildcard(part)) return ::strcasecmp(part.c_str(), name.c_str()) == 0;
  return ::fnmatch(part.c_str(), name.c_str(), FNM_NOESCAPE | FNM_CASEFOLD) == 0;
}

// How many bytes of the path the pattern matches: up to the first folder, or the file, that it
// names; 0: none. `reached[i]`: the first i parts of the pattern match what has been read.
size_t matched_bytes(const LoadPattern& pattern, const std::string& path) {
  std::vector<Part> wanted = parts_of(pattern.text);
  // More than settings can have, and than is worth a look: in doubt it is hidden.
  if (wanted.size() > kMostParts) return pattern.allow ? 0 : path.size();
  std::vector<bool> reached(wanted.size() + 1, false);
  auto is_any_depth = [&](size_t i) { return !pattern.literal && wanted[i].text == "**"; };
  auto skip_any_depth = [&] {
    for (size_t i = 0; i < wanted.size(); ++i)
      if (reached[i] && is_any_depth(i)) reached[i + 1] = true;
  };
  reached[0] = true;
  skip_any_depth();
  if (reached.back()) return 1;  // "/" is above all
  for (const Part& name : parts_of(path)) {
    std::vector<bool> next(wanted.size() + 1, false);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!reached[i]) continue;
      if (is_any_depth(i))
        next[i] = true;
      else if (part_matches(pattern, wanted[i].text, name.text))
        next[i + 1] = true;
    }
    reached = std::move(next);
    skip_any_depth();
    if (reached.back()) return name.end;
  }
  return 0;
}

// Files have the names that the kernel gives them: without the links in a pattern's head.
std::string without_links(const LoadPattern& pattern) {
  std::vector<Part> parts = parts_of(pattern.text);
  size_t head = 0, end = 0;
  while (head < parts.size() && (pattern.literal || !has_wildcard(parts[head].text)))
    end = parts[head++].end;
  // Its folders may be a cell's to change, and this is done for every load: a long way is nobody's.
  size_t turns = 0;
  auto count = [&turns](int, Turn) -> Result<void> {
    if (++turns > kMostTurns) return Error::plain("a long way");
    return {};
  };
  Result<Walked> way = walk_path(pattern.text.substr(0, end), count);
  if (end == 0 || !way) return pattern.text;
  Result<std::string> there = real_path_of(way->end ? way->end.get() : way->folder.get());
  if (!there) return pattern.text;
  std::string start = plain_path(*there + "/" + way->missing);
  return (start == "/" ? "" : start) + pattern.text.substr(end);
}

}  // namespace

LoadRules::LoadRules(std::string_view home, const std::vector<std::string>& more,
                     const std::vector<LoadPattern>& patterns) {
  while (home.size() > 1 && home.ends_with('/')) home.remove_suffix(1);
  if (!home.empty())
    for (std::string_view name : kCredentials)
      denied_.push_back(denied(fmt::format("{}/{}", home, name)));
  for (std::string path : more) {
    if (path.starts_with("~/") && !home.empty()) path = fmt::format("{}/{}", home, path.substr(2));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    denied_.push_back(denied(std::move(path)));
  }
  for (const LoadPattern& one : patterns)
    patterns_.push_back({{without_links(one), one.literal, one.allow}, denied(one.text).identity});
}

// The rule that hides it, unless a closer one shows it. What a rule names by its very path is that
// under every name, as close as the path is long.
const LoadRules::Ruled* LoadRules::hides(const OpenedFile& file) const {
  const Ruled* hidden_by = nullptr;
  size_t hidden = 0, shown = 0;
  for (const Ruled& one : patterns_) {
    size_t matched = matched_bytes(one.pattern, file.real_path);
    if (is_same(one.identity, file)) matched = std::max(matched, one.pattern.text.size());
    size_t& closest = one.pattern.allow ? shown : hidden;
    if (matched <= closest) continue;
    closest = matched;
    if (!one.pattern.allow) hidden_by = &one;
  }
  return shown > hidden ? nullptr : hidden_by;
}

// Of our own folders a session may ask: there is its workspace.
Result<void> LoadRules::judge_absent(const std::string& path,
                                     std::vector<FileIdentity> folders) const {
  return judge({plain_path(path), {}, std::move(folders)}, true);
}

void LoadRules::deny_own(std::string path) { own_.push_back(denied(std::move(path))); }

Result<void> LoadRules::judge(const OpenedFile& file, bool in_workspace) const {
  if (!control_enabled("session-load-rules")) return {};
  for (const auto* list : {&denied_, &own_}) {
    if (list == &own_ && in_workspace) break;
    for (const DeniedPath& one : *list)
      if (lies_below(file.real_path, one.path) || is_same(one.identity, file))
        return Error::plain(fmt::format("load {}: it lies in {}, which sessions may not read",
                                        printable(file.real_path), printable(one.path)),
                            "copy what is needed to another folder, if that is meant");
  }
  if (const Ruled* rule = control_enabled("session-load-policy") ? hides(file) : nullptr)
    return Error::plain(fmt::format("load {}: the policy hides {}, which sessions may not read",
                                    printable(file.real_path), printable(rule->pattern.text)),
                        "allowRead in the settings shows a part of what denyRead hides");
  return {};
}

}  // namespace caisson::session
