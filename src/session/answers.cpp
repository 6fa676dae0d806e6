#include "session/answers.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_size.h"
#include "base/text.h"
#include "session/exact_json.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr size_t kMostDepth = 128;
constexpr size_t kMostText = 500;     // of the keeper's reasons and of a name, in a note
constexpr size_t kMostListed = 2000;  // of the names of variables, in a note
constexpr size_t kMostNotesInside = 64, kMostNoteInside = 2000;  // of the interpreter's own
constexpr std::string_view kStatuses[] = {"ok", "error", "exit", "final", "interrupted", "missing"};

std::string_view short_text(const json::string& text) {
  return std::string_view(text).substr(0, kMostText);
}

std::string text_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (!found || !found->is_string()) return {};
  return printable(short_text(found->get_string()));
}

int64_t number_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (!found) return 0;
  if (const int64_t* number = found->if_int64()) return *number;
  return 0;
}

bool true_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

std::string one_left_out(const json::object& entry) {
  std::string type = text_at(entry, "type"), why = text_at(entry, "why");
  if (!type.empty() && !why.empty()) type += ": ";
  return fmt::format("{} ({}{})", text_at(entry, "name"), type, why);
}

// What the way back gave and what it took.
void tell_way_back(const json::object& ended, std::vector<std::string>& notes) {
  if (!true_at(ended, "restored")) {
    std::string why = text_at(ended, "lost");
    notes.push_back(fmt::format("the session is lost{}{}", why.empty() ? "" : ": ", why));
    return;
  }
  notes.push_back(number_at(ended, "checkpoint") == 0
                      ? std::string("the session is back at its start; no variables are left")
                      : fmt::format("the session is back at the state after call {}",
                                    number_at(ended, "after_call")));
  if (true_at(ended, "calls_lost")) {
    std::string why = text_at(ended, "no_newer_checkpoint");
    notes.push_back(
        fmt::format("calls before this one are lost too{}{}", why.empty() ? "" : ": ", why));
  }
  if (int64_t threads = number_at(ended, "threads_lost"))
    notes.push_back(fmt::format("{} threads of earlier calls are gone", threads));
  if (int64_t channels = number_at(ended, "channels_lost"))
    notes.push_back(fmt::format("{} pipes and sockets of earlier calls are dead", channels));
}

}  // namespace

Result<json::object> parse_object(std::string_view text, size_t most_values) {
  TRY(check_json_size(text, most_values));
  boost::system::error_code failed;
  json::value value = parse_exactly(text, kMostDepth, failed);
  if (failed) return Error::plain("an answer that is not JSON: " + failed.message());
  json::object* object = value.if_object();
  if (!object) return Error::plain("an answer that is not a JSON object");
  return std::move(*object);
}

CallAnswer answer_from_result(uint8_t flags, std::string_view body, const CallFacts& facts) {
  CallAnswer answer;
  Result<json::object> result = parse_object(body);
  if (result) {
    answer.result = std::move(*result);
    answer.status = text_at(answer.result, "status");
    if (std::ranges::find(kStatuses, answer.status) == std::end(kStatuses)) answer.status = "error";
  } else {
    answer.status = "error";
    answer.notes.push_back("the interpreter gave " + result.error().what);
  }
  if (flags & kWasInterrupted) {
    answer.status = facts.interrupt_asked ? "interrupted" : "timeout";
    answer.notes.push_back(
        fmt::format("the call {} and stopped at the interrupt; its variables are kept",
                    facts.interrupt_asked ? "was interrupted" : "ran out of time"));
  }
  if (flags & kProcessesEnded)
    answer.notes.push_back("processes that the call had started were ended");
  if (flags & kNoWayBack)
    answer.notes.push_back(
        "no checkpoint could be taken: a later kill would lose more than its own call");
  return answer;
}

CallAnswer answer_from_ended(std::string_view body) {
  CallAnswer answer;
  Result<json::object> ended = parse_object(body);
  if (!ended) return answer_lost("the keeper gave " + ended.error().what);
  answer.ended = std::move(*ended);
  std::string stopped = text_at(answer.ended, "stopped");
  if (stopped == "timeout" || stopped == "interrupt") {
    answer.status = stopped == "timeout" ? "timeout" : "interrupted";
    std::string why = text_at(answer.ended, "why");
    answer.notes.push_back(fmt::format("the call {} and was killed: {}",
                                       stopped == "timeout" ? "ran out of time" : "was interrupted",
                                       why.empty() ? "it did not stop when interrupted" : why));
  } else {
    answer.status = "killed";
    std::string why = text_at(answer.ended, "why");
    answer.notes.push_back("the interpreter ended during the call" +
                           (why.empty() ? "" : ": " + why));
  }
  tell_way_back(answer.ended, answer.notes);
  if (!true_at(answer.ended, "restored")) answer.status = "lost";
  return answer;
}

