#include "mcp/sessions.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace caisson::mcp {

namespace {

// What a snapshot brought back, or a branch is without, is news to a model; how its cell was made
// is not.
std::string start_notice(const session::SessionInfo& info) {
  std::string all;
  for (const std::string& note : info.notes) {
    bool told =
        note.starts_with("not back") || note.starts_with("not kept") ||
        note.starts_with("state since") ||
        (note.find("snapshot") != std::string::npos && !note.starts_with("there is no snapshot"));
    if (told) all += (all.empty() ? "" : "; ") + note;
  }
  return all;
}

}  // namespace

std::string Sessions::full_name(std::string_view scope, std::string_view name) {
  return fmt::format("{}.{}", scope, name);
}

Result<session::SessionHost*> Sessions::host() {
  if (!host_) host_ = TRY(make_(loop_));
  return host_.get();
}

bool Sessions::has(std::string_view scope, std::string_view name) const {
  return seats_.contains(full_name(scope, name));
}

Error Sessions::no_room(std::string_view scope, bool made_up) const {
  std::string yours;
  // Where names are all that keeps clients apart, nobody is told those of others.
  if (!made_up)
    for (const std::string& one : names(scope)) yours += (yours.empty() ? "" : ", ") + one;
  return Error::plain(fmt::format("{} sessions are open already", seats_.size()),
                      yours.empty() ? "try again when calls that run have ended"
                                    : fmt::format("rlm_reset with `session` ends one that is no "
                                                  "longer needed; these are open: {}",
                                                  yours));
}

Result<std::shared_ptr<Seat>> Sessions::seat(std::string_view scope, std::string_view name,
                                             bool made_up) {
  std::string full = full_name(scope, name);
  if (auto found = seats_.find(full); found != seats_.end()) {
    found->second->last = http::Clock::now();
    ++found->second->uses;
    return found->second;
  }
  if (seats_.size() >= kMaxSessions) make_room();
  if (seats_.size() >= kMaxSessions) return no_room(scope, made_up);
  auto seat = std::make_shared<Seat>(loop_, full);
  seat->made_up = made_up;
  return seats_[full] = seat;
}

Task<Result<std::shared_ptr<session::Session>>> Sessions::session_of(Seat& seat) {
  if (seat.session && seat.session->info().alive) co_return seat.session;
  seat.session.reset();
  Result<session::SessionHost*> host = this->host();
  if (!host) co_return host.error();
  // One that died keeps its name until it is ended.
  if ((*host)->find(seat.name)) {
    Result<void> ended = co_await (*host)->end(seat.name, false);
    if (!ended) co_return ended.error();
  }
  session::SessionSpec spec = base_;
  spec.name = seat.name;
  Result<std::shared_ptr<session::Session>> made = co_await (*host)->create(std::move(spec));
  if (made) {
    seat.session = *made;
    session::SessionInfo info = seat.session->info();
    seat.notice = start_notice(info);
    // A module that isn't there is no news to a model, but a mistake in the words of a person.
    for (const std::string& note : info.notes)
      if (say_ && note.starts_with("could not be loaded ahead")) std::exchange(say_, nullptr)(note);
  }
  co_return made;
}

Task<Result<void>> Sessions::branch(Seat& from, std::string_view scope, std::string_view name,
                                    std::string checkpoint) {
  if (has(scope, name))
    co_return Error::plain(fmt::format("there is a session \"{}\" already", name),
                           "choose another name, or rlm_reset that session first");
  Result<std::shared_ptr<Seat>> place = seat(scope, name);
  if (!place) co_return place.error();
  Result<session::SessionHost*> host = this->host();
  if (!host) co_return host.error();
  Result<std::shared_ptr<session::Session>> made =
      co_await (*host)->branch(from.name, (*place)->name, std::move(checkpoint));
  if (!made) {
    seats_.erase((*place)->name);
    co_return made.error();
  }
  (*place)->session = *made;
  (*place)->notice = start_notice((*made)->info());
  co_return Result<void>();
}

