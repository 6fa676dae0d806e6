#include "session/state_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

#include "base/text.h"
#include "base/unique_fd.h"

namespace caisson::session {

namespace {

constexpr size_t kLongestReason = 300;
constexpr std::string_view kSnapshotEnd = ".snapshot";

std::string moment(time_t time) {
  struct tm parts {};
  char text[64] = "some moment";
  if (::gmtime_r(&time, &parts)) ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

}  // namespace

void StateMark::begin() {
  ++begun_;
  if (wanted_ || path_.empty()) return;
  wanted_ = true;
  boost::asio::post(loop_, [weak = weak_from_this()] {
    if (std::shared_ptr<StateMark> self = weak.lock(); self && self->wanted_) self->make();
  });
}

// Its age is that of the first call that no snapshot has.
void StateMark::make() {
  UniqueFd fd{::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
}

void StateMark::saved(std::optional<uint64_t> seen) {
  if (seen && *seen == begun_) clear();
}

void StateMark::clear() {
  if (!std::exchange(wanted_, false)) return;
  ::unlink(path_.c_str());
}

void StateMark::explain(std::string_view why) const {
  if (!wanted_) return;
  UniqueFd fd{::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)};
  struct timespec as_it_was[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
  struct stat info;
  if (!fd || ::fstat(fd.get(), &info) != 0) return;
  as_it_was[1] = info.st_mtim;
  if (::ftruncate(fd.get(), 0) != 0) return;
  (void)!::write(fd.get(), why.data(), std::min(why.size(), kLongestReason));
  ::futimens(fd.get(), as_it_was);
}

std::string mark_path(std::string_view snapshot) {
  if (snapshot.ends_with(kSnapshotEnd)) snapshot.remove_suffix(kSnapshotEnd.size());
  return fmt::format("{}.unsaved", snapshot);
}

std::string take_mark(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat info;
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  char text[kLongestReason];
  ssize_t got = std::max<ssize_t>(::read(fd.get(), text, sizeof text), 0);
  ::unlink(path.c_str());
  std::string why = printable(trim(std::string_view(text, static_cast<size_t>(got))));
  if (why.empty()) why = "the session, or its server, ended before that";
  return fmt::format("state since {} was not saved: {}", moment(info.st_mtime), why);
}

}  // namespace caisson::session