CallAnswer answer_lost(std::string why) {
  CallAnswer answer;
  answer.status = "lost";
  answer.notes.push_back("the session is lost: " + printable(why));
  return answer;
}

std::string text_of_note(std::string_view body) {
  Result<json::object> note = parse_object(body);
  if (!note) return "between calls, the keeper gave " + note.error().what;
  std::vector<std::string> parts{"between calls, the interpreter ended: " + text_at(*note, "why")};
  tell_way_back(*note, parts);
  return join(parts, "; ");
}

std::vector<std::string> all_notes(const CallAnswer& answer) {
  std::vector<std::string> notes = answer.notes;
  const json::value* inside = answer.result.if_contains("notes");
  if (!inside || !inside->is_array()) return notes;
  const size_t most = notes.size() + kMostNotesInside;
  for (const json::value& note : inside->get_array()) {
    if (notes.size() == most) break;
    if (note.is_string())
      notes.emplace_back(std::string_view(note.get_string()).substr(0, kMostNoteInside));
  }
  return notes;
}

std::string reason_of(const CallAnswer& answer) {
  const json::value* error = answer.result.if_contains("error");
  const json::value* traceback =
      error && error->is_object() ? error->get_object().if_contains("traceback") : nullptr;
  if (traceback && traceback->is_string()) {
    std::string_view text = trim(std::string_view(traceback->get_string()));
    std::string_view last = text.substr(text.rfind('\n') + 1);
    if (!last.empty()) return printable(last.substr(0, kMostText));
  }
  std::string notes = join(answer.notes, "; ");
  return printable(notes.empty() ? answer.status : notes);
}

std::string named_variables(const json::value* list) {
  if (!list || !list->is_array()) return {};
  std::vector<std::string> parts;
  size_t size = 0;
  for (const json::value& entry : list->get_array()) {
    if (size > kMostListed) {
      parts.push_back(fmt::format("and {} more", list->get_array().size() - parts.size()));
      break;
    }
    parts.push_back(entry.is_object()   ? one_left_out(entry.get_object())
                    : entry.is_string() ? printable(short_text(entry.get_string()))
                                        : "?");
    size += parts.back().size();
  }
  return join(parts, ", ");
}

std::string not_kept(const json::object& checkpoint) {
  struct Kind {
    std::string_view key, one, many, rest;
  };
  constexpr Kind kKinds[] = {
      {"threads_not_kept", "thread", "threads", ""},
      {"channels_not_kept", "pipe or socket", "pipes and sockets", ""},
      {"processes_not_kept", "subprocess", "subprocesses",
       " (there, poll() is 0 whatever becomes of it)"},
  };
  std::vector<std::string> parts;
  for (const Kind& kind : kKinds)
    if (int64_t count = number_at(checkpoint, kind.key); count > 0)
      parts.push_back(fmt::format("{} {}{}", count, count == 1 ? kind.one : kind.many, kind.rest));
  return parts.empty() ? std::string() : "not kept: " + join(parts, ", ");
}

Error cell_error(std::string_view doing, std::string_view said) {
  Error error = Error::plain(std::string(doing));
  std::string_view last;
  // Caisson says last what is wrong, and so does a traceback; other programs say it first, and then
  // how they are to be used.
  bool is_told = false, is_traceback = false;
  for (std::string_view line : split(said, '\n')) {
    is_traceback = is_traceback || line.starts_with("Traceback (");
    bool is_ours = line.starts_with("caisson: ");
    if (line.starts_with("hint: ")) {
      error.hint = printable(line.substr(6));
    } else if (is_ours || (!is_told && !trim(line).empty())) {
      last = is_ours ? line.substr(9) : line;
      error.hint.clear();
      is_told = !is_ours && !is_traceback;
    }
  }
  if (!last.empty()) error.what += ": " + printable(last.substr(0, kMostText));
  return error;
}

}  // namespace caisson::session
