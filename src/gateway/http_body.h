// Bodies on their way from one connection to the other, in pieces.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core.h"
#include "gateway/event.h"
#include "gateway/http_reader.h"
#include "gateway/placeholder_substitution.h"
#include "gateway/response_mask.h"

namespace caisson {

// Something that rewrites a body or refuses it.
class BodyFilter {
 public:
  virtual ~BodyFilter() = default;
  virtual bool feed(std::string_view piece, std::string& out) = 0;
  virtual bool finish(std::string& out) = 0;  // with what has come; it may be fed again
  virtual bool holds() const = 0;             // something that isn't decided yet
};

class SubstitutionFilter final : public BodyFilter {
 public:
  explicit SubstitutionFilter(Substitution& substitution) : substitution_(substitution) {}
  bool feed(std::string_view piece, std::string& out) override;
  bool finish(std::string& out) override;
  bool holds() const override { return substitution_.holds(); }
  const Verdict& refusal() const { return refusal_; }

 private:
  Substitution& substitution_;
  Verdict refusal_{.allowed = true};
};

class MaskFilter final : public BodyFilter {
 public:
  explicit MaskFilter(ResponseMask& mask) : mask_(mask) {}
  bool feed(std::string_view piece, std::string& out) override;
  bool finish(std::string& out) override;
  bool holds() const override { return mask_.holds(); }

 private:
  ResponseMask& mask_;
};

// Writes the head and then the body in the framing that the head told.
class BodySink {
 public:
  BodySink(Stream& to, Framing framing) : to_(to), framing_(framing) {}

  std::string out;  // not yet written; the head to begin with
  void add(std::string_view piece);
  void end();
  Task<bool> flush();
  // As many full records of TLS as there are, less one byte at least: while something is left to
  // flush the kernel may wait for more to make full packets.
  Task<bool> flush_records();
  Stream& stream() { return to_; }
  bool counts_by_length() const { return framing_ == Framing::kLength; }

 private:
  Stream& to_;
  Framing framing_;
};

enum class RelayEnd { kDone, kSourceFailed, kTargetFailed, kBudget, kRefused, kTooLarge };

struct BodyRelay {
  Core& core;
  Deadline& deadline;
  Way way;
  BodyFilter* filter = nullptr;
  // Of an answer: set when the cell has sent its request to the end. Until then a host that says
  // nothing may be waiting for the cell (held_tail.h).
  const Event* request_sent = nullptr;
};
// Everything that the sink holds, then the body. Pieces go on as soon as they come.
Task<RelayEnd> relay_body(BodyRelay& relay, HttpReader& from, BodySink& to);

// All of a body, rewritten when there is a filter. One of more than `most` bytes is kTooLarge.
struct Gathered {
  RelayEnd end = RelayEnd::kDone;
  std::string body;
};
Task<Gathered> gather_body(BodyRelay& relay, HttpReader& from, uint64_t most = kMaxGathered);

}  // namespace caisson
