// Runs a function when the scope ends, whichever way it ends.
#pragma once

#include <utility>

namespace caisson {

template <typename F>
class ScopeExit {
 public:
  explicit ScopeExit(F function) : function_(std::move(function)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  ~ScopeExit() { function_(); }

 private:
  F function_;
};

}  // namespace caisson
