// caisson session: a thin client of `caisson serve`.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/serve_options.h"
#include "cli/session_client.h"
#include "cli/session_exec.h"
#include "cli/session_options.h"
#include "cli/session_policy.h"
#include "cli/session_reports.h"
#include "host/probe.h"
#include "http/plain_json.h"
#include "policy/units.h"
#include "session/answers.h"
#include "session/offer.h"
#include "session/state_folders.h"
#include "web/snapshots.h"

namespace caisson {
namespace {

namespace json = boost::json;

json::array plain_words_json(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) array.emplace_back(word);
  return array;
}

class Verbs {
 public:
  Verbs(SessionOptions options, Caller caller)
      : options_(std::move(options)), caller_(std::move(caller)) {}

  Result<int> run() {
    const std::string& verb = options_.verb;
    bool starts = verb == "new" || some_would_come_back();
    Result<SessionClient> client = SessionClient::open(
        caller_, options_.socket, starts ? SessionClient::Start::kYes : SessionClient::Start::kNo);
    // Nobody serves, so there is nothing to list: that is no error.
    if (!client.ok() && client.error().errnum == ENOENT && verb == "list") return no_sessions();
    if (!client.ok()) return std::move(client).error();
    client_ = &*client;
    if (verb == "new") return make();
    if (verb == "list") return list();
    if (verb == "exec") return exec_in_session(*client_, options_);
    if (verb == "attach") return attach_to_session(*client_, options_);
    if (verb == "vars") return vars();
    if (verb == "get") return get();
    if (verb == "set") return set();
    if (verb == "load") return load();
    if (verb == "checkpoint") return checkpoint();
    if (verb == "branch") return branch();
    if (verb == "snapshot save") return save();
    if (verb == "snapshot restore") return restore();
    return change();
  }

 private:
  std::string target(std::string_view rest = {}) const {
    return session_target(options_.words[0], rest);
  }

  static void say(std::string_view text) { talk("caisson: " + printable(text) + "\n"); }

  // As JSON when that was asked for; else `text` on stdout.
  Result<int> tell(const json::value& answer, const std::string& text) {
    return print_foreign(options_.json ? http::plain_json(answer) + "\n" : text);
  }
  // The same for what a person need not see: a word on stderr.
  Result<int> confirm(const json::value& answer, const std::string& text) {
    if (options_.json) return tell(answer, {});
    talk("caisson: " + printable(text) + "\n");
    return 0;
  }

  // A server that ended left the list of its sessions: the next one brings them back.
  bool some_would_come_back() const {
    constexpr off_t kEmptyList = 16;  // {"sessions":[]} and its line end
    struct stat list {};
    std::string state = fmt::format("{}/{}", serve_state_folder(caller_), session::kNameOfAnything);
    std::string path = session::own_folder(state) + "/sessions.json";
    return options_.socket.empty() && ::stat(path.c_str(), &list) == 0 && list.st_size > kEmptyList;
  }

  Result<int> no_sessions() { return tell(json::object{{"sessions", json::array()}}, ""); }

  Result<std::string> absolute(const std::string& path) const {
    if (path.starts_with('/')) return path;
    if (path.starts_with('~')) return path;
    if (caller_.cwd.empty()) return Error::plain("this folder is gone", "name an absolute path");
    return caller_.cwd + "/" + path;
  }

  Result<int> make() {
    json::object body;
    if (!options_.words.empty()) body["name"] = options_.words[0];
    // A name is looked for in the server's PATH, a path begins here, wherever the server is.
    bool is_path = options_.python.find('/') != std::string::npos;
    if (!options_.python.empty())
      body["python"] = is_path ? TRY(clean_path(options_.python, caller_.cwd)) : options_.python;
    if (!options_.workspace.empty()) body["workspace"] = TRY(absolute(options_.workspace));
    if (!options_.policy.empty())
      body["policy"] =
          plain_words_json(TRY(whole_session_words(options_.policy, caller_, caller_.cwd)));
    if (!options_.preload.empty()) body["preload"] = plain_words_json(options_.preload);
    if (options_.memory) body["memory_bytes"] = *options_.memory;
    if (options_.cpu_millis) body["cpu_millis"] = *options_.cpu_millis;
    if (options_.pids) body["pids"] = *options_.pids;
    if (options_.timeout) body["timeout_ms"] = options_.timeout->count();
    if (options_.no_ipython) body["ipython"] = false;
    if (options_.resume) body["resume"] = true;
    json::value value = std::move(body);
    json::value made = TRY(client_->json("POST", "/v1/sessions", &value));
    if (!options_.json && made.is_object()) tell_notes(made.get_object());
    return tell(made, member_text(made, "name") + "\n");
  }

