#include "gateway/pump.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/scope_exit.h"
#include "gateway/event.h"
#include "gateway/held_tail.h"

namespace caisson {
namespace {

constexpr uint64_t kPumpTurn = 4 * 1024 * 1024;  // bytes after which others have their turn
constexpr int kThinReads = 8;                    // small reads in a row end the bulk path

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether these bytes may go on.
std::optional<PumpEnd> check_pump(Pump& pump, std::span<const uint8_t> bytes) {
  if (!pump.traffic.count(pump.way, bytes.size())) return PumpEnd::kBudget;
  if (pump.scan && pump.scan->feed(as_text(bytes))) return PumpEnd::kPlaceholder;
  pump.deadline.after(kIdleTime);
  if (pump.limit != UINT64_MAX) pump.limit -= bytes.size();
  return std::nullopt;
}

// What was moved into the pipe by the kernel, or the errno.
Moved fill(SplicePipe& pipe, int from, uint64_t limit) {
  size_t size = std::min<uint64_t>(limit, Pipes::kSize);
  ssize_t got =
      splice(from, nullptr, pipe.write.get(), nullptr, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (got < 0) return {0, errno};
  pipe.filled += static_cast<size_t>(got);
  return {static_cast<size_t>(got), 0};
}

Task<bool> drain(SplicePipe& pipe, Socket& to) {
  while (pipe.filled != 0) {
    ssize_t put = splice(pipe.read.get(), nullptr, to.fd(), nullptr, pipe.filled,
                         SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (put > 0) {
      pipe.filled -= static_cast<size_t>(put);
    } else if (put < 0 && errno == EAGAIN) {
      if (co_await to.writable() != 0) co_return false;
    } else if (put == 0 || errno != EINTR) {
      co_return false;
    }
  }
  co_return true;
}

struct Spliced {
  std::optional<PumpEnd> end;  // nullopt: go on by copying
};

// The bulk path. Ends by itself when the flow grows thin.
Task<Spliced> splice_through(Pump& pump, Socket& from, Socket& to) {
  OneCore* core = pump.way == Way::kDown ? &pump.pipes.core : nullptr;
  if (core) core->hold();
  ScopeExit let_go([core] {
    if (core) core->release();
  });
  uint64_t since_turn = 0;
  int thin = 0;
  while (thin < kThinReads) {
    std::optional<SplicePipe> pipe = pump.pipes.take();
    if (!pipe) co_return Spliced{};
    ScopeExit give_back([&] { pump.pipes.give_back(std::move(*pipe)); });
    Moved got = fill(*pipe, from.fd(), pump.limit);
    if (got.would_block()) {
      if (co_await from.readable() != 0) co_return Spliced{PumpEnd::kReadFailed};
      continue;
    }
    // Some sockets can't be spliced (their namespace, a sanitizer): copying always works.
    if (got.error == EINVAL) co_return Spliced{};
    if (got.error) co_return Spliced{PumpEnd::kReadFailed};
    if (got.bytes == 0) co_return Spliced{PumpEnd::kEnd};
    if (!pump.traffic.count(pump.way, got.bytes)) co_return Spliced{PumpEnd::kBudget};
    pump.deadline.after(kIdleTime);
    if (pump.limit != UINT64_MAX) pump.limit -= got.bytes;
    if (!co_await drain(*pipe, to)) co_return Spliced{PumpEnd::kWriteFailed};
    if (pump.limit == 0) co_return Spliced{PumpEnd::kLimit};
    thin = got.bytes < 16 * 1024 ? thin + 1 : 0;
    since_turn += got.bytes;
    if (since_turn >= kPumpTurn) {
      co_await take_turns(pump.loop);
      since_turn = 0;
    }
  }
  co_return Spliced{};
}

// Writes what the scratch holds; only what the peer doesn't take now is copied aside.
Task<bool> pass_on(std::span<const uint8_t> bytes, Stream& to) {
  Moved put = to.try_write(bytes);
  if (put.bytes == bytes.size()) co_return true;
  if (put.error && !put.would_block()) co_return false;
  std::vector<uint8_t> rest(bytes.begin() + static_cast<ptrdiff_t>(put.bytes), bytes.end());
  co_return co_await to.write(std::span<const uint8_t>(rest)) == 0;
}

Task<bool> write_held(std::string held, Stream& to) { co_return co_await to.write(held) == 0; }

// 0, ETIMEDOUT when what the mask holds has waited long enough, or an errno.
Task<int> wait_to_read(const Pump& pump, Stream& from) {
  if (!pump.mask || !pump.mask->silence_decides()) co_return co_await from.wait_read();
  co_return co_await from.wait_read_within(HeldTail(pump.way).patience());
}

}  // namespace

Task<PumpEnd> run_pump(Pump& pump, Stream& from, Stream& to) {
  uint64_t since_turn = 0;
  bool silent = false;  // for as long as a tail may be held
  for (;;) {
    if (pump.limit == 0) co_return PumpEnd::kLimit;
    std::span<uint8_t> scratch{pump.pipes.scratch};
    if (pump.limit < scratch.size()) scratch = scratch.first(pump.limit);
    Moved got = from.try_read(scratch);
    if (got.would_block()) {
      if (std::exchange(silent, false)) {
        bool written = co_await write_held(pump.mask->let_go(), to);
        if (!written) co_return PumpEnd::kWriteFailed;
        continue;
      }
      int error = co_await wait_to_read(pump, from);
      silent = error == ETIMEDOUT;
      if (error && !silent) co_return PumpEnd::kReadFailed;
      continue;
    }
    silent = false;
    if (got.error) co_return PumpEnd::kReadFailed;
    if (got.bytes == 0) {
      if (pump.mask) co_await write_held(pump.mask->finish(), to);
      co_return PumpEnd::kEnd;
    }
    std::span<const uint8_t> bytes = scratch.first(got.bytes);
    if (auto end = check_pump(pump, bytes)) co_return *end;
    std::string masked;
    if (pump.mask) {
      if (!pump.mask->feed(as_text(bytes), masked)) co_return PumpEnd::kUnmaskable;
      bytes = {reinterpret_cast<const uint8_t*>(masked.data()), masked.size()};
    }
    if (!co_await pass_on(bytes, to)) co_return PumpEnd::kWriteFailed;

    bool looks = pump.scan || pump.mask;
    bool bulk = got.bytes == pump.pipes.scratch.size() && !looks && pump.limit != 0;
    if (bulk && from.is_plain() && !from.has_unread() && to.is_plain()) {
      Spliced spliced = co_await splice_through(pump, from.socket(), to.socket());
      if (spliced.end) co_return *spliced.end;
    }
    since_turn += got.bytes;
    if (since_turn >= kPumpTurn) {
      co_await take_turns(pump.loop);
      since_turn = 0;
    }
  }
}

}  // namespace caisson
