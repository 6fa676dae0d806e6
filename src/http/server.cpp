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

Task<> tick(SharedPtr shared) {
  while (!shared->open.empty() && !shared->stopped) {
    co_await shared->clock.wait_until(Clock::now() + kTick);
    for (Connection* each : shared->open) each->look(Clock::now());
  }
  shared->ticking = false;
}

Task<> serve_one(SharedPtr shared, UniqueFd fd, Peer peer) {
  Connection connection(shared, std::move(fd), peer);
  co_await connection.run();
}

// A unix socket's peer is who it was at connect(2): another user who was handed a connection is
// still the one who made it.
bool may_come(const Peer& peer) {
  return !peer.is_unix || may_use_socket(peer) || !control_enabled("http-peer");
}

void welcome(const SharedPtr& shared, UniqueFd fd) {
  std::optional<Peer> peer = peer_of(fd.get());
  ++shared->counts.connections;
  if (!peer || !may_come(*peer) || shared->open.size() >= shared->options.max_connections) {
    ++shared->counts.turned_away;
    return;
  }
  int on = 1;
  if (!peer->is_unix) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  spawn(shared->loop, serve_one(shared, std::move(fd), *peer));
  if (!std::exchange(shared->ticking, true)) spawn(shared->loop, tick(shared));
}

Task<> pause(Loop& loop, std::chrono::milliseconds time) {
  Timer timer(loop.get_executor(), time);
  boost::system::error_code ignored;
  co_await timer.async_wait(
      boost::asio::redirect_error(boost::asio::use_awaitable_t<Loop::executor_type>{}, ignored));
}

Task<> accept_all(SharedPtr shared, UniqueFd fd) {
  Stream listener(shared->loop, std::move(fd));
  shared->listeners.push_back(&listener);
  while (!shared->stopped) {
    UniqueFd client(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) {
      welcome(shared, std::move(client));
    } else if (errno == EAGAIN) {
      int failed = co_await listener.readable();
      if (failed) break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      co_await pause(shared->loop, kNoDescriptors);
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
  spawn(shared_->loop, accept_all(shared_, std::move(listener)));
}

void Server::stop() {
  shared_->stopped = true;
  for (Stream* listener : shared_->listeners) listener->cancel();
  for (Connection* each : shared_->open) each->abort();
  shared_->clock.ring();
}

ServerCounts Server::counts() const { return shared_->counts; }

}  // namespace caisson::http
