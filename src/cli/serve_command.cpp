// caisson serve: the API on a unix socket and, when asked, on loopback TCP. One thread.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/serve_options.h"
#include "cli/serve_setup.h"
#include "host/probe.h"
#include "http/server.h"
#include "mcp/service.h"
#include "run/audit_files.h"
#include "session/session_host.h"
#include "web/api.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestEnd = 15s;  // for the snapshots of a clean end

void say(const std::string& line) { talk("caisson: " + printable(line) + "\n"); }

// A handler, not a blocked signal: a blocked one would stay blocked in every cell that is started.
int signal_bell = -1;
void on_signal(int) {
  int saved = errno;
  uint64_t one = 1;
  (void)!::write(signal_bell, &one, sizeof one);
  errno = saved;
}

// Each session holds a few descriptors, and the usual soft limit of 1,024 is there for programs
// that call select(2). A cell has a limit of its own.
void raise_descriptor_limit() {
  constexpr rlim_t kEnough = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Serving {
 public:
  Serving(ServeOptions options, Caller caller)
      : options_(std::move(options)), caller_(std::move(caller)), wake_(loop_) {}

  Result<void> run() {
    TRY(prepare());
    spawn(loop_, live());
    loop_.run();
    return problem_.what.empty() ? Result<void>() : problem_;
  }

 private:
  Result<void> prepare() {
    // A cell that is started before the word is given must not hold the pipe open.
    if (options_.ready_fd >= 0) ::fcntl(options_.ready_fd, F_SETFD, FD_CLOEXEC);
    state_ = serve_state_folder(caller_);
    TRY(open_own_folder(state_));
    socket_ = options_.socket.empty() ? serve_socket_path(caller_) : options_.socket;
    if (!socket_.starts_with('/')) socket_ = caller_.cwd + "/" + socket_;
    lock_ = TRY(lock_beside(socket_, ".lock"));
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) < 0)
      return Error::from_errno("listen on " + socket_, EADDRINUSE)
          .with_hint("another `caisson serve` has it; --socket names another place");
    raise_descriptor_limit();
    if (options_.api) token_ = TRY(token());
    TRY(watch_signals());
    host_ = TRY(session::SessionHost::make(
        loop_,
        {.state_folder = state_, .home = caller_.home, .environment = exec_environment(caller_)}));
    api_.emplace(loop_, *host_, web::ApiOptions{token_, state_});
    if (options_.mcp) prepare_mcp();
    return {};
  }

  // Its sessions are its clients' own: in a host of their own, made at the first call.
  void prepare_mcp() {
    auto make_host = [this](Loop& loop) -> Result<std::unique_ptr<session::SessionHost>> {
      TRY(open_own_folder(state_ + "/mcp"));
      return session::SessionHost::make(loop, {.state_folder = state_ + "/mcp",
                                               .home = caller_.home,
                                               .environment = exec_environment(caller_),
                                               .autosave = std::chrono::seconds(0)});
    };
    mcp_.emplace(loop_, std::move(make_host), session::SessionSpec{},
                 mcp::RlmPlaces{caller_.cwd, caller_.home});
  }

  bool is_mcp(const http::Request& request, web::Door door) const {
    return mcp_ && door == web::Door::kOwn && request.path == "/mcp";
  }

  Result<std::string> token() {
    if (!options_.token_file.empty()) return read_token(options_.token_file);
    token_path_ = state_ + "/api-token";
    return make_token(token_path_);
  }

  Result<void> watch_signals() {
    signals_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!signals_) return Error::system("make an event descriptor");
    signal_bell = signals_.get();
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
    return {};
  }

  Result<void> listen() {
    server_.emplace(loop_, server_options(web::Door::kOwn));
    api_->server_counts = [this] { return server_->counts(); };
    server_->serve(TRY(http::listen_unix(socket_)));
    say("serving on " + socket_);
    if (options_.api) TRY(listen_tcp(*server_, *options_.api));
    if (options_.open) {
      open_server_.emplace(loop_, server_options(web::Door::kOpen));
      TRY(listen_tcp(*open_server_, *options_.open));
      say("no token is asked there: every program on this machine can run code in that session");
    }
    return {};
  }

  Result<void> listen_tcp(http::Server& server, const http::Address& address) {
    UniqueFd listener = TRY(http::listen_loopback(address));
    uint16_t port = TRY(http::port_of(listener.get()));
    bool six = address.host == "::1";
    server.serve(std::move(listener));
    say(fmt::format("serving on http://{}:{}", six ? "[::1]" : address.host, port));
    if (&server == &*server_) tell_token();
    return {};
  }

  // Once, and to a person only: what stderr is redirected to is often read by others.
  void tell_token() {
    if (token_path_.empty()) return;
    say("the token is in " + token_path_);
    if (::isatty(STDERR_FILENO)) say("the token is " + token_);
  }

  http::ServerOptions server_options(web::Door door) {
    http::ServerOptions options;
    options.admit = [this, door](const http::Request& request) -> http::Admission {
      if (!is_mcp(request, door)) return api_->admit(request, door);
      return {api_->stranger(request, door), mcp::kMaxFrame};
    };
    options.handle = [this, door](http::Request& request, http::Reply& reply) {
      return is_mcp(request, door) ? mcp_->handle(request, reply) : api_->handle(request, reply);
    };
    return options;
  }

  Task<> live() {
    Result<void> listening = listen();
    if (!listening.ok()) problem_ = listening.error();
    if (listening.ok()) api_->sessions().bring_back(say);
    tell_ready(listening);
    if (listening.ok()) {
      spawn(loop_, wait_for_signal());
      co_await wait_for_end();
    }
    co_await end();
  }

  void tell_ready(const Result<void>& listening) {
    if (options_.ready_fd < 0) return;
    UniqueFd ready(options_.ready_fd);
    std::string_view word = listening.ok() ? "ready\n" : "no\n";
    (void)!::write(ready.get(), word.data(), word.size());
  }

  Task<> wait_for_signal() {
    http::Stream stream(loop_, std::move(signals_));
    int failed = co_await stream.readable();
    if (failed) co_return;
    uint64_t times = 0;
    (void)!::read(stream.fd(), &times, sizeof times);
    stopping_ = true;
    wake_.ring();
    failed = co_await stream.readable();
    // Asked twice: at once.
    if (!failed) at_once();
  }

  Task<> wait_for_end() {
    while (!stopping_) {
      if (!options_.idle) {
        co_await wake_.wait();
        continue;
      }
      http::Clock::time_point due = api_->last_use() + *options_.idle;
      web::Sessions& sessions = api_->sessions();
      if (!sessions.all().empty() || sessions.any_coming())
        due = http::Clock::now() + *options_.idle;
      if (due <= http::Clock::now()) break;
      co_await wake_.wait_until(due);
    }
  }

  Task<> end() {
    if (server_) server_->stop();
    if (open_server_) open_server_->stop();
    spawn(loop_, end_in_time());
    co_await api_->sessions().save_all();
    if (mcp_) co_await mcp_->end_all();
    at_once();
  }

  // Snapshots are made inside: what is inside may take as long as it likes.
  Task<> end_in_time() {
    http::Bell clock(loop_);
    co_await clock.wait_until(http::Clock::now() + kLongestEnd);
    say("a session took too long to save; it is ended without a new snapshot");
    at_once();
  }

  void at_once() {
    host_->kill_all();
    ::unlink(socket_.c_str());
    loop_.stop();
  }

  ServeOptions options_;
  Caller caller_;
  Loop loop_{1};
  std::string state_, socket_, token_, token_path_;
  UniqueFd lock_, signals_;
  std::unique_ptr<session::SessionHost> host_;
  std::optional<web::Api> api_;
  std::optional<http::Server> server_, open_server_;
  std::optional<mcp::Service> mcp_;
  http::Bell wake_;
  bool stopping_ = false;
  Error problem_;
};

}  // namespace

int serve_command(std::span<const std::string> args) {
  Result<ServeOptions> options = parse_serve_options(args);
  if (!options) return report(options.error());
  if (options->help) return print(kServeHelp);
  // Never destroyed: coroutines still hold parts of it, and the process ends here.
  auto* serving = new Serving(std::move(*options), current_caller(environ));
  Result<void> served = serving->run();
  return served.ok() ? 0 : report(served.error());
}

}  // namespace caisson
