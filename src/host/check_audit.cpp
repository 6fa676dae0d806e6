// Whether the record can be written, by the rules of run/audit_files.cpp: what is not the caller's
// own or can be written by others is refused.
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/text.h"
#include "host/checks.h"

namespace caisson {

namespace {

using Kind = FileFacts::Kind;
using Lines = std::vector<std::string>;

constexpr const char* kName = "audit folder";
constexpr const char* kWhy = "every execution is on record; without a record nothing runs";
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

Check failed_check(std::string found, Lines fix) {
  fix.push_back(fix.empty() ? "# keep the record elsewhere:" : "# or keep the record elsewhere:");
  fix.push_back("export XDG_STATE_HOME=/a/folder/of/yours");
  return {kName, CheckStatus::kFail, std::move(found), kWhy, std::move(fix)};
}

// What is wrong with a file or folder that must be ours alone; nothing, if nothing is.
std::optional<Check> refuse(const std::string& path, const FileFacts& found, Kind wanted,
                            uid_t uid) {
  std::string quoted = shell_quote(path);
  if (found.kind != wanted)
    return failed_check(
        fmt::format("{} is {}", path, found.kind == Kind::kLink ? "a link" : "something else"),
        {fmt::format("mv {0} {0}.aside", quoted)});
  if (found.owner != uid)
    return failed_check(fmt::format("{} belongs to uid {}", path, found.owner),
                        {fmt::format("sudo chown {} {}", uid, quoted)});
  if (found.mode & kOthersWrite)
    return failed_check(fmt::format("{} can be written by others", path),
                        {fmt::format("chmod go-w {}", quoted)});
  if (!found.writable)
    return failed_check(fmt::format("{} can't be written", path),
                        {fmt::format("chmod u+rwX {}", quoted)});
  return std::nullopt;
}

// The folder above may be the system's, but nobody may be able to swap what we make in it.
Check judge_missing(const DeepFacts& facts) {
  const AuditFacts& audit = facts.audit;
  if (!audit.above_facts || audit.above_facts->kind != Kind::kFolder)
    return failed_check(fmt::format("{} is no folder", audit.above), {});
  const FileFacts& above = *audit.above_facts;
  if (!above.writable)
    return failed_check(fmt::format("{} can't be made: {} is not writable by uid {}", audit.folder,
                                    audit.above, facts.host.uid),
                        {});
  bool is_trusted = above.owner == facts.host.uid || above.owner == 0;
  bool can_be_swapped = (above.mode & kOthersWrite) && !(above.mode & S_ISVTX);
  if (!is_trusted)
    return failed_check(fmt::format("{} can't be made safely: {} belongs to uid {}", audit.folder,
                                    audit.above, above.owner),
                        {});
  if (can_be_swapped)
    return failed_check(
        fmt::format("{} can't be made safely: {} can be written by others", audit.folder,
                    audit.above),
        {fmt::format("{}chmod go-w {}", above.owner == facts.host.uid ? "" : "sudo ",
                     shell_quote(audit.above))});
  return {kName, CheckStatus::kOk,
          fmt::format("{} will be made with the first record", audit.folder)};
}

Check judge(const DeepFacts& facts) {
  const AuditFacts& audit = facts.audit;
  if (!audit.folder_facts) return judge_missing(facts);
  if (auto wrong = refuse(audit.folder, *audit.folder_facts, Kind::kFolder, facts.host.uid))
    return *wrong;
  if (audit.file_facts)
    if (auto wrong = refuse(audit.file, *audit.file_facts, Kind::kFile, facts.host.uid))
      return *wrong;
  if (audit.folder_facts->mode & (S_IRWXG | S_IRWXO))
    return {kName,
            CheckStatus::kWarn,
            fmt::format("{} can be read by others", audit.folder),
            "the record names every command that was run",
            {fmt::format("chmod 700 {}", shell_quote(audit.folder))}};
  return {kName, CheckStatus::kOk, fmt::format("{} can be written and is private", audit.folder)};
}

}  // namespace

void check_audit(const DeepFacts& facts, Checks& checks) { checks.push_back(judge(facts)); }

}  // namespace caisson
