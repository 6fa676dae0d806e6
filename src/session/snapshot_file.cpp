#include "session/snapshot_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "session/frames.h"

namespace caisson::session {

namespace {

constexpr std::string_view kMark = "caisson-snapshot 1 ";
constexpr size_t kMostHead = 256;

Result<std::string> read_whole(int fd, uint64_t most, const std::string& what) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return Error::system("look at " + what);
  if (!S_ISREG(info.st_mode)) return Error::plain(what + ": not a regular file");
  if (static_cast<uint64_t>(info.st_size) > most)
    return Error::plain(fmt::format("{}: {} bytes; the bound is {}", what, info.st_size, most));
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t got = ::pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + what);
    if (got == 0) break;  // the cell has made it shorter meanwhile
    at += static_cast<size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

Result<void> write_whole(int fd, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error::system("write " + what);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

std::string snapshot_head(std::string_view bytes, int64_t now) {
  return fmt::format("{}{} {} {}\n", kMark, now, bytes.size(), sha256_hex(bytes));
}

Result<std::string_view> snapshot_body(std::string_view file, int64_t now) {
  size_t end = file.substr(0, kMostHead).find('\n');
  if (end == std::string_view::npos || !file.starts_with(kMark))
    return Error::plain("not a snapshot of a session");
  std::vector<std::string_view> parts = split(file.substr(kMark.size(), end - kMark.size()), ' ');
  std::string_view body = file.substr(end + 1);
  int64_t made = 0;
  uint64_t size = 0;
  auto read = [](std::string_view text, auto& number) {
    auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && rest == text.data() + text.size();
  };
  if (parts.size() != 3 || !read(parts[0], made) || !read(parts[1], size))
    return Error::plain("not a snapshot of a session");
  if (size != body.size() || sha256_hex(body) != parts[2])
    return Error::plain("the snapshot is damaged: its hash does not fit");
  if (made > now + 3600 || now - made > kSnapshotSeconds)
    return Error::plain("the snapshot is older than 30 days", "start a new session");
  return body;
}

Result<void> write_snapshot(const std::string& path, int from) {
  if (!path.starts_with('/')) return Error::plain("a snapshot's path begins with /");
  std::string bytes = TRY(read_whole(from, kMostSnapshot, "the snapshot"));
  // Beside its place and then moved there: a reader finds the old one or the new one, never half.
  std::string beside = fmt::format("{}.{}.new", path, ::getpid());
  ::unlink(beside.c_str());
  UniqueFd to{::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!to) return Error::system("write " + printable(beside));
  Result<void> written = write_whole(to.get(), snapshot_head(bytes, ::time(nullptr)), path);
  if (written) written = write_whole(to.get(), bytes, path);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0)
    written = Error::system("put " + printable(path) + " in its place");
  if (!written) ::unlink(beside.c_str());
  return written;
}

Result<UniqueFd> read_snapshot(const std::string& path) {
  if (!path.starts_with('/')) return Error::plain("a snapshot's path begins with /");
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!fd) return Error::system("open " + printable(path));
  std::string file = TRY(read_whole(fd.get(), kMostSnapshot + kMostHead, printable(path)));
  Result<std::string_view> body = snapshot_body(file, ::time(nullptr));
  if (!body) return Error::plain(printable(path) + ": " + body.error().what, body.error().hint);
  return sealed_memfd("caisson-snapshot", *body);
}

}  // namespace caisson::session
