// One client: its requests, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/body_room.h"
#include "http/head.h"
#include "http/server.h"

namespace caisson::http {

class Connection;

struct Server::Shared {
  Shared(Loop& the_loop, ServerOptions the_options)
      : loop(the_loop), options(std::move(the_options)), clock(the_loop) {}

  Loop& loop;
  ServerOptions options;
  ServerCounts counts;
  uint64_t bodies = 0;            // see BodyRoom
  std::vector<Connection*> open;  // each takes itself off
  std::vector<Stream*> listeners;
  Bell clock;  // ticks while connections are open, to find those overdue
  bool ticking = false, stopped = false;
};

class Connection {
 public:
  // `door`: the listener that it came through.
  Connection(std::shared_ptr<Server::Shared> shared, UniqueFd fd, Peer peer, const Stream* door);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  Task<> run();
  // Ends what waits too long for the client; once a second.
  void look(Clock::time_point now);
  void abort() { stream_.abort(); }
  // Makes room for another one.
  void give_way() {
    given_way_ = true;
    abort();
  }
  bool holds_place_at(const Stream* door) const { return door_ == door && !given_way_; }
  // It has asked for something that it may have, or is one of us: it isn't one of those who merely
  // hold a place.
  bool is_known() const { return known_; }

 private:
  enum class Next { kGoOn, kClose, kGone };

  Task<Next> one_request();
  // An Error's errnum is the status to answer with; 0: the client went away between requests.
  Task<Result<Request>> read_head();
  Task<Result<void>> read_body(Request& request, const Admission& admission, BodyRoom& room);
  Task<Result<void>> read_length(Request& request, uint64_t length);
  Task<Result<void>> read_chunks(Request& request, uint64_t limit, BodyRoom& room);
  Task<Result<void>> more(std::string& into, std::chrono::seconds patience);
  Admission judge(const Request& request) const;
  Task<Next> answer(Request& request, Reply& reply);
  Task<Next> refuse(Reply& reply, Response response, bool body_unread);
  Task<> linger();

  std::shared_ptr<Server::Shared> shared_;
  Stream stream_;
  Peer peer_;
  const Stream* door_;  // to be compared only
  bool known_, given_way_ = false;
  std::string buffer_;  // read, but not yet used: the rest of a head, or further requests
  Clock::time_point due_ = Clock::time_point::max();
  bool reading_ = false;  // what is due is the client's sending
  bool late_ = false;
};

}  // namespace caisson::http
