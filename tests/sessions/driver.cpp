// Drives a SessionHost for the tests: a JSON object a line on stdin, an answer a line on stdout.
// {"id": 1, "do": "exec", "session": "a", "code": "1+1"} → {"id": 1, "ok": true, "answer": {…}}
// Commands run beside each other; one of a session waits for those before it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/json.hpp>

#include "session/event.h"
#include "session/session_host.h"
#include "session/snapshot_file.h"

namespace json = boost::json;
using namespace caisson;
using namespace caisson::session;

namespace {

double now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::string text(const json::object& from, const char* key, const char* otherwise = "") {
  const json::value* found = from.if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : otherwise;
}
int64_t number(const json::object& from, const char* key, int64_t otherwise) {
  const json::value* found = from.if_contains(key);
  return found && found->is_int64() ? found->get_int64() : otherwise;
}
bool flag(const json::object& from, const char* key, bool otherwise) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() ? found->get_bool() : otherwise;
}
std::vector<std::string> words(const json::object& from, const char* key) {
  std::vector<std::string> all;
  if (const json::value* found = from.if_contains(key))
    for (const json::value& one : found->as_array()) all.emplace_back(one.as_string());
  return all;
}

void say(const json::object& line) {
  std::string whole = json::serialize(line) + "\n";
  for (size_t at = 0; at < whole.size();) {
    ssize_t sent = ::write(1, whole.data() + at, whole.size() - at);
    if (sent <= 0) ::_exit(3);
    at += static_cast<size_t>(sent);
  }
}

json::string lossy(const std::string& bytes) {
  std::string out;  // tests compare text; what is not ASCII goes as \xNN when it is not UTF-8
  json::string as(bytes);
  boost::system::error_code failed;
  json::parse(json::serialize(as), failed);
  if (!failed) return as;
  for (unsigned char c : bytes) out += c < 0x80 ? std::string(1, static_cast<char>(c)) : "\\x??";
  return json::string(out);
}

json::object said(const CallAnswer& answer) {
  json::array notes;
  for (const std::string& one : answer.notes) notes.push_back(json::string(one));
  return {{"status", answer.status},         {"output", lossy(answer.output)},
          {"errors", lossy(answer.errors)},  {"output_cut", answer.output_cut},
          {"errors_cut", answer.errors_cut}, {"result", answer.result},
          {"ended", answer.ended},           {"notes", std::move(notes)},
          {"ms", answer.milliseconds}};
}

json::object said(const SessionInfo& info) {
  json::array notes;
  for (const std::string& one : info.notes) notes.push_back(json::string(one));
  return {{"name", info.name},     {"python", info.python},   {"shell", info.shell},
          {"parent", info.parent}, {"calls", info.calls},     {"workspace", info.workspace},
          {"busy", info.busy},     {"alive", info.alive},     {"cell", info.cell},
          {"inside", info.inside}, {"layered", info.layered}, {"notes", std::move(notes)}};
}

class Driver {
 public:
  Driver(Loop& loop, std::unique_ptr<SessionHost> host)
      : loop_(loop), host_(std::move(host)), input_(loop.get_executor(), 0) {}

  void listen() {
    input_.async_wait(decltype(input_)::wait_read, [this](const boost::system::error_code& failed) {
      char bytes[65536];
      ssize_t got = failed ? 0 : ::read(0, bytes, sizeof bytes);
      if (got <= 0) return stop();
      buffer_.append(bytes, static_cast<size_t>(got));
      for (size_t end; (end = buffer_.find('\n')) != std::string::npos; buffer_.erase(0, end + 1))
        spawn(loop_, obey(json::parse(buffer_.substr(0, end)).as_object()));
      listen();
    });
  }

 private:
  void stop() {
    host_.reset();
    loop_.stop();
  }

