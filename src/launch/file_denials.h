// What the warden refused, as it tells: a rule's number and a path, turned into words.
#pragma once

#include <poll.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launch/outcome.h"
#include "plan/plan.h"

namespace caisson {

class FileDenials {
 public:
  // `heard` is told each of them as it comes; it may be empty.
  FileDenials(Outcome& outcome, UniqueFd socket, const WardenPlan* rules,
              const std::function<void(const Denial&)>& heard)
      : outcome_(outcome), socket_(std::move(socket)), rules_(rules), heard_(heard) {}
  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);
  // Of the covers, in the plan's order. Its last close waits until the kernel has put its marks
  // away: a tick and a grace period.
  void watch(UniqueFd watch) { watch_ = std::move(watch); }
  void drain();  // what is left when the cell has ended

 private:
  bool take_one();
  void take_opened();
  void add(Denial denial);
  Outcome& outcome_;
  UniqueFd socket_, watch_;
  const WardenPlan* rules_;
  const std::function<void(const Denial&)>& heard_;
  std::set<std::string> told_;  // each once
};

}  // namespace caisson
