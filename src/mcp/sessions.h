// The sessions behind the tools: none before the first call, one per scope and name, and one call
// at a time in each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mcp/turns.h"
#include "session/session_host.h"

namespace caisson::mcp {

struct Seat {
  Seat(Loop& loop, std::string name) : turns(loop), name(std::move(name)) {}
  Turns turns;
  std::string name;    // of the host's session
  std::string notice;  // about its start, told with the next result
  std::shared_ptr<session::Session> session;
  http::Clock::time_point last = http::Clock::now();  // use
  // Named by us, because its client named none. Who never comes back to it doesn't say so.
  bool made_up = false;
  uint64_t uses = 0;
  bool reset_came = false;  // while a call ran, which is being stopped for it
};

class Sessions {
 public:
  static constexpr size_t kMaxSessions = 32;
  static constexpr std::chrono::hours kIdle{1};  // then it makes room, when there is none
  using MakeHost = std::function<Result<std::unique_ptr<session::SessionHost>>(Loop&)>;

  Sessions(Loop& loop, MakeHost make, session::SessionSpec base)
      : loop_(loop), make_(std::move(make)), base_(std::move(base)) {}

  // Its place in line; the session itself is made by the first that needs it. `made_up`: the name
  // is one that nobody guesses, and no error tells such names.
  Result<std::shared_ptr<Seat>> seat(std::string_view scope, std::string_view name,
                                     bool made_up = false);
  bool has(std::string_view scope, std::string_view name) const;
  // For who has the turn.
  Task<Result<std::shared_ptr<session::Session>>> session_of(Seat& seat);
  Task<Result<void>> branch(Seat& from, std::string_view scope, std::string_view name,
                            std::string checkpoint);
  // Starts over and gives the place up; its name is free again.
  Task<Result<void>> forget(Seat& seat);
  // All of a client that has gone for good.
  void end_scope(std::string_view scope);
  // New sessions take up what an earlier server saved of theirs.
  void keep_state() { base_.take_up_snapshot = true; }
  std::vector<std::string> names(std::string_view scope) const;
  // `say` hears, once, what whoever started the server should know.
  void tell_person(std::function<void(const std::string&)> say) { say_ = std::move(say); }
  // What every session is made of.
  const session::SessionSpec& base() const { return base_; }

  // The end: what can be saved is saved within the time given, if it can be taken up again; then
  // everything is killed.
  Task<> end_all(std::chrono::milliseconds time);

 private:
  Result<session::SessionHost*> host();
  void make_room();
  void drop_made_up();
  Error no_room(std::string_view scope, bool made_up) const;
  void give_up(const std::string& name, bool save_first);
  static std::string full_name(std::string_view scope, std::string_view name);
  Task<> save_all(std::chrono::milliseconds time);

  Loop& loop_;
  MakeHost make_;
  session::SessionSpec base_;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<session::SessionHost> host_;
  std::map<std::string, std::shared_ptr<Seat>> seats_;  // by full name
};

}  // namespace caisson::mcp
