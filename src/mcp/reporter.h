// Partial output of a call, told at a bounded rate; and a sign of life when there is none, for
// clients that give up on silence.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "http/stream.h"
#include "mcp/call.h"

namespace caisson::mcp {

class Reporter : public std::enable_shared_from_this<Reporter> {
 public:
  explicit Reporter(Call& call) : call_(&call), timer_(call.loop().get_executor()) {}

  // Told at once, and from then on every few seconds.
  void wait();
  void run();
  void output(std::string_view bytes);
  void end();
  // Since the call came.
  http::Clock::duration age() const { return http::Clock::now() - start_; }

 private:
  void keep_alive();
  void tell();

  Call* call_;  // null when the call is over
  http::Timer timer_;
  std::string tail_;
  bool waits_ = false;
  http::Clock::time_point start_ = http::Clock::now(), last_ = start_;
};

}  // namespace caisson::mcp
