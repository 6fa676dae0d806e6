// The sessions as the API knows them: what they were made with, whose turn it is, what was refused.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "session/offer.h"
#include "session/session_host.h"
#include "web/turns.h"

namespace caisson::web {

struct Entry {
  Entry(Loop& loop, std::shared_ptr<session::Session> the_session, session::SessionSpec the_spec)
      : session(std::move(the_session)),
        spec(std::move(the_spec)),
        turns(std::make_shared<Turns>(loop)) {}

  std::shared_ptr<session::Session> session;
  session::SessionSpec spec;  // of a branch: its parent's, under its own name
  std::shared_ptr<Turns> turns;
  std::string root;                         // of a branch: the session whose cell it is in
  std::vector<std::string> notes;           // of its making
  std::vector<std::string> losses;          // of its return: until its first call has told them
  std::deque<boost::json::object> denials;  // the newest last
  uint64_t denied = 0;                      // of all time
  uint64_t calls = 0, calls_failed = 0;
  double call_seconds = 0;

  void deny(std::string_view rule, std::string_view resource, const Error& error);
};
using EntryPtr = std::shared_ptr<Entry>;

inline constexpr std::string_view kDefaultSession = "default";
inline constexpr size_t kMostSessions = 4096;
inline constexpr size_t kMostDenials = 256;

class Sessions {
 public:
  // `folder`: the state folder, which is there; sessions that are to come back are noted in it.
  Sessions(Loop& loop, session::SessionHost& host, session::SessionOffer offer, std::string folder);

  // What a process before this one left: each is made anew and takes up its snapshot, beside
  // everything else: code in a snapshot takes as long as it likes. `say` gets lines for a person.
  void bring_back(std::function<void(std::string)> say);
  bool is_coming(std::string_view name) const { return coming_.contains(name); }
  bool any_coming() const { return !coming_.empty(); }
  // Until none of these is coming any more, for a moment at most; no name is all of them.
  Task<> wait_for(std::string name);

  Task<Result<EntryPtr>> create(session::SessionSpec wishes);
  Task<Result<EntryPtr>> branch(EntryPtr parent, std::string name, std::string from);
  // What has ended: the session, and the branches in its cell.
  Task<Result<std::vector<std::string>>> end(std::string name, bool save_first);
  // The session of those who name none; made at its first use.
  Task<Result<EntryPtr>> default_session();
  EntryPtr find(std::string_view name) const;
  // Of one that is there or coming back; nothing of another.
  std::optional<uint64_t> memory_of(std::string_view name) const;
  const std::map<std::string, EntryPtr, std::less<>>& all() const { return entries_; }
  // A clean end: a snapshot of each, and the list of them stays.
  Task<> save_all();

  std::string free_name() const;

 private:
  struct Coming {
    session::SessionSpec spec;
    std::string parent;  // of what was a branch
  };
  std::optional<Coming> coming_of(const boost::json::value& noted,
                                  const std::function<void(std::string)>& say) const;
  Task<> come_back(std::shared_ptr<std::deque<Coming>> waiting,
                   std::function<void(std::string)> say);
  void take_in(Coming coming, std::shared_ptr<session::Session> made,
               const std::function<void(std::string)>& say);
  std::vector<std::string> branches_in_cell_of(const std::string& name) const;
  Result<void> remember() const;
  EntryPtr add(std::shared_ptr<session::Session> session, session::SessionSpec spec);

  Loop& loop_;
  session::SessionHost& host_;
  session::SessionOffer offer_;
  std::string folder_;
  std::map<std::string, EntryPtr, std::less<>> entries_;
  std::map<std::string, Coming, std::less<>> coming_;
  std::vector<http::Bell*> waiting_;  // for one of those
  std::shared_ptr<Turns> making_;     // one at a time: two first users share one default session
};

}  // namespace caisson::web