  Result<int> list() {
    json::value answer = TRY(client_->json("GET", "/v1/sessions"));
    std::string text;
    for (const json::value& each : array_of(answer, "sessions")) {
      std::string_view state = !flag_of(each, "alive") ? "ended"
                               : flag_of(each, "busy") ? "busy"
                                                       : "idle";
      text +=
          fmt::format("{:<24} {:<6} {:<8} {:<8} {}\n", printable(member_text(each, "name")), state,
                      printable(member_text(each, "python")), printable(member_text(each, "shell")),
                      printable(member_text(each, "workspace")));
      for (const json::value& loss : array_of(each, "losses"))
        if (loss.is_string() && !options_.json)
          say(member_text(each, "name") + ": " + std::string(loss.get_string()));
    }
    return tell(answer, text);
  }

  Result<int> vars() {
    json::value answer = TRY(client_->json("GET", target("/vars")));
    std::string text;
    for (const json::value& each : array_of(answer, "variables"))
      text += variable_line(each) + "\n";
    return tell(answer, text);
  }

  Result<int> get() {
    json::value answer;
    std::string most =
        options_.max_bytes ? fmt::format("?max_bytes={}", *options_.max_bytes) : std::string();
    if (options_.expression) {
      json::object body{{"expression", *options_.expression}};
      if (options_.max_bytes) body["max_bytes"] = *options_.max_bytes;
      json::value value = std::move(body);
      answer = TRY(client_->json("POST", target("/evaluate"), &value));
    } else if (options_.words.size() > 1) {
      std::string rest = "/vars/" + http::percent_encode(options_.words[1]) + most;
      answer = TRY(client_->json("GET", target(rest)));
    } else {
      return Error::plain("session get: which variable?", "name one, or -e EXPRESSION");
    }
    return told(answer, value_text(answer));
  }

  // What a call came to: its words, and the exit code of an exec that ends so.
  Result<int> told(const json::value& answer, const std::string& text) {
    int code = answer.is_object() ? exit_code_of(answer.get_object()) : kOwnError;
    int failed = print_foreign(options_.json ? http::plain_json(answer) + "\n" : text);
    if (!options_.json && answer.is_object()) {
      const json::value* error = answer.get_object().if_contains("error");
      if (code != 0 && error) talk(printable_lines(member_text(*error, "traceback")));
      if (std::string cut = cut_line(answer); !cut.empty()) say(cut);
      tell_notes(answer.get_object());
    }
    return failed ? failed : code;
  }
  static std::string printable_lines(std::string_view text) {
    std::string out;
    for (std::string_view line : split(text, '\n')) out += printable(line) + "\n";
    return out;
  }
  static std::string value_text(const json::value& answer) {
    if (member_text(answer, "kind") == "text") return member_text(answer, "text") + "\n";
    const json::value* value =
        answer.is_object() ? answer.get_object().if_contains("value") : nullptr;
    return value ? http::plain_json(*value) + "\n" : std::string();
  }

  Result<int> set() {
    std::string kind = options_.as.value_or("text");
    std::string type = kind == "json"    ? "application/json"
                       : kind == "bytes" ? "application/octet-stream"
                       : kind == "text"  ? "text/plain; charset=utf-8"
                                         : "";
    if (type.empty())
      return Error::plain(fmt::format("session set: --as {}", kind), "json, text or bytes");
    std::string to = target("/vars/" + http::percent_encode(options_.words[1]));
    if (options_.text) return told(TRY(client_->bytes("PUT", to, type, *options_.text)), {});
    UniqueFd input = TRY(open_input(options_.words.size() > 2 ? options_.words[2] : "-"));
    return told(TRY(client_->file("PUT", to, type, input.get())), {});
  }

  Result<int> load() {
    json::value body = json::object{{"path", TRY(absolute(options_.words[1]))},
                                    {"name", options_.words[2]},
                                    {"as", options_.as.value_or("auto")}};
    if (options_.encoding) body.get_object()["encoding"] = *options_.encoding;
    json::value answer = TRY(client_->json("POST", target("/load"), &body));
    return told(answer, {});
  }

