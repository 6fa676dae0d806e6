// What the warden refused, as it tells: a rule's number and a path, turned into words.
#pragma once

#include <poll.h>

#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launch/outcome.h"
#include "plan/plan.h"

namespace caisson {

class FileDenials {
 public:
  FileDenials(Outcome& outcome, UniqueFd socket, const WardenPlan* rules)
      : outcome_(outcome), socket_(std::move(socket)), rules_(rules) {}
  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);
  void watch(UniqueFd watch) { watch_ = std::move(watch); }  // of the covers, in the plan's order
  void drain();                                              // what is left when the cell has ended

 private:
  bool take_one();
  void take_opened();
  void add(Denial denial);
  Outcome& outcome_;
  UniqueFd socket_, watch_;
  const WardenPlan* rules_;
  std::set<std::string> told_;  // each once
};

}  // namespace caisson
