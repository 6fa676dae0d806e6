#include "gateway/http_body.h"

#include <algorithm>

#include "gateway/held_tail.h"
#include "gateway/pump.h"
#include "gateway/tls_stream.h"

namespace caisson {
namespace {

constexpr size_t kEnoughToWrite = 16 * 1024;
constexpr uint64_t kWorthMoving = 64 * 1024;  // by the kernel
constexpr uint64_t kTurn = 2 * 1024 * 1024;
constexpr uint32_t kFewBodies = 32;  // as many may hold four records at once instead of one

bool feed(BodyRelay& relay, const HttpReader::Piece& piece, std::string& out) {
  if (!relay.filter->feed(piece.bytes, out)) return false;
  return !piece.last || relay.filter->finish(out);
}

// The rest of a body whose length is known, without a look at it.
Task<RelayEnd> move_rest(BodyRelay& relay, HttpReader& from, BodySink& to) {
  Pump pump{relay.core.loop, relay.core.pipes, relay.core.traffic,   relay.deadline, relay.way,
            nullptr,         nullptr,          from.length_on_wire()};
  switch (co_await run_pump(pump, from.stream(), to.stream())) {
    case PumpEnd::kLimit:
      from.took(from.length_on_wire());
      co_return RelayEnd::kDone;
    case PumpEnd::kWriteFailed:
      co_return RelayEnd::kTargetFailed;
    case PumpEnd::kBudget:
      co_return RelayEnd::kBudget;
    default:
      co_return RelayEnd::kSourceFailed;
  }
}

struct LargeBody {
  explicit LargeBody(Core& all) : core(all) { ++core.large_bodies; }
  ~LargeBody() { --core.large_bodies; }
  LargeBody(const LargeBody&) = delete;
  LargeBody& operator=(const LargeBody&) = delete;
  // What one of them reads at once: a thousand that nobody takes must stay small.
  size_t piece() const {
    return core.large_bodies <= kFewBodies ? core.pipes.scratch.size() : TlsStream::kRecord;
  }
  Core& core;
};

// What the filter holds goes on though more could still decide it otherwise.
RelayEnd let_go(BodyRelay& relay, BodySink& to) {
  std::string rest;
  if (!relay.filter->finish(rest)) return RelayEnd::kRefused;
  to.add(rest);
  return RelayEnd::kDone;
}

// Whether silence from here on is the source's own.
bool silence_counts(const BodyRelay& relay) {
  if (!control_enabled("gateway-held-tail")) return true;
  return !relay.request_sent || relay.request_sent->is_set();
}

// Nothing came: all that was told goes on before a wait, and before an end. kDone: try again.
// `silent`: nothing came for as long as the filter may hold something.
Task<RelayEnd> flush_and_wait(BodyRelay& relay, Moved nothing, bool& silent, HttpReader& from,
                              BodySink& to) {
  bool held_long = std::exchange(silent, false) && nothing.would_block();
  if (held_long && let_go(relay, to) != RelayEnd::kDone) co_return RelayEnd::kRefused;
  bool flushed = co_await to.flush();
  if (!flushed) co_return RelayEnd::kTargetFailed;
  if (!nothing.would_block()) co_return RelayEnd::kSourceFailed;
  int error = 0;
  bool counts = silence_counts(relay);
  if (relay.filter->holds())
    error = co_await from.stream().wait_read_within(HeldTail(relay.way).patience());
  else
    error = co_await from.stream().wait_read();
  silent = error == ETIMEDOUT && counts;
  bool failed = error != 0 && error != ETIMEDOUT;
  co_return failed ? RelayEnd::kSourceFailed : RelayEnd::kDone;
}

// The same where the reader takes what comes.
Task<RelayEnd> await_more(BodyRelay& relay, HttpReader& from, BodySink& to) {
  bool came = true, counts = silence_counts(relay);
  if (relay.filter && relay.filter->holds())
    came = co_await from.more_within(HeldTail(relay.way).patience());
  else
    co_await from.more();
  co_return came || !counts ? RelayEnd::kDone : let_go(relay, to);
}

// The rest of a body whose length is known, through its filter: read into the scratch, and from
// there written anew once.
Task<RelayEnd> filter_rest(BodyRelay& relay, HttpReader& from, BodySink& to) {
  LargeBody body(relay.core);
  HeldTail tail(relay.way);
  uint64_t since_turn = 0;
  bool silent = false;
  for (;;) {
    if (tail.is_let_go_by_mutant()) let_go(relay, to);
    size_t size = std::min<uint64_t>(body.piece(), from.length_on_wire());
    std::span<uint8_t> scratch = std::span<uint8_t>(relay.core.pipes.scratch).first(size);
    Moved got = from.stream().try_read(scratch);
    if (got.bytes == 0) {
      RelayEnd end = co_await flush_and_wait(relay, got, silent, from, to);
      if (end != RelayEnd::kDone) co_return end;
      continue;
    }
    silent = false;
    tail.bytes_came();
    from.took(got.bytes);
    relay.deadline.after(kIdleTime);
    if (!relay.core.traffic.count(relay.way, got.bytes)) co_return RelayEnd::kBudget;
    HttpReader::Piece piece{.bytes = {reinterpret_cast<const char*>(scratch.data()), got.bytes},
                            .last = from.length_on_wire() == 0};
    if (!feed(relay, piece, to.out)) co_return RelayEnd::kRefused;
    bool written = false;
    if (piece.last)
      written = co_await to.flush();
    else
      written = co_await to.flush_records();
    if (!written) co_return RelayEnd::kTargetFailed;
    if (piece.last) co_return RelayEnd::kDone;
    since_turn += got.bytes;
    if (since_turn >= kTurn) {
      co_await take_turns(relay.core.loop);
      since_turn = 0;
    }
  }
}

}  // namespace

bool SubstitutionFilter::feed(std::string_view piece, std::string& out) {
  if (refusal_.allowed) refusal_ = substitution_.body(piece, out);
  return refusal_.allowed;
}

bool SubstitutionFilter::finish(std::string& out) {
  if (refusal_.allowed) refusal_ = substitution_.finish_body(out);
  return refusal_.allowed;
}

bool MaskFilter::feed(std::string_view piece, std::string& out) {
  mask_.body(piece, out);
  return true;
}

bool MaskFilter::finish(std::string& out) {
  mask_.finish_body(out);
  return true;
}

void BodySink::add(std::string_view piece) {
  if (piece.empty()) return;
  if (framing_ == Framing::kChunked) out += chunk_start(piece.size());
  out += piece;
  if (framing_ == Framing::kChunked) out += kChunkEnd;
}

void BodySink::end() {
  if (framing_ == Framing::kChunked) out += kLastChunk;
}

Task<bool> BodySink::flush() {
  if (out.empty()) co_return true;
  bool written = co_await to_.write(out) == 0;
  out.clear();
  if (out.capacity() > 2 * kEnoughToWrite) out = {};
  co_return written;
}

Task<bool> BodySink::flush_records() {
  size_t whole = out.empty() ? 0 : (out.size() - 1) / TlsStream::kRecord * TlsStream::kRecord;
  if (whole == 0) co_return true;
  std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(out.data()), whole};
  int error = co_await to_.write(bytes, Then::kMore);
  out.erase(0, whole);
  co_return error == 0;
}

