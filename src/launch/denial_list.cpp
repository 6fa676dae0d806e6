#include "launch/denial_list.h"

namespace caisson {

bool DenialList::add(Denial denial, std::string_view kind) {
  std::string key = denial.rule + '\0' + denial.resource;
  uint64_t count = denial.count;
  auto [place, item] = room_.offer(kind, key, std::move(denial));
  if (item) item->count = std::max(item->count, count);
  return place != KindRoom<Denial>::Place::kSeen;
}

void DenialList::add_to(Outcome& outcome) const {
  std::vector<Denial> list = room_.list();
  outcome.denials.insert(outcome.denials.end(), list.begin(), list.end());
  outcome.denials_cut += room_.left_out();
  outcome.denials_lost_count = outcome.denials_lost_count || room_.lost_count();
}

}  // namespace caisson
