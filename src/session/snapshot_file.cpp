#include "session/snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

#include "base/control.h"
#include "base/scope_exit.h"
#include "base/sha256.h"
#include "base/text.h"
#include "session/event.h"

namespace caisson::session {

namespace {

constexpr std::string_view kMark = "caisson-snapshot 1 ";
constexpr size_t kMostHead = 256;
constexpr int64_t kMostAhead = 3600;  // of this host's clock
constexpr size_t kSnapshotPiece = 1 << 20;
constexpr std::chrono::milliseconds kSnapshotSlice{5};  // of work, before others have their turn

Result<void> write_at(int fd, std::string_view bytes, uint64_t at, const std::string& what) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error::system("write " + what);
    bytes.remove_prefix(static_cast<size_t>(written));
    at += static_cast<uint64_t>(written);
  }
  return {};
}

// Fewer bytes than asked for: the file has become shorter.
Result<void> read_at(int fd, std::string& piece, uint64_t at, const std::string& what) {
  size_t have = 0;
  while (have < piece.size()) {
    ssize_t got =
        ::pread(fd, piece.data() + have, piece.size() - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + what);
    if (got == 0) return Error::plain(what + ": it became shorter while it was read");
    have += static_cast<size_t>(got);
  }
  return {};
}

struct Range {
  uint64_t from = 0, to = 0, size = 0;  // where it begins in either file, and how long it is
};

// The bytes of one file into another, and their hash.
Task<Result<std::string>> copy_in_turns(Loop& loop, int from, int to, Range range,
                                        const std::string& what) {
  Sha256 hash;
  std::string piece;
  auto begin = SteadyClock::now();
  for (uint64_t done = 0; done < range.size; done += piece.size()) {
    piece.resize(static_cast<size_t>(std::min<uint64_t>(kSnapshotPiece, range.size - done)));
    Result<void> moved = read_at(from, piece, range.from + done, what);
    if (moved) moved = write_at(to, piece, range.to + done, what);
    if (!moved) co_return moved.error();
    hash.add(piece);
    if (SteadyClock::now() - begin < kSnapshotSlice) continue;
    co_await boost::asio::post(loop.get_executor(), kAwait);
    begin = SteadyClock::now();
  }
  co_return hash.hex();
}

Result<struct stat> look_at(int fd, const std::string& what) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return Error::system("look at " + what);
  if (!S_ISREG(info.st_mode)) return Error::plain(what + ": not a regular file");
  return info;
}

struct Draft {
  std::string path;
  UniqueFd fd;
  uint64_t size = 0;
};

// Beside its place and then moved there: a reader finds the old one or the new one, never half.
Result<Draft> begin_draft(const SnapshotTarget& target, int from) {
  if (!target.path.starts_with('/')) return Error::plain("a snapshot's path begins with /");
  struct stat info = TRY(look_at(from, "the snapshot"));
  Draft draft{fmt::format("{}.{}.new", target.path, ::getpid()), {}, 0};
  draft.size = static_cast<uint64_t>(info.st_size);
  TRY(check_snapshot_size(draft.size, static_cast<uint64_t>(info.st_blocks) * 512,
                          target.most_bytes));
  ::unlink(draft.path.c_str());
  draft.fd.reset(
      ::open(draft.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!draft.fd) return Error::system("write " + printable(draft.path));
  return draft;
}

Result<void> finish_draft(const SnapshotTarget& target, const Draft& draft,
                          const std::string& head) {
  TRY(write_at(draft.fd.get(), head, 0, printable(target.path)));
  if (target.is_wanted && !target.is_wanted())
    return Error::plain("the snapshot was overtaken by what came after it");
  if (::rename(draft.path.c_str(), target.path.c_str()) != 0)
    return Error::system("put " + printable(target.path) + " in its place");
  return {};
}

// What is known of a snapshot's file before its bytes are read.
struct Opened {
  UniqueFd fd, memory;
  SnapshotHead head;
};

Result<Opened> open_snapshot(const std::string& path) {
  if (!path.starts_with('/')) return Error::plain("a snapshot's path begins with /");
  Opened opened;
  opened.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!opened.fd) return Error::system("open " + printable(path));
  struct stat info = TRY(look_at(opened.fd.get(), printable(path)));
  auto size = static_cast<uint64_t>(info.st_size);
  if (size > kMostSnapshot + kMostHead)
    return Error::plain(
        fmt::format("{}: {} bytes; the bound is {}", printable(path), size, kMostSnapshot));
  std::string start(static_cast<size_t>(std::min<uint64_t>(size, kMostHead)), '\0');
  TRY(read_at(opened.fd.get(), start, 0, printable(path)));
  Result<SnapshotHead> head = parse_snapshot_head(start, ::time(nullptr));
  if (!head) return Error::plain(printable(path) + ": " + head.error().what, head.error().hint);
  opened.head = std::move(*head);
  if (opened.head.size != size - opened.head.length)
    return Error::plain(printable(path) + ": the snapshot is damaged: its size does not fit");
  opened.memory.reset(::memfd_create("caisson-snapshot", MFD_CLOEXEC));
  if (!opened.memory) return Error::system("make a memfd");
  return opened;
}

}  // namespace

