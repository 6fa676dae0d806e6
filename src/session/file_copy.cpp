#include "session/file_copy.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace caisson::session {

namespace {

// Where the bytes of a file are, from `at` on. What lies between is a hole: a GiB of it costs a
// cell nothing, and is nothing to copy.
struct Extent {
  off_t begin = 0, end = 0;  // the same: there are no more
};

Extent next_extent(int file, off_t at) {
  constexpr off_t kNoEnd = std::numeric_limits<off_t>::max();
  off_t begin = ::lseek(file, at, SEEK_DATA);
  if (begin < 0 && errno != ENXIO) return {at, kNoEnd};  // of a file system that can't tell
  off_t size = ::lseek(file, 0, SEEK_END);
  // One that does not know the size of its files is read until it says that there is no more.
  if (begin < 0)
    return size > 0 || at > 0 ? Extent{std::max(at, size), std::max(at, size)} : Extent{0, kNoEnd};
  off_t end = ::lseek(file, begin, SEEK_HOLE);
  return {begin, end > begin ? end : kNoEnd};
}

Result<off_t> copy_some(int to, int from, off_t at, off_t end) {
  constexpr off_t kPiece = 1 << 20;
  if (::lseek(to, at, SEEK_SET) < 0) return Error::system("copy a file for the session");
  for (;;) {
    ssize_t moved = ::sendfile(to, from, &at, static_cast<size_t>(std::min(end - at, kPiece)));
    if (moved >= 0) return moved;
    if (errno != EINTR) return Error::system("copy a file for the session");
  }
}

}  // namespace

// For so many bytes of the file at hand, beside those before it.
Task<Result<void>> FileCopies::have_room(uint64_t bytes) {
  bytes += most_ - left_;
  if (share_.holds(bytes)) co_return Result<void>();
  Result<void> room = co_await share_.hold(bytes);
  is_out_of_room_ = !room;
  co_return room;
}

Task<Result<UniqueFd>> FileCopies::copy(int from, uint64_t expected, uint64_t& size) {
  Result<void> room = co_await have_room(expected);
  if (!room) co_return room.error();
  Result<UniqueFd> bytes = co_await copy_all(from, size);
  if (bytes) left_ -= std::min(left_, size);
  co_return bytes;
}

Task<Result<UniqueFd>> FileCopies::copy_all(int from, uint64_t& size) {
  UniqueFd to{::memfd_create("caisson-load", MFD_CLOEXEC)};  // lent, as in frames.h
  if (!to) co_return Error::system("make a memfd");
  Extent data = next_extent(from, 0);
  off_t at = data.begin;
  while (data.begin < data.end) {
    if (static_cast<uint64_t>(at) > left_)
      co_return Error::plain("a file that grows while it is loaded");
    Result<off_t> moved = copy_some(to.get(), from, at, data.end);
    if (!moved) co_return moved.error();
    at += *moved;
    if (*moved == 0) break;  // its end, or it became shorter
    Result<void> room = co_await have_room(static_cast<uint64_t>(at));  // it may grow
    if (!room) co_return room.error();
    if (at >= data.end) {
      data = next_extent(from, at);
      at = data.begin;
    }
    if (slices_.over()) co_await slices_.turn();
  }
  size = static_cast<uint64_t>(at);
  if (size > left_) co_return Error::plain("a file that grows while it is loaded");
  if (::ftruncate(to.get(), at) != 0) co_return Error::system("copy a file for the session");
  co_return std::move(to);
}

}  // namespace caisson::session
