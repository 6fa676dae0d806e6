// The frames of a session (docs/session-frames.md), as bytes: types, bounds, writing, reading. The
// reader believes nothing: a length, a type or a descriptor that doesn't fit ends the lane.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/foreign_fd.h"

namespace caisson::session {

enum class FrameType : uint8_t {
  kStart = 1,
  kExec,
  kInterrupt,
  kVars,
  kGet,
  kSet,
  kLoad,
  kReset,
  kCheckpoint,
  kRestore,
  kBranch,
  kCheckpoints,
  kDrop,
  kSave,
  kUnsave,
  kHostReply,
  kEnd,
  kStop,
  kHeard,
  kNonces,
  kHello = 65,
  kResult,
  kEnded,
  kHostCall,
  kDone,
  kRefused,
  kNote,
  kConfined,
  kLive,
  kWay,
  kSpawned = 2,  // of a zygote
};

// Who is at the other end: each may say its own words only.
enum class Speaker { kKeeper, kZygote };

constexpr size_t kMostBody = 1 << 20;  // of a frame; more is spilled into a memfd
constexpr size_t kMostSpilled = 64u
                                << 20;  // that we read of what a cell spilled, unless more is asked
constexpr size_t kMostFrameDescriptors = 8;
constexpr uint8_t kSpilledBit = 0x80;
constexpr size_t kHeaderBytes = 9;

// Flags of a RESULT, set by the keeper.
enum ResultFlag : uint8_t { kWasInterrupted = 1, kNoWayBack = 2, kProcessesEnded = 4 };

struct Frame {
  FrameType type;
  uint32_t request = 0;
  std::string body;
  ForeignFd spilled;  // the rest of the body is in it; nobody has looked at it yet
};

// What stands before the body of a call.
struct CallPrefix {
  uint32_t timeout_ms = 0, grace_ms = 0;
  uint8_t descriptors = 0;
};
std::string encode_prefix(const CallPrefix&);
std::string encode_frame(FrameType, bool spilled, uint32_t request, std::string_view body);

class FrameReader {
 public:
  explicit FrameReader(Speaker speaker = Speaker::kKeeper) : speaker_(speaker) {}
  // Bytes and descriptors as recvmsg(2) gave them, in order.
  Result<void> feed(std::string_view bytes, std::vector<ForeignFd> descriptors);
  // The next whole frame; none: more bytes are needed.
  Result<std::optional<Frame>> next();

 private:
  Speaker speaker_;
  std::string buffer_;
  size_t at_ = 0;
  std::deque<ForeignFd> descriptors_;
};

// A memfd with these bytes that nobody can change any more.
Result<UniqueFd> sealed_memfd(const char* name, std::string_view bytes);
// The same for bytes that come in pieces: one that can be sealed, and is when it has them all.
Result<UniqueFd> unsealed_memfd(const char* name);
Result<void> seal(int memfd);
// One for a cell to read while a call runs. Its pages are counted as the host's, so that whatever
// the cell keeps of it has to be empty when the call is over: no seals, and none can be added.
Result<UniqueFd> lent_memfd(const char* name, std::string_view bytes);
void take_back(const UniqueFd& lent);
// The bytes of a descriptor that a cell sent: only a sealed memfd, at most `most`; read, never
// mapped, for a mapping of a file that is truncated kills its reader.
Result<std::string> read_sealed(const ForeignFd&, size_t most);

}  // namespace caisson::session
