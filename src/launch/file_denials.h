// What the warden refused, as it tells: a rule's number and a path, turned into words.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launch/denial_list.h"
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
  // Once, when the cell has ended: takes what is left, and tells the outcome.
  void drain();

 private:
  bool take_one();
  void take_opened();
  void add(Denial denial);
  Outcome& outcome_;
  UniqueFd socket_, watch_;
  const WardenPlan* rules_;
  const std::function<void(const Denial&)>& heard_;
  DenialList list_;
};

}  // namespace caisson
