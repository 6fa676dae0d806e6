// caisson serve: the API on a unix socket and, when asked, on loopback TCP. One thread.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/serve_launch.h"
#include "cli/serve_options.h"
#include "cli/serve_setup.h"
#include "host/probe.h"
#include "http/server.h"
#include "mcp/confine.h"
#include "mcp/service.h"
#include "run/audit_files.h"
#include "session/remote_maker.h"
#include "session/session_host.h"
#include "session/state_folders.h"
#include "web/api.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestEnd = 15s;         // for the snapshots of a clean end
constexpr int kLongestClearing = 10'000;  // ms; what then is left, the next server removes

void say_of_server(const std::string& line) { talk("caisson: " + printable(line) + "\n"); }

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

struct ServePlaces {
  std::string top, socket;  // the folder of all states
  UniqueFd lock;            // of the socket
};

Result<ServePlaces> take_places(const ServeOptions& options, const Caller& caller) {
  ServePlaces places;
  places.top = serve_state_folder(caller);
  TRY(open_own_folder(places.top));
  places.socket = options.socket.empty() ? serve_socket_path(caller) : options.socket;
  if (!places.socket.starts_with('/')) places.socket = caller.cwd + "/" + places.socket;
  places.lock = TRY(lock_beside(places.socket, ".lock"));
  if (::flock(places.lock.get(), LOCK_EX | LOCK_NB) < 0)
    return Error::from_errno("listen on " + places.socket, EADDRINUSE)
        .with_hint("another `caisson serve` has it; --socket names another place");
  return places;
}

class Serving {
 public:
  Serving(ServeOptions options, Caller caller, ServePlaces places, ServeLaunch launch)
      : options_(std::move(options)),
        caller_(std::move(caller)),
        places_(std::move(places)),
        launch_(std::move(launch)),
        wake_(loop_) {}

  Result<void> run() {
    Result<void> ready = prepare();
    if (!ready.ok()) tell_ready("no\n");
    TRY(std::move(ready));
    spawn(loop_, live());
    loop_.run();
    for (const MakerPtr& maker : {api_maker_, mcp_maker_})
      if (maker) maker->say_goodbye();
    for (std::optional<session::Launcher>* one : {&launch_.api, &launch_.mcp})
      if (*one) (*one)->finish(kLongestClearing);
    return {};
  }

 private:
  using MakerPtr = std::shared_ptr<session::RemoteMaker>;

  // All that has to be opened is open at its end, nothing of a client's was read, and this process
  // can do nothing more (decision 0026).
  Result<void> prepare() {
    if (options_.api) token_ = TRY(token());
    TRY(watch_signals());
    session::SessionHostOptions host = launch_.api_host;
    api_maker_ =
        session::RemoteMaker::make(loop_, launch_.state.folder, launch_.api->take_socket());
    host.maker = api_maker_;
    host_ = TRY(session::SessionHost::make(loop_, std::move(host)));
    web::ApiOptions api{token_, session::own_folder(launch_.state.folder), launch_.offer, {}};
    api.files = [maker = api_maker_](session::FileOrder order) {
      return maker->work_on_file(std::move(order));
    };
    api_.emplace(loop_, *host_, std::move(api));
    if (options_.mcp) prepare_mcp();
    Result<void> listening = listen();
    if (!listening.ok() && bound_) ::unlink(places_.socket.c_str());
    TRY(std::move(listening));
    mcp::Confinement confined = TRY(mcp::confine_server(own_folders(), true));
    if (!confined.files)
      say_of_server(
          "this kernel has no Landlock: what files the server itself may open is not held");
    return {};
  }

  // What the server itself keeps. The folders of cells lie beside these, and are its launchers'.
  std::vector<std::string> own_folders() const {
    if (!control_enabled("serve-own-folder")) return {launch_.state.folder};
    std::vector<std::string> folders{session::own_folder(launch_.state.folder)};
    if (options_.mcp) folders.push_back(session::own_folder(launch_.mcp_host.state_folder));
    return folders;
  }

