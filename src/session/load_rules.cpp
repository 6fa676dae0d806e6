#include "session/load_rules.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <strings.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/path_walk.h"
#include "session/slices.h"

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

// Of the system: what root can read and nobody else should.
constexpr std::string_view kSystemSecrets[] = {"/etc/shadow",
                                               "/etc/shadow-",
                                               "/etc/gshadow",
                                               "/etc/gshadow-",
                                               "/etc/sudoers",
                                               "/etc/sudoers.d",
                                               "/etc/ssh",
                                               "/etc/ssl/private",
                                               "/etc/krb5.keytab",
                                               "/var/lib/sss",
                                               "/var/lib/samba/private",
                                               "/etc/NetworkManager/system-connections",
                                               "/etc/wireguard",
                                               "/etc/ppp"};

constexpr size_t kMostRuleParts = 64;  // of a pattern
constexpr size_t kMostTurns = 512;     // on the way to where one begins

constexpr std::string_view kRefusal = "which sessions may not read";

bool lies_below(std::string_view path, std::string_view folder) {
  return !folder.empty() && path.starts_with(folder) &&
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

bool has_rule_wildcard(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

// Letters are compared without their case, as the cell's own rules do (T06).
bool part_matches(const LoadPattern& pattern, const std::string& part, const std::string& name) {
  if (pattern.literal || !has_rule_wildcard(part))
    return ::strcasecmp(part.c_str(), name.c_str()) == 0;
  return ::fnmatch(part.c_str(), name.c_str(), FNM_NOESCAPE | FNM_CASEFOLD) == 0;
}

// How many bytes of the path the pattern matches: up to the first folder, or the file, that it
// names; 0: none. `reached[i]`: the first i parts of the pattern match what has been read.
size_t matched_bytes(const LoadPattern& pattern, const std::string& path) {
  std::vector<Part> wanted = parts_of(pattern.text);
  // More than settings can have, and than is worth a look: in doubt it is hidden.
  if (wanted.size() > kMostRuleParts) return pattern.allow ? 0 : path.size();
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

// The bytes of a pattern that are a path.
size_t head_of(const LoadPattern& pattern) {
  size_t end = 0;
  for (const Part& one : parts_of(pattern.text)) {
    if (!pattern.literal && has_rule_wildcard(one.text)) break;
    end = one.end;
  }
  return end;
}

// Its folders may be a cell's to change, and this is done for every load: a long way is nobody's.
std::string without_links(const std::string& path) {
  size_t turns = 0;
  auto count = [&turns](int, Turn) -> Result<void> {
    if (++turns > kMostTurns) return Error::plain("a long way");
    return {};
  };
  Result<Walked> way = walk_path(path, count);
  if (!way) return path;
  Result<std::string> there = real_path_of(way->end ? way->end.get() : way->folder.get());
  return there ? plain_path(*there + "/" + way->missing) : path;
}

}  // namespace

bool is_refusal(std::string_view what) { return what.ends_with(kRefusal); }

// Files have the names that the kernel gives them: without links. Many rules begin in the same few
// folders, and each is looked up once.
class LoadRules::Names {
 public:
  const std::string& real(const std::string& path) {
    auto [found, is_new] = real_.try_emplace(path);
    if (is_new) found->second = without_links(path);
    return found->second;
  }
  // Of the name itself, should it be a link.
  std::string place(const std::string& path) {
    size_t slash = path.rfind('/');
    if (slash == path.npos || slash + 1 == path.size()) return path;
    std::string name = path.substr(slash + 1);
    if (name == "." || name == "..") return real(path);
    return below(slash == 0 ? "/" : real(path.substr(0, slash)), "/" + name);
  }
  static std::string below(const std::string& folder, const std::string& rest) {
    return folder == "/" && !rest.empty() ? rest : folder + rest;
  }

 private:
  std::map<std::string, std::string> real_;
};

LoadRules::LoadRules(std::string_view home, const std::vector<std::string>& more,
                     const std::vector<LoadPattern>& patterns) {
  while (home.size() > 1 && home.ends_with('/')) home.remove_suffix(1);
  home_ = home;
  deny_credentials_below(home);
  Names names;
  for (std::string_view path : kSystemSecrets) deny(std::string(path), names);
  hide({more, patterns});
}

void LoadRules::deny_credentials_below(std::string_view home) {
  Names names;
  if (!home.empty())
    for (std::string_view name : kCredentials) deny(fmt::format("{}/{}", home, name), names);
}

void LoadRules::deny(std::string path, Names& names) {
  DeniedPath one{std::move(path), {}};
  one.identity = identity_at(AT_FDCWD, one.path.c_str());
  one.place = names.place(one.path);
  denied_.push_back(std::move(one));
}

LoadRules::Ruled LoadRules::ruled(const LoadPattern& said, Names& names) {
  Ruled one{said, said, said, identity_at(AT_FDCWD, said.text.c_str())};
  size_t end = head_of(said);
  std::string head = said.text.substr(0, end), rest = said.text.substr(end);
  if (end > 0) one.pattern.text = Names::below(names.real(head), rest);
  bool is_plain = end > 0 && rest.find_first_not_of('/') == rest.npos;
  one.place.text = is_plain ? names.place(head) : "";
  return one;
}

void LoadRules::hide(const std::vector<LoadPattern>& patterns, Names& names) {
  if (patterns.empty()) return;
  Policy policy;
  for (const LoadPattern& one : patterns) policy.push_back(ruled(one, names));
  policies_.push_back(std::move(policy));
}

void LoadRules::hide(const HiddenFromLoad& more) {
  Names names;
  for (std::string path : more.paths) {
    if (path.starts_with("~/") && !home_.empty())
      path = fmt::format("{}/{}", home_, path.substr(2));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    deny(std::move(path), names);
  }
  hide(more.patterns, names);
}

// A folder of keys that came to be since is one, too; and what a link on the way to one leads to
// now. A cell may have removed such a link: so what was known before stays.
Task<> LoadRules::look_again(Loop& loop) {
  Slices slices(loop);
  Names names;
  for (size_t i = 0, kept = denied_.size(); i < kept; ++i) {
    deny(denied_[i].path, names);
    const DeniedPath &now = denied_.back(), &before = denied_[i];
    if (now.identity == before.identity && now.place == before.place) denied_.pop_back();
    if (slices.over()) co_await slices.turn();
  }
  for (size_t i = 0, kept = policies_.size(); i < kept; ++i) {
    Policy now;
    for (size_t k = 0; k < policies_[i].size(); ++k) {
      now.push_back(ruled(policies_[i][k].said, names));
      if (slices.over()) co_await slices.turn();
    }
    bool is_kept = control_enabled("session-load-kept");
    if (!is_kept)
      policies_[i] = std::move(now);
    else if (now != policies_[i])
      policies_.push_back(std::move(now));
  }
}

// The rule that hides it, unless a closer one shows it. What a rule names by its very path is that
// under every name, as close as the path is long.
const LoadRules::Ruled* LoadRules::hides(const Policy& policy, const OpenedFile& file) {
  const Ruled* hidden_by = nullptr;
  size_t hidden = 0, shown = 0;
  for (const Ruled& one : policy) {
    size_t matched = matched_bytes(one.pattern, file.real_path);
    if (!one.place.text.empty() && one.place != one.pattern)
      matched = std::max(matched, matched_bytes(one.place, file.real_path));
    if (is_same(one.identity, file)) matched = std::max(matched, one.pattern.text.size());
    size_t& closest = one.pattern.allow ? shown : hidden;
    if (matched <= closest) continue;
    closest = matched;
    if (!one.pattern.allow) hidden_by = &one;
  }
  return shown > hidden ? nullptr : hidden_by;
}

const LoadRules::Ruled* LoadRules::hides(const OpenedFile& file) const {
  for (const Policy& one : policies_)
    if (const Ruled* rule = hides(one, file)) return rule;
  return nullptr;
}

// Of our own folders a session may ask: there is its workspace.
Result<void> LoadRules::judge_absent(const std::string& path, std::vector<FileIdentity> folders,
                                     std::string asked) const {
  return judge({plain_path(path), {}, std::move(folders), std::move(asked)}, true);
}

void LoadRules::deny_own(std::string path) {
  FileIdentity identity = identity_at(AT_FDCWD, path.c_str());
  own_.push_back({std::move(path), identity});
}

Result<void> LoadRules::judge(const OpenedFile& file, bool in_workspace) const {
  if (!control_enabled("session-load-rules")) return {};
  const std::string& told = file.asked.empty() ? file.real_path : file.asked;
  for (const auto* list : {&denied_, &own_}) {
    if (list == &own_ && in_workspace) break;
    for (const DeniedPath& one : *list)
      if (lies_below(file.real_path, one.path) || lies_below(file.real_path, one.place) ||
          is_same(one.identity, file))
        return Error::plain(fmt::format("load {}: it lies in {}, {}", printable(told),
                                        printable(one.path), kRefusal),
                            "copy what is needed to another folder, if that is meant");
  }
  if (const Ruled* rule = control_enabled("session-load-policy") ? hides(file) : nullptr)
    return Error::plain(fmt::format("load {}: the policy hides {}, {}", printable(told),
                                    printable(rule->said.text), kRefusal),
                        "allowRead in the settings shows a part of what denyRead hides");
  return {};
}

}  // namespace caisson::session
