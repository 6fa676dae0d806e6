#include "cli/session_client.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "cli/serve_options.h"
#include "cli/serve_setup.h"
#include "session/exact_json.h"

extern char** environ;

namespace caisson {
namespace {

namespace json = boost::json;

constexpr size_t kJsonDepth = 64;
constexpr int kReadyFd = 3;

bool nobody_listens(const Error& error) {
  return error.errnum == ENOENT || error.errnum == ECONNREFUSED;
}

// The server's own process group and session: a Ctrl-C meant for this command isn't for it. Nothing
// of ours is open in it but a log and the pipe that tells when it listens.
Result<UniqueFd> spawn_server(const std::string& socket, const std::string& log) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) < 0) return Error::system("make a pipe");
  UniqueFd ready(pipe[0]), theirs(pipe[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ScopeExit destroy([&] {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  });
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kReadyFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kReadyFd + 1);
  ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  std::string words[] = {"caisson",  "serve", "--idle",     "10m",
                         "--socket", socket,  "--ready-fd", std::to_string(kReadyFd)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  if (failed) return Error::from_errno("start `caisson serve`", failed);
  return ready;
}

// Two commands at once start one server: the second waits here, and finds it running.
Result<http::Client> start_server(const Caller& caller, const std::string& socket) {
  UniqueFd lock = TRY(lock_beside(socket, ".start"));
  while (::flock(lock.get(), LOCK_EX) < 0)
    if (errno != EINTR) return Error::system("wait for another start of `caisson serve`");
  Result<http::Client> running = http::Client::connect_unix(socket);
  if (running.ok() || !nobody_listens(running.error())) return running;
  std::string log = socket.substr(0, socket.rfind('/')) + "/serve.log";
  UniqueFd ready = TRY(spawn_server(socket, log));
  char word[8] = {};
  ssize_t got;
  do {
    got = ::read(ready.get(), word, sizeof word);
  } while (got < 0 && errno == EINTR);
  if (got <= 0 || word[0] != 'r')
    return Error::plain("`caisson serve` did not start", fmt::format("{} says why", log));
  (void)caller;
  return http::Client::connect_unix(socket);
}

Result<json::value> parse(std::string_view text) {
  boost::system::error_code failed;
  json::value value = session::parse_exactly(text, kJsonDepth, failed);
  if (failed) return Error::plain("the server's answer is not JSON");
  return value;
}

Error refusal_of(int status, std::string_view body) {
  Result<json::value> parsed = parse(body);
  const json::value* error = nullptr;
  if (parsed.ok() && parsed->is_object()) error = parsed->get_object().if_contains("error");
  auto text = [&](std::string_view name) {
    const json::value* found =
        error && error->is_object() ? error->get_object().if_contains(name) : nullptr;
    return found && found->is_string() ? std::string(found->get_string()) : std::string();
  };
  std::string what = text("what");
  if (what.empty()) what = fmt::format("the server refused: {}", status);
  return {what, text("hint"), status};
}

// Takes whole events off the front of `text`.
void take_events(std::string& text, const SessionClient::Event& event) {
  for (size_t end; (end = text.find("\n\n")) != text.npos;) {
    std::string_view block = std::string_view(text).substr(0, end), name, data;
    while (!block.empty()) {
      std::string_view line = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(block.size(), line.size() + 1));
      if (line.starts_with("event: ")) name = line.substr(7);
      if (line.starts_with("data: ")) data = line.substr(6);
    }
    if (!data.empty()) {
      Result<json::value> value = parse(data);
      if (value.ok() && value->is_object()) event(name, value->get_object());
    }
    text.erase(0, end + 2);
  }
}

}  // namespace

std::string session_target(std::string_view name, std::string_view rest) {
  return fmt::format("/v1/sessions/{}{}", http::percent_encode(name), rest);
}

Result<SessionClient> SessionClient::open(const Caller& caller, std::string socket, Start start) {
  if (socket.empty()) socket = serve_socket_path(caller);
  if (!socket.starts_with('/')) socket = caller.cwd + "/" + socket;
  Result<http::Client> client = http::Client::connect_unix(socket);
  if (!client.ok() && nobody_listens(client.error())) {
    if (start == Start::kNo)
      return Error{"no `caisson serve` runs", "`caisson session new` starts one", ENOENT};
    client = start_server(caller, socket);
  }
  if (!client.ok()) return client.error();
  return SessionClient(std::move(*client), std::move(socket));
}

Result<json::value> SessionClient::ask(const http::Client::Order& order) {
  http::Response response = TRY(client_.ask(order));
  if (response.status >= 300) return refusal_of(response.status, response.body);
  return parse(response.body);
}

Result<json::value> SessionClient::json(const std::string& method, const std::string& target,
                                        const json::value* body) {
  std::string text = body ? json::serialize(*body) : std::string();
  http::Client::Order order{method, target, {}, text};
  if (body) order.fields.push_back({"Content-Type", "application/json"});
  return ask(order);
}

Result<json::value> SessionClient::bytes(const std::string& method, const std::string& target,
                                         const std::string& type, std::string_view body) {
  return ask({method, target, {{"Content-Type", type}}, body});
}

Result<json::value> SessionClient::file(const std::string& method, const std::string& target,
                                        const std::string& type, int fd) {
  struct stat found;
  if (::fstat(fd, &found) != 0) return Error::system("look at the file");
  http::Client::Order order{method, target, {{"Content-Type", type}}};
  order.file = fd;
  off_t at = ::lseek(fd, 0, SEEK_CUR);
  // A file of the kernel's own making (/proc) says that it has no bytes.
  if (S_ISREG(found.st_mode) && at >= 0 && found.st_size > at)
    order.file_size = static_cast<uint64_t>(found.st_size - at);
  return ask(order);
}

Result<void> SessionClient::events(const std::string& target, const json::value& body,
                                   const Event& event) {
  std::string text = json::serialize(body), buffer;
  http::Client::Order order{"POST",
                            target,
                            {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
                            text};
  http::Response response = TRY(client_.ask(order, [&](std::string_view piece) {
    buffer += piece;
    take_events(buffer, event);
    return true;
  }));
  if (response.status >= 300) return refusal_of(response.status, response.body);
  return {};
}

}  // namespace caisson