std::string snapshot_head(uint64_t size, std::string_view sha256, int64_t now) {
  return fmt::format("{}{} {} {}\n", kMark, now, size, sha256);
}

Result<SnapshotHead> parse_snapshot_head(std::string_view file, int64_t now) {
  size_t end = file.substr(0, kMostHead).find('\n');
  if (end == std::string_view::npos || !file.starts_with(kMark))
    return Error::plain("not a snapshot of a session");
  std::vector<std::string_view> parts = split(file.substr(kMark.size(), end - kMark.size()), ' ');
  auto read = [](std::string_view text, auto& number) {
    auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && rest == text.data() + text.size();
  };
  SnapshotHead head;
  if (parts.size() != 3 || !read(parts[0], head.made) || !read(parts[1], head.size))
    return Error::plain("not a snapshot of a session");
  head.sha256 = std::string(parts[2]);
  head.length = end + 1;
  // No difference is taken of what a file says: there is none of the least number and now.
  if (head.made > now + kMostAhead)
    return Error::plain("the snapshot has a time that is still to come",
                        "is this host's clock right? else start a new session");
  if (head.made < now - kSnapshotSeconds)
    return Error::plain("the snapshot is older than 30 days", "start a new session");
  return head;
}

Result<void> check_snapshot_size(uint64_t size, uint64_t allocated, uint64_t most) {
  if (size > most)
    return Error::plain(fmt::format("the snapshot: {} bytes; the bound is {}", size, most));
  if (allocated < size / 2 && control_enabled("session-snapshot-holes"))
    return Error::plain(fmt::format("the snapshot: {} bytes, of which the session wrote {} at most",
                                    size, allocated));
  return {};
}

Task<Result<void>> write_snapshot(Loop& loop, SnapshotTarget target, UniqueFd from) {
  Result<Draft> draft = begin_draft(target, from.get());
  if (!draft) co_return draft.error();
  ScopeExit clear([&draft] { ::unlink(draft->path.c_str()); });  // when it is still there
  // A head of the same length: the hash is known at the end.
  int64_t now = ::time(nullptr);
  uint64_t behind = snapshot_head(draft->size, std::string(64, '0'), now).size();
  Range range{0, behind, draft->size};
  std::string what = "the snapshot";
  Result<std::string> hash = co_await copy_in_turns(loop, from.get(), draft->fd.get(), range, what);
  if (!hash) co_return hash.error();
  co_return finish_draft(target, *draft, snapshot_head(draft->size, *hash, now));
}

Task<Result<UniqueFd>> read_snapshot(Loop& loop, std::string path) {
  Result<Opened> opened = open_snapshot(path);
  if (!opened) co_return opened.error();
  Range range{opened->head.length, 0, opened->head.size};
  std::string what = printable(path);
  Result<std::string> hash =
      co_await copy_in_turns(loop, opened->fd.get(), opened->memory.get(), range, what);
  if (!hash) co_return hash.error();
  if (*hash != opened->head.sha256)
    co_return Error::plain(what + ": the snapshot is damaged: its hash does not fit");
  co_return std::move(opened->memory);
}

}  // namespace caisson::session
