#include "web/encode.h"

#include <cerrno>

#include <fmt/format.h>

#include "http/plain_json.h"
#include "session/answers.h"
#include "web/spec_json.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;

int status_of(const Error& error) {
  switch (error.errnum) {
    case ENOENT:
      return 404;
    case EEXIST:
    case EBUSY:
    case EAGAIN:
      return 409;
    case EACCES:
    case EPERM:
      return 403;
    case EINVAL:
      return 400;
    case E2BIG:
    case EFBIG:
      return 413;
    default:
      return 422;
  }
}

void end_line(std::string& text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
}

}  // namespace

http::Response json_response(const json::value& value, int status) {
  return {status, {{"Content-Type", "application/json"}}, http::plain_json(value) + "\n"};
}

http::Response error_response(const Error& error) {
  return http::refusal(status_of(error), lossy_utf8(error.what), lossy_utf8(error.hint));
}

json::object answer_json(const CallAnswer& answer, WithOutput output) {
  json::object object;
  // The interpreter's words first: what the host knows itself stands behind and wins.
  for (std::string_view member :
       {"value",       "displays", "error",     "count",    "threads",  "exit",
        "final",       "variable", "variables", "left_out", "kind",     "text",
        "cut",         "length",   "type",      "files",    "encoding", "encoding_guessed",
        "undecodable", "bytes",    "saved",     "skipped",  "sha256",   "restored",
        "failed"})
    if (const json::value* found = answer.result.if_contains(member)) object[member] = *found;
  object["status"] = answer.status;
  if (output == WithOutput::kYes) {
    object["output"] = lossy_utf8(answer.output);
    object["stderr"] = lossy_utf8(answer.errors);
  }
  object["output_cut"] = answer.output_cut;
  object["stderr_cut"] = answer.errors_cut;
  if (!answer.ended.empty()) object["ended"] = answer.ended;
  json::array notes;
  for (const std::string& note : session::all_notes(answer)) notes.emplace_back(lossy_utf8(note));
  object["notes"] = std::move(notes);
  object["ms"] = answer.milliseconds;
  return object;
}

json::object limits_json(const session::SessionSpec& spec) {
  return {{"memory_bytes", spec.memory_bytes},
          {"cpu_millis", spec.cpu_millis},
          {"pids", spec.pids},
          {"timeout_ms", spec.call_timeout.count()},
          {"output_bytes", spec.output_bytes}};
}

json::object session_json(const Entry& entry) {
  session::SessionInfo info = entry.session->info();
  json::array words, notes, losses;
  for (const std::string& word : entry.spec.policy_words) words.emplace_back(lossy_utf8(word));
  for (const std::string& note : entry.notes) notes.emplace_back(lossy_utf8(note));
  for (const std::string& note : info.notes) notes.emplace_back(lossy_utf8(note));
  for (const std::string& loss : entry.losses) losses.emplace_back(lossy_utf8(loss));
  return {{"name", info.name},
          {"python", lossy_utf8(info.python)},
          {"shell", info.shell},
          {"workspace", lossy_utf8(info.workspace)},
          {"inside", info.inside},
          {"layered", info.layered},
          {"parent", info.parent},
          {"cell", info.cell},
          {"calls", info.calls},
          {"created", info.created_unix},
          {"busy", info.busy || entry.turns->taken()},
          {"alive", info.alive},
          {"policy", std::move(words)},
          {"limits", limits_json(entry.spec)},
          {"notes", std::move(notes)},
          {"losses", std::move(losses)}};
}

std::string plain_text(const json::value& bundle) {
  if (!bundle.is_object()) return {};
  const json::value* text = bundle.get_object().if_contains("text/plain");
  return text && text->is_string() ? std::string(text->get_string()) : std::string();
}

std::string compat_output(const CallAnswer& answer) {
  std::string text = lossy_utf8(answer.output);
  const json::value* displays = answer.result.if_contains("displays");
  if (displays && displays->is_array())
    for (const json::value& each : displays->get_array()) {
      end_line(text);
      text += plain_text(each);
    }
  const json::value* value = answer.result.if_contains("value");
  std::string last = value ? plain_text(*value) : std::string();
  if (!last.empty()) {
    end_line(text);
    text += last + "\n";
  }
  return text;
}

std::string compat_errors(const CallAnswer& answer) {
  std::string text = lossy_utf8(answer.errors);
  const json::value* error = answer.result.if_contains("error");
  if (error && error->is_object()) {
    const json::value* traceback = error->get_object().if_contains("traceback");
    end_line(text);
    if (traceback && traceback->is_string()) text += traceback->get_string();
  }
  for (const std::string& note : session::all_notes(answer)) {
    end_line(text);
    text += lossy_utf8(note);
  }
  return text;
}

std::string sse_event(std::string_view name, const json::value& data) {
  // JSON has no bare line ends, so the data is always one line.
  return fmt::format("event: {}\ndata: {}\n\n", name, http::plain_json(data));
}

}  // namespace caisson::web