Task<Result<void>> Sessions::forget(Seat& seat) {
  // Takes away what is saved, too: it must not come back.
  Result<json::object> cleared = co_await seat.session->reset();
  if (!cleared) co_return cleared.error();
  std::string name = seat.name;
  seat.session.reset();
  Result<void> ended = co_await host_->end(name, false);
  // Who came meanwhile goes on in this place: another of the same name would end his session.
  if (!seat.turns.has_line()) seats_.erase(name);
  co_return ended;
}

void Sessions::give_up(const std::string& name, bool save_first) {
  auto end_one = [](session::SessionHost* host, std::string name, bool save_first) -> Task<> {
    Result<void> ended = co_await host->end(std::move(name), save_first);
    (void)ended;  // it had ended by itself
  };
  auto seat = seats_.find(name);
  if (host_ && seat->second->session) spawn(loop_, end_one(host_.get(), name, save_first));
  seats_.erase(seat);
}

void Sessions::end_scope(std::string_view scope) {
  for (const std::string& name : names(scope)) give_up(full_name(scope, name), false);
}

// Over HTTP nobody says that he is done with a session.
void Sessions::make_room() {
  auto before = http::Clock::now() - kIdle;
  std::vector<std::string> old;
  for (const auto& [name, seat] : seats_)
    if (seat->turns.idle() && seat->last < before) old.push_back(name);
  for (const std::string& name : old) give_up(name, base_.take_up_snapshot);
  if (old.empty()) drop_made_up();
}

// The one without a call for longest; before all those that somebody has come back to, those that
// nobody has: a client that never passes `session` costs the others nothing.
void Sessions::drop_made_up() {
  const Seat* oldest = nullptr;
  auto goes_first = [](const Seat& one, const Seat& other) {
    bool one_back = one.uses > 0, other_back = other.uses > 0;
    return one_back != other_back ? other_back : one.last < other.last;
  };
  for (const auto& [name, seat] : seats_)
    if (seat->made_up && seat->turns.idle() && (!oldest || goes_first(*seat, *oldest)))
      oldest = seat.get();
  if (oldest) give_up(std::string(oldest->name), false);
}

std::vector<std::string> Sessions::names(std::string_view scope) const {
  std::vector<std::string> found;
  std::string start = full_name(scope, "");
  for (const auto& [name, seat] : seats_)
    if (name.starts_with(start)) found.push_back(name.substr(start.size()));
  return found;
}

Task<> Sessions::save_all(std::chrono::milliseconds time) {
  // Each in a coroutine of its own: the first that doesn't answer must not cost the others their
  // time. What runs is not waited for: it is being killed.
  auto bell = std::make_shared<http::Bell>(loop_);
  auto left = std::make_shared<size_t>(0);
  auto save_one = [](session::SessionHost* host, std::string name, std::shared_ptr<http::Bell> bell,
                     std::shared_ptr<size_t> left) -> Task<> {
    Result<void> ended = co_await host->end(std::move(name), true);
    (void)ended;  // the autosave before it remains
    --*left;
    bell->ring();
  };
  // Branches live in the cell of their parent, and end with it.
  std::set<std::string> parents;
  for (auto& [name, seat] : seats_)
    if (seat->session) parents.insert(seat->session->info().parent);
  auto end = http::Clock::now() + time;
  for (int turn = 0; turn < 2; ++turn) {
    for (auto& [name, seat] : seats_) {
      if (!seat->session || seat->session->info().busy || !seat->session->info().alive) continue;
      if (parents.contains(name) != (turn == 1)) continue;
      ++*left;
      spawn(loop_, save_one(host_.get(), name, bell, left));
    }
    while (*left > 0 && http::Clock::now() < end) co_await bell->wait_until(end);
  }
}

Task<> Sessions::end_all(std::chrono::milliseconds time) {
  if (!host_) co_return;
  if (base_.take_up_snapshot) co_await save_all(time);
  if (base_.take_up_snapshot)
    host_->kill_all();
  else
    host_->discard_all();
}

}  // namespace caisson::mcp
