// What was refused, for the supervisor: each once when it first happens, and how often at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/kind_room.h"
#include "rules/rules.h"

namespace caisson {

struct ToldDenial {
  Verdict verdict;
  std::string host;  // as asked for; made printable here
  uint16_t port = 0;
  std::string_view protocol;  // "dns", "tcp", "http", "tls", "socks"
};

class Denials {
 public:
  // A cell that makes up names must not fill the supervisor's memory, nor hide behind them what it
  // does next.
  static constexpr RoomSizes kRoom{.shared = 1000, .first = 50, .last = 10};

  // `send` is given the JSON of one denial.
  explicit Denials(std::function<void(const std::string&)> send) : send_(std::move(send)) {}

  // True: it is new, and was sent.
  bool tell(const ToldDenial& denial);
  // Those that happened more than once are told again, now with their count; and the last of those
  // for which there was no room are told.
  void tell_counts();
  uint64_t total() const { return total_; }
  // Different ones that are never told; with lost_count() at least so many.
  uint64_t untold() const { return room_.left_out(); }
  bool lost_count() const { return room_.lost_count(); }

 private:
  struct Entry {
    ToldDenial denial;
    uint64_t count = 1;
  };
  using Room = KindRoom<Entry>;
  std::function<void(const std::string&)> send_;
  Room room_{kRoom};
  uint64_t total_ = 0;
};

// {"denied":true,"message":…,"rule":…,"host":…,"port":…,"how_to_allow":…}: what a client is told.
// Without `message`, with `protocol` and `count`, for the supervisor.
std::string denial_json(const ToldDenial& denial);

}  // namespace caisson
