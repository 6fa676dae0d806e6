#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "base/control.h"
#include "http/connection.h"
#include "http/listen.h"

namespace caisson::http {
namespace {

using SharedPtr = std::shared_ptr<Server::Shared>;

constexpr std::chrono::milliseconds kTick{1000};
constexpr std::chrono::milliseconds kNoDescriptors{50};
constexpr int kAtOnce = 16;

Task<> tick(SharedPtr shared) {
  while (!shared->open.empty() && !shared->stopped) {
    co_await shared->clock.wait_until(Clock::now() + kTick);
    for (Connection* each : shared->open) each->look(Clock::now());
  }
  shared->ticking = false;
}

Task<> serve_one(std::unique_ptr<Connection> connection) { co_await connection->run(); }

// A unix socket's peer is who it was at connect(2): another user who was handed a connection is
// still the one who made it.
bool may_come(const Peer& peer) {
  return !peer.is_unix || may_use_socket(peer) || !control_enabled("http-peer");
}

// Each door has its own places: what another user holds open at the TCP port is no matter of the
// unix socket. When all are taken, who has waited longest without a right to be there makes room.
bool find_place(const SharedPtr& shared, const Stream* door) {
  size_t taken = 0;
  Connection* oldest = nullptr;  // they are in the order of their coming
  for (Connection* each : shared->open) {
    if (!each->holds_place_at(door) && control_enabled("http-places")) continue;
    ++taken;
    if (!oldest && !each->is_known()) oldest = each;
  }
  if (taken < shared->options.max_connections) return true;
  if (!oldest || !control_enabled("http-places")) return false;
  ++shared->counts.turned_away;
  oldest->give_way();
  return true;
}

void welcome(const SharedPtr& shared, UniqueFd fd, const Stream* door) {
  std::optional<Peer> peer = peer_of(fd.get());
  ++shared->counts.connections;
  if (!peer || !may_come(*peer) || !find_place(shared, door)) {
    ++shared->counts.turned_away;
    return;
  }
  int on = 1;
  if (!peer->is_unix) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  spawn(shared->loop, serve_one(std::make_unique<Connection>(shared, std::move(fd), *peer, door)));
  if (!std::exchange(shared->ticking, true)) spawn(shared->loop, tick(shared));
}

Task<> pause_for(Loop& loop, std::chrono::milliseconds time) {
  Timer timer(loop.get_executor(), time);
  boost::system::error_code ignored;
  co_await timer.async_wait(
      boost::asio::redirect_error(boost::asio::use_awaitable_t<Loop::executor_type>{}, ignored));
}

Task<> accept_clients(SharedPtr shared, UniqueFd fd) {
  Stream listener(shared->loop, std::move(fd));
  shared->listeners.push_back(&listener);
  for (int in_a_row = 0; !shared->stopped;) {
    // Those who give way have to be heard, and so has everybody else.
    if (++in_a_row % kAtOnce == 0) co_await pause_for(shared->loop, std::chrono::milliseconds(0));
    UniqueFd client(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) {
      welcome(shared, std::move(client), &listener);
    } else if (errno == EAGAIN) {
      int failed = co_await listener.readable();
      if (failed) break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      co_await pause_for(shared->loop, kNoDescriptors);
    } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      break;
    }
  }
  std::erase(shared->listeners, &listener);
}

}  // namespace

Server::Server(Loop& loop, ServerOptions options)
    : shared_(std::make_shared<Shared>(loop, std::move(options))) {}

Server::~Server() { stop(); }

void Server::serve(UniqueFd listener) {
  spawn(shared_->loop, accept_clients(shared_, std::move(listener)));
}

void Server::stop() {
  shared_->stopped = true;
  for (Stream* listener : shared_->listeners) listener->cancel();
  for (Connection* each : shared_->open) each->abort();
  shared_->clock.ring();
}

ServerCounts Server::counts() const { return shared_->counts; }

}  // namespace caisson::http