  SessionSpec spec_from(const json::object& order) {
    SessionSpec spec;
    spec.name = text(order, "session");
    spec.python = text(order, "python");
    spec.workspace = text(order, "workspace");
    spec.policy_words = words(order, "policy");
    spec.preload = words(order, "preload");
    spec.final_names = words(order, "final");
    spec.ipython = flag(order, "ipython", false);
    spec.take_up_snapshot = flag(order, "take_up", false);
    spec.memory_bytes = static_cast<uint64_t>(number(order, "memory", int64_t{2} << 30));
    spec.pids = static_cast<uint32_t>(number(order, "pids", 256));
    spec.output_bytes = static_cast<uint64_t>(number(order, "output_bytes", 16 << 20));
    spec.call_timeout = std::chrono::milliseconds(number(order, "call_timeout", 30000));
    spec.host_calls = static_cast<uint32_t>(number(order, "host_calls", 10000));
    if (flag(order, "functions", false)) add_functions(spec);
    return spec;
  }

  // double(x), fail(text), never(): what a host may offer.
  void add_functions(SessionSpec& spec) {
    spec.functions.push_back({"double", "Twice its argument.", true,
                              [](json::object arguments) -> Task<Result<json::value>> {
                                const json::value& first = arguments.at("args").as_array().at(0);
                                if (!first.is_int64())
                                  co_return Error::plain("double takes a whole number");
                                co_return json::value(first.get_int64() * 2);
                              }});
    spec.functions.push_back(
        {"fail", "Always fails.", false, [](json::object) -> Task<Result<json::value>> {
           co_return Error::plain("it failed, as it always does");
         }});
    spec.functions.push_back(
        {"never", "Never answers.", false, [this](json::object) -> Task<Result<json::value>> {
           Event nothing(loop_);
           bool came = co_await nothing.wait(SteadyClock::time_point::max());
           co_return json::value(came);
         }});
  }

  Task<> obey(json::object order) {
    json::value id = order.if_contains("id") ? order.at("id") : json::value();
    double begin = now_ms();
    json::object line{{"id", id}};
    Result<json::value> answer = co_await answer_to(order);
    line["wall_ms"] = now_ms() - begin;
    line["ok"] = answer.ok();
    if (answer) {
      line["answer"] = std::move(*answer);
    } else {
      line["error"] = answer.error().what;
      line["hint"] = answer.error().hint;
    }
    say(line);
  }

  Task<Result<json::value>> answer_to(const json::object& order) {
    std::string what = text(order, "do"), name = text(order, "session");
    if (what == "create") {
      Result<std::shared_ptr<Session>> made = co_await host_->create(spec_from(order));
      if (!made) co_return made.error();
      co_return json::value(said((*made)->info()));
    }
    if (what == "branch") {
      Result<std::shared_ptr<Session>> made =
          co_await host_->branch(name, text(order, "as"), text(order, "from"));
      if (!made) co_return made.error();
      co_return json::value(said((*made)->info()));
    }
    if (what == "list") {
      json::array all;
      for (const SessionInfo& info : host_->list()) all.push_back(said(info));
      co_return json::value(std::move(all));
    }
    if (what == "end") {
      Result<void> ended = co_await host_->end(name, flag(order, "save", false));
      if (!ended) co_return ended.error();
      co_return json::value(true);
    }
    if (what == "kill_all") {
      host_->kill_all();
      co_return json::value(true);
    }
    std::shared_ptr<Session> session = host_->find(name);
    if (!session) co_return Error::plain("no such session");
    co_return co_await ask(session, what, order);
  }

  static Result<json::value> both(Result<CallAnswer> answer) {
    if (!answer) return answer.error();
    return json::value(said(*answer));
  }
  static Result<json::value> both(Result<json::object> answer) {
    if (!answer) return answer.error();
    return json::value(std::move(*answer));
  }

