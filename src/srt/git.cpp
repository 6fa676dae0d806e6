#include "srt/git.h"

#include <fmt/format.h>

#include "base/text.h"
#include "policy/places.h"
#include "policy/units.h"

namespace caisson::srt {

namespace {

constexpr size_t kMostGitFile = 4096;
constexpr size_t kMostFolders = 8;  // more than that are one "*"

// The folder that a file or a link of the name `.git` leads to.
std::optional<std::string> folder_behind(const std::string& cwd, const HostFiles& files) {
  std::string name = join_path(cwd, ".git");
  std::optional<FileIdentity> found = files.look(name);
  if (!found) return std::nullopt;
  if (found->kind == FileIdentity::Kind::kDirectory)
    return files.link_target(name) ? files.canonical(name) : std::nullopt;
  if (found->kind != FileIdentity::Kind::kFile) return std::nullopt;
  std::optional<std::string> text = files.read(name, kMostGitFile);
  constexpr std::string_view kStart = "gitdir:";
  if (!text || !text->starts_with(kStart)) return std::nullopt;
  std::string target(trim(std::string_view(*text).substr(kStart.size())));
  Result<std::string> folder = clean_path(target, cwd);
  return folder ? std::optional(*folder) : std::nullopt;
}

}  // namespace

std::vector<std::string> git_folders_elsewhere(const std::string& cwd, const HostFiles& files) {
  std::optional<std::string> own = folder_behind(cwd, files);
  if (!own) return {};
  std::vector<std::string> folders{*own};
  // A worktree's own folder names the one that all worktrees share.
  if (std::optional<std::string> shared = files.read(*own + "/commondir", kMostGitFile))
    if (Result<std::string> common = clean_path(trim(*shared), *own)) folders.push_back(*common);
  return folders;
}

std::vector<std::pair<std::string, std::string>> safe_directory_variables(
    const std::vector<std::string>& folders, const Caller& caller) {
  std::string said = caller.env("GIT_CONFIG_COUNT");
  if (folders.empty() || said == "0") return {};
  Result<uint32_t> before = parse_count(said.empty() ? "0" : said, 0, 100'000);
  if (!before) return {};  // git itself refuses such a count
  std::vector<std::string> values;
  for (const std::string& folder : folders)
    for (const char* ending : {"", "/*"}) values.push_back(folder + ending);
  if (folders.size() > kMostFolders) values = {"*"};
  std::vector<std::pair<std::string, std::string>> out;
  uint32_t at = *before;
  for (const std::string& value : values) {
    out.emplace_back(fmt::format("GIT_CONFIG_KEY_{}", at), "safe.directory");
    out.emplace_back(fmt::format("GIT_CONFIG_VALUE_{}", at++), value);
  }
  out.emplace_back("GIT_CONFIG_COUNT", std::to_string(at));
  return out;
}

}  // namespace caisson::srt
