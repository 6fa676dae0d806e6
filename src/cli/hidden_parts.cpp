#include "cli/hidden_parts.h"

#include <fnmatch.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "policy/files.h"
#include "policy/places.h"
#include "session/path_walk.h"

namespace caisson {

namespace {

using Parts = std::vector<std::string>;

Parts parts_of(std::string_view path) {
  Parts out;
  for (std::string_view part : split(path, '/'))
    if (!part.empty() && part != ".") out.emplace_back(part);
  return out;
}

std::string joined(const Parts& parts, size_t from, size_t to) {
  std::string out;
  for (size_t i = from; i < to; ++i) out += fmt::format("{}{}", i == from ? "" : "/", parts[i]);
  return out;
}

// Letters are compared without their case, as the cell's own rules do (T06).
bool is_match(const FilePattern& pattern, const std::string& part, const std::string& name) {
  if (pattern.literal) return ::strcasecmp(part.c_str(), name.c_str()) == 0;
  return ::fnmatch(part.c_str(), name.c_str(), FNM_NOESCAPE | FNM_CASEFOLD) == 0;
}

// What of a pattern is still to be matched below `path`; "" when that itself is hidden. Nothing
// when it hides nothing there, and when it hides all of a folder above.
std::set<std::string> left_below(const FilePattern& pattern, const std::string& path) {
  Parts wanted = parts_of(pattern.text), names = parts_of(path);
  std::vector<bool> reached(wanted.size() + 1, false);
  auto is_any_depth = [&](size_t i) { return !pattern.literal && wanted[i] == "**"; };
  auto skip_any_depth = [&] {
    for (size_t i = 0; i < wanted.size(); ++i)
      if (reached[i] && is_any_depth(i)) reached[i + 1] = true;
  };
  reached[0] = true;
  skip_any_depth();
  for (const std::string& name : names) {
    if (reached.back()) return {};
    std::vector<bool> next(wanted.size() + 1, false);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!reached[i]) continue;
      if (is_any_depth(i))
        next[i] = true;
      else if (is_match(pattern, wanted[i], name))
        next[i + 1] = true;
    }
    reached = std::move(next);
    skip_any_depth();
  }
  std::set<std::string> left;
  for (size_t i = 0; i <= wanted.size(); ++i)
    if (reached[i]) left.insert(joined(wanted, i, wanted.size()));
  return left;
}

std::string head_of(const FilePattern& pattern) {
  return "/" + joined(parts_of(pattern.text), 0, literal_components(pattern));
}

// As it was written, and with the links in its head resolved.
std::vector<FilePattern> forms_of(const FilePattern& pattern) {
  std::vector<FilePattern> forms{pattern};
  Parts parts = parts_of(pattern.text);
  std::error_code failed;
  std::string head = std::filesystem::weakly_canonical(head_of(pattern), failed).string();
  if (failed) return forms;
  FilePattern real = pattern;
  real.text = join_path(head, joined(parts, literal_components(pattern), parts.size()));
  forms.push_back(std::move(real));
  return forms;
}

// What it names, as far as that is there, and all folders above. By another mount's name a folder
// is still the same.
std::vector<session::FileIdentity> way_to(const FilePattern& pattern) {
  auto walk_on = [](int, session::Turn) { return Result<void>(); };
  Result<session::Walked> walked = session::walk_path(head_of(pattern), walk_on);
  if (!walked) return {};
  std::vector<session::FileIdentity> way;
  struct stat info {};
  if (walked->end && ::fstat(walked->end.get(), &info) == 0)
    way.push_back({info.st_dev, info.st_ino});
  const UniqueFd& last = S_ISDIR(info.st_mode) ? walked->end : walked->folder;
  if (!last) return way;
  Result<std::vector<session::FileIdentity>> above = session::folders_from(last.get());
  if (above) way.insert(way.end(), above->begin(), above->end());
  return way;
}

struct Rule {
  FilePattern pattern;
  std::vector<FilePattern> forms;
  std::vector<session::FileIdentity> way;
};

std::vector<FilePattern> patterns_of(const Settings& settings) {
  std::vector<FilePattern> all = settings.file_rules.deny_read;
  for (const MaskSpec& one : settings.network_details.masks)
    if (one.source == SecretSource::kFile)
      all.push_back({.text = one.from, .literal = true, .origin = "the credential", .reason = {}});
  return all;
}

std::vector<Rule> hidden_by(const Settings& settings) {
  std::vector<Rule> rules;
  for (const FilePattern& one : patterns_of(settings))
    rules.push_back({one, forms_of(one), way_to(one)});
  return rules;
}

// "[t]" stands for itself (srt_small_root.cpp).
std::string readable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool bracket = text[i] == '[' && i + 2 < text.size() && text[i + 2] == ']';
    out += text[bracket ? i + 1 : i];
    if (bracket) i += 2;
  }
  return printable(out);
}

Error seen_elsewhere(const FilePattern& pattern, const ShownPlace& place, const std::string& left) {
  return Error::plain(
      fmt::format("{}: {} is hidden, but {} lies around it, and would show it as {}",
                  pattern.origin, readable(pattern.text), place.said,
                  readable(join_path(place.inside, left))),
      "deny it by that path as well, or leave one of them out; filesystem.allowRead and allowWrite "
      "show folders at their own paths, where the rule holds");
}

bool counts(const FilePattern& pattern, const ShownPlace& place, HiddenBy which) {
  return which == HiddenBy::kAny || is_within(head_of(pattern), place.source.path);
}

bool lies_in_by_identity(const Rule& rule, const session::WrittenFolder& folder) {
  return folder.identity != session::FileIdentity{} &&
         std::ranges::find(rule.way, folder.identity) != rule.way.end();
}

Result<void> check(const std::vector<Rule>& hidden, const ShownPlace& place, HiddenBy which) {
  std::set<std::string> held;
  for (const Rule& rule : hidden)
    for (const FilePattern& form : rule.forms) held.merge(left_below(form, place.inside));
  for (const Rule& rule : hidden) {
    std::set<std::string> left;
    for (const FilePattern& form : rule.forms)
      if (counts(form, place, which)) left.merge(left_below(form, place.source.path));
    for (const std::string& one : left)
      if (!held.contains(one)) return seen_elsewhere(rule.pattern, place, one);
    if (left.empty() && lies_in_by_identity(rule, place.source))
      return seen_elsewhere(rule.pattern, place, std::string(name_of(rule.pattern.text)));
  }
  return {};
}

}  // namespace

bool hides_files(const Settings& settings) {
  return !settings.file_rules.host_view && control_enabled("session-hidden-parts") &&
         !patterns_of(settings).empty();
}

Result<void> check_hidden_parts(const Settings& settings, const std::vector<ShownPlace>& places,
                                HiddenBy which) {
  if (!hides_files(settings)) return {};
  if (places.empty()) return {};
  std::vector<Rule> hidden = hidden_by(settings);
  for (const ShownPlace& place : places) TRY(check(hidden, place, which));
  return {};
}

}  // namespace caisson