  Task<Result<json::value>> ask(std::shared_ptr<Session> session, std::string what,
                                const json::object& order) {
    if (what == "exec") {
      ExecRequest request;
      request.code = text(order, "code");
      if (order.contains("timeout"))
        request.timeout = std::chrono::milliseconds(number(order, "timeout", 0));
      if (flag(order, "stream", false))
        request.on_output = [id = order.at("id")](OutputStream which, std::string_view bytes) {
          json::object line{{"id", id},
                            {"stream", which == OutputStream::kStdout ? "out" : "err"},
                            {"text", lossy(std::string(bytes))}};
          say(line);
        };
      co_return both(co_await session->exec(std::move(request)));
    }
    if (what == "bench") co_return co_await bench(session, order);
    uint64_t most = static_cast<uint64_t>(number(order, "max_bytes", 1 << 20));
    if (what == "vars") co_return both(co_await session->vars(1000));
    if (what == "get") co_return both(co_await session->get(text(order, "name"), most));
    if (what == "evaluate")
      co_return both(co_await session->evaluate(text(order, "expression"), most));
    if (what == "set") {
      std::string bytes = text(order, "value");
      if (int64_t size = number(order, "repeat", 0)) bytes = std::string(size_t(size), 'x');
      co_return both(co_await session->set(text(order, "name"), text(order, "kind", "text"),
                                           std::move(bytes)));
    }
    if (what == "load") {
      LoadAs how{text(order, "as", "auto"), text(order, "encoding")};  // GCC 12: not inside
      co_return both(co_await session->load(text(order, "path"), text(order, "name"), how));
    }
    if (what == "reset") co_return both(co_await session->reset());
    if (what == "checkpoint") co_return both(co_await session->checkpoint(text(order, "name")));
    if (what == "restore") co_return both(co_await session->restore(text(order, "name")));
    if (what == "drop") co_return both(co_await session->drop(text(order, "name")));
    if (what == "checkpoints") co_return both(co_await session->checkpoints());
    if (what == "save") co_return both(co_await session->save(text(order, "path"), kMostSnapshot));
    if (what == "unsave") co_return both(co_await session->unsave(text(order, "path")));
    if (what == "info") co_return json::value(said(session->info()));
    if (what == "interrupt") {
      session->interrupt();
      co_return json::value(true);
    }
    co_return Error::plain("no such order: " + what);
  }

  // The same exec again and again: milliseconds of each.
  Task<Result<json::value>> bench(std::shared_ptr<Session> session, const json::object& order) {
    json::array times;
    int64_t rounds = number(order, "rounds", 100);
    for (int64_t i = 0; i < rounds; ++i) {
      ExecRequest request;
      request.code = text(order, "code");
      double begin = now_ms();
      Result<CallAnswer> answer = co_await session->exec(std::move(request));
      if (!answer) co_return answer.error();
      if (!answer->ok()) co_return Error::plain("bench: " + answer->status);
      times.push_back(now_ms() - begin);
    }
    co_return json::value(std::move(times));
  }

  Loop& loop_;
  std::unique_ptr<SessionHost> host_;
  boost::asio::posix::basic_stream_descriptor<Loop::executor_type> input_;
  std::string buffer_;
};

}  // namespace

// driver CAISSON STATE_FOLDER HOME [DENIED…]
int main(int argc, char** argv) {
  if (argc < 4) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  Loop loop;
  SessionHostOptions options;
  options.caisson = argv[1];
  options.state_folder = argv[2];
  options.home = argv[3];
  options.autosave = std::chrono::seconds(0);
  options.zygotes = !::getenv("OWN_CELLS");
  if (const char* every = ::getenv("AUTOSAVE"))
    options.autosave = std::chrono::seconds(::atoi(every));
  for (int i = 4; i < argc; ++i) options.deny_load.push_back(argv[i]);
  Result<std::unique_ptr<SessionHost>> host = SessionHost::make(loop, std::move(options));
  if (!host) {
    ::fprintf(stderr, "%s\n%s\n", host.error().what.c_str(), host.error().hint.c_str());
    return 1;
  }
  Driver driver(loop, std::move(*host));
  driver.listen();
  loop.run();
  return 0;
}
