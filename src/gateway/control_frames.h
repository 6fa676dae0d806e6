// The frames between a gateway and its supervisor: {uint32 length, uint8 type, bytes}, the length
// being that of the bytes, in the machine's byte order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

inline constexpr size_t kMaxControlFrame = 1024 * 1024;
inline constexpr size_t kControlHeader = 5;

enum class ControlType : char {
  // From the gateway.
  kCertificate = 'C',  // PEM of the cell's authority, first of all, when TLS will be ended
  kReady = 'R',        // every socket of the cell is listened to
  kFailed = 'F',       // one line: why there is no gateway
  kDenial = 'D',       // JSON {denied, rule, host, port, protocol, how_to_allow, count}
  kUsage = 'U',        // JSON {connections, up, down, denied}, last of all
  kWantProxy = 'P',    // a number: a connection to the policy's Unix socket is asked for
  // To the gateway.
  kRules = 'L',  // LiveRules as JSON
  kProxy = 'S',  // that number, whether it was made, and with the frame the connection
  kEnd = 'E',    // tell the usage, and end
};

std::string control_frame(ControlType type, std::string_view body);

struct ControlFrame {
  char type = 0;
  std::string body;
};

// Takes one whole frame off the front. nullopt: there is none yet, or (`broken`) there never will
// be.
std::optional<ControlFrame> take_control_frame(std::string& received, bool& broken);

}  // namespace caisson
