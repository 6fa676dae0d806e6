#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/scope_exit.h"
#include "run/audit.h"
#include "run/audit_encode.h"
#include "run/audit_files.h"
#include "run/audit_tail.h"
#include "run/timestamp.h"

namespace caisson {

namespace {

constexpr std::chrono::microseconds kLongestStep{3'200};
constexpr size_t kLineFrame = 320;  // what a line holds besides its event, rounded up

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }
const char* file_name_of(const std::string& path) {
  return path.c_str() + path.find_last_of('/') + 1;
}
std::string line_after(AuditHead& head, const boost::json::object& event) {
  return make_audit_line(head, format_timestamp(now_ms()),
                         encode_event(event, kMaxAuditLine - kLineFrame));
}

Result<void> write_head(int file, const AuditHead& head) {
  std::string text = format_audit_head(head);
  ssize_t written = ::pwrite(file, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error::system("write audit.head");
  return {};
}

}  // namespace

std::string audit_path(const std::string& xdg_state_home, const std::string& home) {
  std::string state = xdg_state_home.starts_with('/') ? xdg_state_home : home + "/.local/state";
  while (state.size() > 1 && state.ends_with('/')) state.pop_back();
  return state + "/caisson/audit.jsonl";
}

std::string audit_head_path(const std::string& path) {
  constexpr std::string_view kEnding = ".jsonl";
  std::string stem = path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
  return stem + ".head";
}

Result<AuditLog> AuditLog::open(const std::string& path, std::chrono::milliseconds patience) {
  UniqueFd folder = TRY(open_own_folder(folder_of(path)));
  // O_APPEND: works with `chattr +a`, and no offset of ours can fall into the middle of the record.
  UniqueFd file = TRY(open_own_file(folder.get(), file_name_of(path), O_APPEND, path));
  return AuditLog(std::move(folder), std::move(file), path, patience);
}

// Between two appends of one long execution the file may have been moved away; what is written must
// go where the next reader looks.
Result<bool> AuditLog::was_replaced() const {
  struct stat ours {
  }, named{};
  if (::fstat(file_.get(), &ours) < 0) return Error::system("stat " + path_);
  if (::fstatat(folder_.get(), file_name_of(path_), &named, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno == ENOENT) return true;
    return Error::system("stat " + path_);
  }
  return ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
}

// Whoever can open the file, if only to read it, can lock it for good (flock(2)), and a writer
// waits with all signals blocked: so it waits by the clock.
Result<void> AuditLog::await_lock(std::chrono::steady_clock::time_point until) const {
  std::chrono::microseconds step{100};
  while (::flock(file_.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Error::system("lock " + path_);
    if (std::chrono::steady_clock::now() >= until)
      return Error::plain(
          fmt::format("audit log {}: another process has held its lock for {:.3g} s", path_,
                      std::chrono::duration<double>(patience_).count()),
          "`fuser -v` on that file names the process; end it, and start again");
    std::this_thread::sleep_for(step);
    step = std::min(step * 2, kLongestStep);
  }
  return {};
}

Result<void> AuditLog::lock() {
  auto until = std::chrono::steady_clock::now() + patience_;
  for (int attempt = 0; attempt < 8; ++attempt) {
    TRY(await_lock(until));
    if (!TRY(was_replaced())) return {};
    AuditLog again = TRY(open(path_, patience_));  // from its folder on: that may be gone as well
    *this = std::move(again);
  }
  return Error::plain(fmt::format("audit log {}: replaced again and again", path_),
                      "find out which program moves it, and stop that");
}

// Whole or not at all, while nobody else can look: a full disk must not leave half a line.
Result<void> AuditLog::write_lines(const std::string& lines, uint64_t old_size) {
  size_t done = 0;
  while (done < lines.size()) {
    ssize_t written = ::write(file_.get(), lines.data() + done, lines.size() - done);
    if (written > 0) {
      done += written;
    } else if (errno != EINTR) {
      Error error = Error::system("write " + path_);
      // If this fails too, the next writer finds a cut line and seals it.
      if (done > 0) (void)!::ftruncate(file_.get(), old_size);
      return error;
    }
  }
  return {};
}

Result<void> AuditLog::append(const boost::json::object& event) {
  TRY(lock());
  ScopeExit unlock([this] { ::flock(file_.get(), LOCK_UN); });
  std::string head_path = audit_head_path(path_);
  UniqueFd head_file = TRY(open_own_file(folder_.get(), file_name_of(head_path), 0, head_path));
  std::optional<AuditHead> head = read_audit_head(head_file.get());
  AuditTail tail = TRY(find_audit_tail(file_.get(), head));
  uint64_t size = tail.head.end;
  // A new chain: the head comes first, so that a file without one is never mistaken for new.
  if (!head && size == 0) TRY(write_head(head_file.get(), tail.head));
  std::string lines = tail.seal;
  tail.head.end += lines.size();
  if (!tail.report.empty()) lines += line_after(tail.head, tail.report);
  lines += line_after(tail.head, event);
  TRY(write_lines(lines, size));
  return write_head(head_file.get(), tail.head);
}

}  // namespace caisson