  Result<int> checkpoint() {
    if (options_.drop) {
      std::string rest = "/checkpoints/" + http::percent_encode(*options_.drop);
      return confirm(TRY(client_->json("DELETE", target(rest))), "dropped " + *options_.drop);
    }
    if (options_.list || options_.words.size() < 2) {
      json::value answer = TRY(client_->json("GET", target("/checkpoints")));
      return tell(answer, checkpoint_tree(answer));
    }
    json::value body = json::object{{"name", options_.words[1]}};
    json::value made = TRY(client_->json("POST", target("/checkpoints"), &body));
    return confirm(made, "checkpoint " + options_.words[1] + with_losses(made));
  }

  // What the checkpoint could not hold is not there again after it.
  static std::string with_losses(const json::value& answer) {
    const json::value* entry =
        answer.is_object() ? answer.get_object().if_contains("checkpoint") : nullptr;
    std::string lost =
        entry && entry->is_object() ? session::not_kept(entry->get_object()) : std::string();
    return lost.empty() ? lost : "; " + lost;
  }

  Result<int> branch() {
    json::object body;
    if (options_.words.size() > 1) body["name"] = options_.words[1];
    if (options_.from) body["from"] = *options_.from;
    json::value value = std::move(body);
    json::value made = TRY(client_->json("POST", target("/branches"), &value));
    if (!options_.json && made.is_object()) tell_notes(made.get_object());
    return tell(made, member_text(made, "name") + "\n");
  }

  Result<int> save() {
    json::value answer = TRY(client_->json("GET", target("/snapshot")));
    const std::string& path = options_.words[1];
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) return Error::system("write " + path);
    std::string data = member_text(answer, "data");
    if (!write_all(fd.get(), data + "\n")) return Error::system("write " + path);
    if (answer.is_object()) answer.get_object().erase("data");
    return with_left_out(
        answer, fmt::format("{} variables saved, {} left out", array_of(answer, "saved").size(),
                            array_of(answer, "skipped").size()));
  }

  Result<int> restore() {
    std::string data = TRY(read_input(options_.words[1], web::kMostSnapshotBody));
    if (!is_valid_utf8(data)) return no_snapshot("not what `session snapshot save` writes");
    json::value body = json::object{{"data", std::string(trim(data))}};
    Result<json::value> answer = client_->json("PUT", target("/snapshot"), &body);
    if (!answer.ok()) {
      constexpr int kBadRequest = 400;
      if (answer.error().errnum == kBadRequest)
        return no_snapshot("not what `session snapshot save` writes");
      return Error{printable(options_.words[1]) + ": " + answer.error().what, answer.error().hint};
    }
    return with_left_out(
        *answer, fmt::format("{} variables are back", array_of(*answer, "restored").size()));
  }
  Error no_snapshot(std::string_view why) const {
    return Error::plain(fmt::format("{}: {}", printable(options_.words[1]), why),
                        "name the file that it has written");
  }
  Result<int> with_left_out(const json::value& answer, const std::string& text) {
    if (!options_.json)
      for (const std::string& line : left_out_lines(answer)) say(line);
    return confirm(answer, text);
  }

  // reset, interrupt, kill, restore
  Result<int> change() {
    const std::string &verb = options_.verb, &name = options_.words[0];
    if (verb == "kill") {
      json::value ended = TRY(client_->json("DELETE", target(options_.save ? "?save=1" : "")));
      std::string branches;
      for (const json::value& each : array_of(ended, "branches"))
        if (each.is_string()) branches += " " + std::string(each.get_string());
      return confirm(ended,
                     "ended " + name + (branches.empty() ? "" : ", and its branches:") + branches);
    }
    if (verb == "restore") {
      std::string rest = "/checkpoints/" + http::percent_encode(options_.words[1]) + "/restore";
      json::value done = TRY(client_->json("POST", target(rest)));
      return confirm(done, "back at " + options_.words[1] + with_losses(done));
    }
    json::value done = TRY(client_->json("POST", target("/" + verb)));
    if (verb == "interrupt")
      return confirm(done,
                     (flag_of(done, "interrupted") ? "interrupted " : "nothing runs in ") + name);
    return confirm(done, verb + " " + name);
  }

  SessionOptions options_;
  Caller caller_;
  SessionClient* client_ = nullptr;
};

}  // namespace

int session_command(std::span<const std::string> args) {
  Result<SessionOptions> options = parse_session_options(args);
  if (!options) return report(options.error());
  if (options->help) return print(kSessionHelp);
  Result<int> code = Verbs(std::move(*options), current_caller(environ)).run();
  return code.ok() ? *code : report(code.error());
}

}  // namespace caisson