Task<RelayEnd> relay_body(BodyRelay& relay, HttpReader& from, BodySink& to) {
  std::string rewritten;
  uint64_t since_turn = 0;
  for (;;) {
    HttpReader::Piece piece = from.piece_at_hand();
    if (piece.failed) co_return RelayEnd::kSourceFailed;
    if (piece.need_more()) {
      if (!co_await to.flush()) co_return RelayEnd::kTargetFailed;
      if (to.counts_by_length() && from.length_on_wire() >= kWorthMoving) {
        if (!relay.filter) co_return co_await move_rest(relay, from, to);
        co_return co_await filter_rest(relay, from, to);
      }
      RelayEnd end = co_await await_more(relay, from, to);
      if (end != RelayEnd::kDone) co_return end;
      continue;
    }
    relay.deadline.after(kIdleTime);
    since_turn += piece.bytes.size();
    if (!relay.core.traffic.count(relay.way, piece.bytes.size())) co_return RelayEnd::kBudget;
    if (relay.filter) {
      rewritten.clear();
      if (!feed(relay, piece, rewritten)) co_return RelayEnd::kRefused;
      to.add(rewritten);
    } else {
      to.add(piece.bytes);
    }
    if (piece.last) to.end();
    if ((piece.last || to.out.size() >= kEnoughToWrite) && !co_await to.flush())
      co_return RelayEnd::kTargetFailed;
    if (piece.last) co_return RelayEnd::kDone;
    if (since_turn >= kTurn) {
      co_await take_turns(relay.core.loop);
      since_turn = 0;
    }
  }
}

Task<Gathered> gather_body(BodyRelay& relay, HttpReader& from, uint64_t most) {
  Gathered gathered;
  uint64_t taken = 0;
  for (;;) {
    HttpReader::Piece piece = from.piece_at_hand();
    taken += piece.bytes.size();
    if (piece.failed || taken > most) {
      gathered.end = piece.failed ? RelayEnd::kSourceFailed : RelayEnd::kTooLarge;
      co_return gathered;
    }
    if (piece.need_more()) {
      co_await from.more();
      continue;
    }
    relay.deadline.after(kIdleTime);
    if (!relay.core.traffic.count(relay.way, piece.bytes.size()))
      gathered.end = RelayEnd::kBudget;
    else if (!relay.filter)
      gathered.body += piece.bytes;
    else if (!feed(relay, piece, gathered.body))
      gathered.end = RelayEnd::kRefused;
    if (piece.last || gathered.end != RelayEnd::kDone) co_return gathered;
  }
}

}  // namespace caisson
