// How much went out of the cell and came in, and whether it may go on.
#pragma once

#include <cstdint>

namespace caisson {

enum class Way { kUp, kDown };  // out of the cell; into it

class Traffic {
 public:
  // 0: no budget.
  Traffic(uint64_t upload_budget, uint64_t download_budget)
      : up_{0, upload_budget}, down_{0, download_budget} {}

  // Counts before the bytes are passed on. False: they may not be, the budget is spent.
  bool count(Way way, uint64_t bytes);

  uint64_t up() const { return up_.used; }
  uint64_t down() const { return down_.used; }

  uint64_t connections = 0;  // served so far
  uint32_t open = 0;         // of those, now

 private:
  struct Counter {
    uint64_t used, budget;
  };
  Counter up_, down_;
};

// Counts one connection for as long as it lives.
class OpenConnection {
 public:
  explicit OpenConnection(Traffic& traffic) : traffic_(traffic) {
    ++traffic_.connections;
    ++traffic_.open;
  }
  OpenConnection(const OpenConnection&) = delete;
  OpenConnection& operator=(const OpenConnection&) = delete;
  ~OpenConnection() { --traffic_.open; }

 private:
  Traffic& traffic_;
};

}  // namespace caisson
