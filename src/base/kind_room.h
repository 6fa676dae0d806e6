// Which of many different things are kept when a stranger can make up as many as it likes: the
// first ones, whatever they are, and beyond these the first and the last few of every kind. So a
// flood of one kind drowns no other, and what comes behind a flood of its own kind is kept too. How
// many were left out is counted by hashes, in a bounded room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace caisson {

// With a salt of its own: whoever could find two texts with one hash would hide one behind the
// other.
class SaltedHash {
 public:
  uint64_t of(std::string_view text);

 private:
  std::string salt_;  // made when it is first needed
};

struct RoomSizes {
  size_t shared;       // by whoever comes first
  size_t first, last;  // beyond them, of each kind
};

template <typename Item>
class KindRoom {
 public:
  static constexpr size_t kMostKinds = 32;  // all others are one more
  static constexpr size_t kMostCounted = 16384;
  static constexpr size_t kFew = 16;  // the record has room for as many, however long they are

  explicit KindRoom(RoomSizes sizes) : sizes_(sizes) {}

  enum class Place {
    kSeen,   // it was offered before
    kFirst,  // it stays
    kLast,   // it stays until others of its kind have come
  };
  struct Offered {
    Place place;
    Item* item;  // as it is kept; null: it isn't any more
  };
  // `key` says whether two are the same.
  Offered offer(std::string_view kind, std::string_view key, Item item) {
    uint64_t hash = hash_.of(key);
    if (auto found = kept_.find(hash); found != kept_.end())
      return {Place::kSeen, &found->second.item};
    if (seen_.contains(hash)) return {Place::kSeen, nullptr};
    if (seen_.size() < kMostCounted)
      seen_.insert(hash);
    else
      lost_count_ = true;
    Place place = make_place(kind_of(kind), hash);
    Kept& kept = kept_.emplace(hash, Kept{offered_++, place, std::move(item)}).first->second;
    return {place, &kept.item};
  }

  // How many different ones were offered and aren't kept. With lost_count(): at least so many.
  uint64_t left_out() const { return seen_.size() - std::min(seen_.size(), kept_.size()); }
  bool lost_count() const { return lost_count_; }

  template <typename Use>
  void for_each(Use use) const {
    for (const auto& [hash, kept] : kept_) use(kept.item, kept.place);
  }

  // A few are in the order in which they came. Of many, kinds take turns, each with its first, its
  // last, its second and so on: whoever cuts the list has some of everything.
  std::vector<Item> list() const {
    std::vector<Item> out;
    for (const Kept* kept : kept_.size() <= kFew ? by_arrival() : by_turns())
      out.push_back(kept->item);
    return out;
  }

 private:
  struct Kept {
    uint64_t number;
    Place place;
    Item item;
  };
  struct Kind {
    std::vector<uint64_t> first;
    std::deque<uint64_t> last;
    size_t own = 0;  // of `first`, those in the kind's own places
  };

  Kind& kind_of(std::string_view name) {
    std::string key(name);
    if (kinds_.size() >= kMostKinds && !kinds_.contains(key)) key.clear();
    return kinds_[key];
  }

  Place make_place(Kind& kind, uint64_t hash) {
    bool shared = shared_used_ < sizes_.shared;
    if (shared || kind.own < sizes_.first) {
      ++(shared ? shared_used_ : kind.own);
      kind.first.push_back(hash);
      return Place::kFirst;
    }
    kind.last.push_back(hash);
    if (kind.last.size() > sizes_.last) {
      kept_.erase(kind.last.front());
      kind.last.pop_front();
    }
    return Place::kLast;
  }

  std::vector<const Kept*> by_arrival() const {
    std::vector<const Kept*> out;
    for (const auto& [hash, kept] : kept_) out.push_back(&kept);
    std::ranges::sort(out, {}, &Kept::number);
    return out;
  }

  std::vector<const Kept*> by_turns() const {
    std::vector<std::deque<uint64_t>> waiting;
    for (const auto& [name, kind] : kinds_) {
      waiting.emplace_back(kind.first.begin(), kind.first.end());
      waiting.back().insert(waiting.back().end(), kind.last.begin(), kind.last.end());
    }
    std::vector<const Kept*> out;
    for (bool from_front = true; out.size() < kept_.size(); from_front = !from_front) {
      for (std::deque<uint64_t>& kind : waiting) {
        if (kind.empty()) continue;
        out.push_back(&kept_.at(from_front ? kind.front() : kind.back()));
        from_front ? kind.pop_front() : kind.pop_back();
      }
    }
    return out;
  }

  RoomSizes sizes_;
  SaltedHash hash_;
  size_t shared_used_ = 0;
  uint64_t offered_ = 0;
  std::map<std::string, Kind> kinds_;
  std::unordered_map<uint64_t, Kept> kept_;
  std::unordered_set<uint64_t> seen_;
  bool lost_count_ = false;
};

}  // namespace caisson
