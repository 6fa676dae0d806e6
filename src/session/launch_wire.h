// What a confined server and its launcher say to each other: one packet per word, over a socket
// that keeps their bounds (SOCK_SEQPACKET). Both sides read it as if it came from an enemy: the
// server parses what clients and cells send, so what it asks for may one day be theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::session {

enum class LaunchWord : uint32_t {
  // To the launcher. `id` is the asker's own number for what comes of it.
  kStartOwn = 1,   // what it is (launch_spec.h); descriptors: its 3
  kStartZygote,    // the same
  kMakeFork,       // texts: the zygote's key, limits (launch_spec.h)
  kLookAt,         // how is it?
  kEnd,            // kill it and forget it
  kDropWorkspace,  // texts: the session's name; with an id it is answered
  kLoad,           // texts: a path, the workspace's path; number: the most bytes
  kNoteSession,  // rooms.h; texts: the room ("forks/…", "rooms/…"), the session's name; number:
  kKeepWorkspace,  //   1 for a branch
  kTakeUp,         // texts: the same
  kIsWritten,      // texts: a Python; could a session write to it?
  kFileWork,  // number: a FileDeed; texts: the workspace's path, one below; descriptors: the bytes
  kBye,       // the server ends in order: clear all away
  kLoadOver,  // of a load's id: its files are a session's by now, or nobody's; their memory is free
  kHasRunOut,  // number: the id of a cell; has it run out of memory since this was asked last?
  // From it.
  kGone = 64,  // texts: its last words; of what has ended
  kLives,      // the answer to kLookAt
  kForkMade,   // texts: the folder's name; number: 1, descriptors: a lock
  kFile,       // number: the size; texts: key, file name; descriptors: its bytes. Part of a load
  kLeftOut,    // texts: one that was left out of a load
  kLoaded,     // number: 1 for many. The end of a load
  kTakenUp,    // number: 1, there was something
  kRefusals,   // descriptors: where the refusals of a cell come (refusals.h)
  kDone,       // number: 1 for yes, 2 for "nobody can tell"
  kFileDone,   // number: 1 for a listing; descriptors: the bytes, sealed
  kFailed,     // number: the errno behind it; texts: what, hint
};

struct LaunchPacket {
  LaunchWord word{};
  uint32_t id = 0;
  uint64_t number = 0;
  std::vector<std::string> texts;
  std::vector<UniqueFd> descriptors;
};

constexpr uint64_t kNobodyCanTell = 2;
constexpr size_t kMostPacket = 48 * 1024;
constexpr size_t kMostPacketTexts = 4, kMostPacketDescriptors = 8;

// Pure. Texts that are too long for a packet are cut: they are messages, or paths that were
// checked.
std::string encode_packet(const LaunchPacket&);
Result<LaunchPacket> decode_packet(std::string_view bytes);

enum class Sent { kYes, kLater, kNever };
Sent send_packet(int socket, const std::string& bytes, const std::vector<UniqueFd>& descriptors);
// Nothing: not yet. An error: the other side is gone, or broke the rules.
Result<std::optional<LaunchPacket>> receive_packet(int socket);

}  // namespace caisson::session
