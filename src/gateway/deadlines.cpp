#include "gateway/deadlines.h"

namespace caisson {

Deadline::Deadline(Deadlines& all, Socket* first, Socket* second)
    : all_(all), next_(all.first_), link_(&all.first_), first_(first), second_(second) {
  if (next_) next_->link_ = &next_;
  all.first_ = this;
}

Deadline::~Deadline() {
  *link_ = next_;
  if (next_) next_->link_ = link_;
}

void Deadline::watch(Socket* first, Socket* second) {
  first_ = first;
  second_ = second;
}

void Deadlines::look(Clock::time_point now) {
  for (Deadline* each = first_; each; each = each->next_) {
    if (each->when_ > now) continue;
    each->passed_ = true;
    each->none();
    if (each->first_) each->first_->abort();
    if (each->second_) each->second_->abort();
  }
}

}  // namespace caisson
