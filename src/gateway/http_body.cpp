#include "gateway/http_body.h"

#include "gateway/event.h"
#include "gateway/pump.h"

namespace caisson {
namespace {

constexpr size_t kEnoughToWrite = 16 * 1024;
constexpr uint64_t kWorthMoving = 64 * 1024;  // by the kernel
constexpr uint64_t kTurn = 2 * 1024 * 1024;

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
      from.skip_length();
      co_return RelayEnd::kDone;
    case PumpEnd::kWriteFailed:
      co_return RelayEnd::kTargetFailed;
    case PumpEnd::kBudget:
      co_return RelayEnd::kBudget;
    default:
      co_return RelayEnd::kSourceFailed;
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

Task<RelayEnd> relay_body(BodyRelay& relay, HttpReader& from, BodySink& to) {
  std::string rewritten;
  uint64_t since_turn = 0;
  for (;;) {
    HttpReader::Piece piece = from.piece_at_hand();
    if (piece.failed) co_return RelayEnd::kSourceFailed;
    if (piece.need_more()) {
      if (!co_await to.flush()) co_return RelayEnd::kTargetFailed;
      if (!relay.filter && to.counts_by_length() && from.length_on_wire() >= kWorthMoving)
        co_return co_await move_rest(relay, from, to);
      co_await from.more();
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
