// What a session answered, as the text and the images of a result. Everything in an answer is
// whatever the cell's code wants it to be.
#include <fmt/format.h>

#include "mcp/texts.h"
#include "session/answers.h"

namespace caisson::mcp {

namespace {

constexpr size_t kMaxVars = 1000;
constexpr size_t kMaxSummary = 100;
constexpr size_t kMaxImages = 64;

const json::value* at(const json::object& object, std::string_view key) {
  return object.if_contains(key);
}

std::string shown_text_at(const json::object& object, std::string_view key) {
  const json::value* value = at(object, key);
  return value && value->is_string() ? clean_utf8(value->get_string()) : std::string();
}

uint64_t number_at(const json::object& object, std::string_view key) {
  const json::value* value = at(object, key);
  if (value && value->is_int64() && value->get_int64() > 0)
    return static_cast<uint64_t>(value->get_int64());
  return value && value->is_uint64() ? value->get_uint64() : 0;
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = at(object, key);
  return value ? value->if_object() : nullptr;
}

// On a line of its own.
void add_line(std::string& text, std::string_view line) {
  if (line.empty()) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += line;
}

bool is_base64(std::string_view text) {
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  text.remove_suffix(padding);
  return !text.empty() && text.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
                              "wxyz0123456789+/") == std::string_view::npos;
}

// {mime type: text}: an image when it offers one, else its text.
void add_bundle(Shown& shown, const json::value& value) {
  const json::object* bundle = value.if_object();
  if (!bundle) return;
  for (std::string_view mime : {"image/png", "image/jpeg"}) {
    std::string data = shown_text_at(*bundle, mime);
    // What isn't base64 would make the whole result unreadable to the client.
    if (shown.images.size() >= kMaxImages || !is_base64(data)) continue;
    shown.images.push_back({std::string(mime), std::move(data)});
    return;
  }
  add_line(shown.text, shown_text_at(*bundle, "text/plain"));
}

void add_stderr(Shown& shown, const session::CallAnswer& answer) {
  std::string text = clean_utf8(answer.errors);
  if (const json::object* error = object_at(answer.result, "error")) {
    std::string trace = shown_text_at(*error, "traceback");
    if (trace.empty()) trace = shown_text_at(*error, "message");
    add_line(text, trace);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty()) add_line(shown.text, "[stderr] " + text);
}

// How it ended, when that isn't plain from the rest.
std::string ending(const session::CallAnswer& answer) {
  if (answer.status == "exit")
    return fmt::format("[exit] the code ended itself with {}; the session goes on",
                       number_at(answer.result, "exit"));
  if (answer.status == "timeout")
    return fmt::format("[timeout] stopped after {:.1f} s", answer.milliseconds / 1000);
  if (answer.status == "interrupted") return "[interrupted] stopped before its end";
  if (answer.status == "lost") return "[lost] the session ended; the next call starts a new one";
  return {};
}

void add_notes(Shown& shown, const session::CallAnswer& answer) {
  add_line(shown.text, ending(answer));
  for (const std::string& note : session::all_notes(answer))
    add_line(shown.text, "[note] " + clean_utf8(note));
}

// Of a call that gave no value.
Shown show_failure(const session::CallAnswer& answer) {
  Shown shown;
  shown.is_error = true;
  shown.text = clean_utf8(answer.output);
  add_stderr(shown, answer);
  add_notes(shown, answer);
  if (shown.text.empty()) shown.text = "Error: " + clean_utf8(answer.status);
  return shown;
}

}  // namespace

Shown show_exec(const session::CallAnswer& answer) {
  Shown shown;
  shown.is_error = !answer.ok() && answer.status != "final" && answer.status != "exit";
  shown.text = clean_utf8(answer.output);
  if (const json::value* displays = at(answer.result, "displays"); displays && displays->is_array())
    for (const json::value& display : displays->get_array()) add_bundle(shown, display);
  if (const json::value* value = at(answer.result, "value")) add_bundle(shown, *value);
  if (const json::value* final = at(answer.result, "final"))
    add_line(shown.text, pretty_json(*final));
  add_stderr(shown, answer);
  add_notes(shown, answer);
  while (!shown.text.empty() && shown.text.back() == '\n') shown.text.pop_back();
  if (shown.text.empty() && shown.images.empty()) shown.text = "(no output)";
  return shown;
}

Shown show_vars(const session::CallAnswer& answer) {
  if (!answer.ok()) return show_failure(answer);
  Shown shown;
  const json::value* all = at(answer.result, "variables");
  size_t count = 0;
  if (all && all->is_array())
    for (const json::value& entry : all->get_array()) {
      const json::object* one = entry.if_object();
      if (!one || ++count > kMaxVars) continue;
      std::string summary = shown_text_at(*one, "summary");
      for (char& c : summary)
        if (c == '\n' || c == '\r') c = ' ';
      add_line(shown.text,
               fmt::format("  {}: {} = {}", shown_text_at(*one, "name"),
                           shown_text_at(*one, "type"), cut_middle(summary, kMaxSummary, "...")));
    }
  uint64_t more = number_at(answer.result, "left_out") + (count > kMaxVars ? count - kMaxVars : 0);
  if (more > 0) add_line(shown.text, fmt::format("  ... and {} more", more));
  if (shown.text.empty()) shown.text = "(no variables)";
  return shown;
}

Shown show_value(const session::CallAnswer& answer) {
  Shown shown;
  if (answer.status == "missing" || shown_text_at(answer.result, "status") == "missing") {
    shown.is_error = true;
    shown.text = "Error: not found";
    return shown;
  }
  if (!answer.ok()) return show_failure(answer);
  const json::value* value = at(answer.result, "value");
  shown.text = value ? pretty_json(*value) : shown_text_at(answer.result, "text");
  const json::value* cut = at(answer.result, "cut");
  if (cut && cut->is_bool() && cut->get_bool())
    add_line(shown.text,
             "[note] the value is longer than what can be fetched at once; slice it "
             "with `query`");
  shown.text = clean_utf8(shown.text);
  return shown;
}

Shown show_load(const session::CallAnswer& answer, std::string_view path,
                std::string_view variable) {
  if (!answer.ok()) {
    Shown shown = show_failure(answer);
    // A file that can't become a value is told in one line; a traceback says nothing about it.
    if (const json::object* error = object_at(answer.result, "error"))
      shown.text = "Error: " + shown_text_at(*error, "message");
    return shown;
  }
  const json::object& facts = answer.result;
  std::string size;
  struct Measure {
    std::string_view key, unit;
  };
  for (Measure one :
       {Measure{"files", "files"}, Measure{"chars", "chars"}, Measure{"rows", "rows"},
        Measure{"pages", "pages"}, Measure{"cells", "cells"}, Measure{"bytes", "bytes"}})
    if (at(facts, one.key) &&
        (size.empty() || size.ends_with(" file") || size.ends_with(" files"))) {
      uint64_t count = number_at(facts, one.key);
      if (count == 1 && one.key == "files")
        size = "1 file";
      else
        size += fmt::format("{}{} {}", size.empty() ? "" : ", ", count, one.unit);
    }
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  std::string_view base = path.substr(path.rfind('/') + 1);
  Shown shown;
  shown.text = fmt::format("Loaded {} into `{}` ({})", clean_utf8(base), variable, size);
  add_notes(shown, answer);
  return shown;
}

}  // namespace caisson::mcp