  // Its sessions are its clients' own: in a host of their own, made at the first call.
  void prepare_mcp() {
    mcp_maker_ = session::RemoteMaker::make(loop_, launch_.mcp_host.state_folder,
                                            launch_.mcp->take_socket());
    auto make_host = [this](Loop& loop) {
      session::SessionHostOptions host = launch_.mcp_host;
      host.maker = mcp_maker_;
      return session::SessionHost::make(loop, std::move(host));
    };
    mcp_.emplace(loop_, std::move(make_host), launch_.offer.base,
                 mcp::RlmPlaces{caller_.cwd, caller_.home, launch_.reach});
  }

  bool is_mcp(const http::Request& request, web::Door door) const {
    return mcp_ && door == web::Door::kOwn && request.path == "/mcp";
  }

  Result<std::string> token() {
    if (!options_.token_file.empty()) return read_token(options_.token_file);
    token_path_ = launch_.state.folder + "/api-token";
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
    server_->serve(TRY(http::listen_unix(places_.socket)));
    bound_ = true;
    say_of_server("serving on " + places_.socket);
    if (options_.api) TRY(listen_tcp(*server_, *options_.api));
    if (options_.open) {
      open_server_.emplace(loop_, server_options(web::Door::kOpen));
      TRY(listen_tcp(*open_server_, *options_.open));
      say_of_server(
          "no token is asked there: every program on this machine can run code in that session");
    }
    return {};
  }

  Result<void> listen_tcp(http::Server& server, const http::Address& address) {
    UniqueFd listener = TRY(http::listen_loopback(address));
    uint16_t port = TRY(http::port_of(listener.get()));
    bool six = address.host == "::1";
    server.serve(std::move(listener));
    std::string place = fmt::format("http://{}:{}", six ? "[::1]" : address.host, port);
    say_of_server("serving on " + place);
    if (&server != &*server_) return {};
    if (options_.mcp) say_of_server("MCP at " + place + "/mcp");
    tell_token();
    return {};
  }

  // Once, and to a person only: what stderr is redirected to is often read by others.
  void tell_token() {
    if (token_path_.empty()) return;
    say_of_server("the token is in " + token_path_);
    if (::isatty(STDERR_FILENO)) say_of_server("the token is " + token_);
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
    api_->sessions().bring_back(say_of_server);
    tell_ready("ready\n");
    spawn(loop_, wait_for_signal());
    co_await wait_for_end();
    co_await end();
  }

  void tell_ready(std::string_view word) {
    if (options_.ready_fd < 0) return;
    UniqueFd ready(options_.ready_fd);
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
    say_of_server("a session took too long to save; it is ended without a new snapshot");
    at_once();
  }

  void at_once() {
    host_->kill_all();
    loop_.stop();
  }

  ServeOptions options_;
  Caller caller_;
  ServePlaces places_;
  ServeLaunch launch_;
  Loop loop_{1};
  MakerPtr api_maker_, mcp_maker_;
  std::string token_, token_path_;
  UniqueFd signals_;
  std::unique_ptr<session::SessionHost> host_;
  std::optional<web::Api> api_;
  std::optional<http::Server> server_, open_server_;
  std::optional<mcp::Service> mcp_;
  http::Bell wake_;
  bool stopping_ = false, bound_ = false;
};

// The order is the point: the launchers are made while this process is small and can still make
// them, and have neither its token nor its sockets.
Result<void> serve(ServeOptions options) {
  // A cell that is started before the word is given must not hold the pipe open.
  if (options.ready_fd >= 0) ::fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC);
  Caller caller = current_caller(environ);
  ServePlaces places = TRY(take_places(options, caller));
  raise_descriptor_limit();
  ServeLaunch launch = TRY(start_launchers(options, caller, places.top, places.socket));
  // Never destroyed: coroutines still hold parts of it, and the process ends here.
  auto* serving =
      new Serving(std::move(options), std::move(caller), std::move(places), std::move(launch));
  return serving->run();
}

}  // namespace

int serve_command(std::span<const std::string> args) {
  Result<ServeOptions> options = parse_serve_options(args);
  if (!options) return report(options.error());
  if (options->help) return print(kServeHelp);
  Result<void> served = serve(std::move(*options));
  return served.ok() ? 0 : report(served.error());
}

}  // namespace caisson
