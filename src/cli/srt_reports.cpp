#include "cli/srt_reports.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/output.h"
#include "host/probe.h"
#include "policy/resolve.h"
#include "srt/keys.h"

namespace caisson {

namespace json = boost::json;

namespace {

// Names on Linux are bytes; JSON is UTF-8.
json::value text_value(const std::string& text) {
  if (is_valid_utf8(text)) return json::value(text);
  return json::object{{"base64", base64(text)}};
}

json::array words_json(const std::vector<std::string>& words) {
  json::array out;
  for (const std::string& word : words) out.push_back(text_value(word));
  return out;
}

std::string own_program() {
  char path[4096];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "caisson";
}

json::object place_json(size_t line, const std::string& path) {
  return {{"line", line ? json::value(line) : json::value(nullptr)}, {"key", path}};
}

std::string validation_json(const std::string& file, const Error* broken,
                            const srt::Reading& reading) {
  json::array problems, remarks;
  if (broken)
    problems.push_back(json::object{
        {"line", nullptr}, {"key", ""}, {"what", broken->what}, {"hint", broken->hint}});
  for (const srt::Problem& one : reading.problems) {
    json::object entry = place_json(one.line, one.path);
    entry["what"] = one.what;
    entry["hint"] = one.hint;
    problems.push_back(std::move(entry));
  }
  for (const srt::Remark& one : reading.remarks) {
    json::object entry = place_json(one.line, one.path);
    entry["text"] = one.text;
    remarks.push_back(std::move(entry));
  }
  json::object out;
  out["file"] = file;
  out["valid"] = problems.empty();
  out["problems"] = std::move(problems);
  out["remarks"] = std::move(remarks);
  return json::serialize(out) + "\n";
}

std::string validation_text(const std::string& file, const Error* broken,
                            const srt::Reading& reading) {
  std::string text;
  auto add = [&](const std::string& what, const std::string& hint) {
    text += printable(what) + "\n";
    if (!hint.empty()) text += "  hint: " + printable(hint) + "\n";
  };
  if (broken) add(broken->what, broken->hint);
  for (const srt::Problem& one : reading.problems) add(srt::problem_text(one, file), one.hint);
  for (const srt::Remark& one : reading.remarks)
    add(fmt::format("{}:{}: {}: {}", file, one.line, one.path, one.text), "");
  if (!broken && reading.problems.empty()) text += printable(file) + ": valid\n";
  return text;
}

}  // namespace

std::string srt_keys() {
  std::string text;
  for (const srt::Key& key : srt::keys())
    text += fmt::format("{}\t{}{}\t{}\t{}\t{}\n", key.path, srt::shape_text(key),
                        key.required ? ", required" : "", srt::standing_text(key.standing),
                        key.meaning, key.test);
  return text;
}

int srt_validate(const SrtOptions& options, const ProcessStart& start) {
  SrtOptions asked = options;
  if (!options.words.empty()) asked.settings_file = options.words[0];
  Caller caller = current_caller(start.environment);
  srt::Reading reading;
  std::optional<Error> broken;
  if (options.words.size() > 1)
    broken = Error::plain("validate takes one file", "srt validate FILE");
  std::string file = asked.settings_file;
  if (!broken) {
    Result<SettingsText> text = find_settings(asked, caller);
    if (text) file = text->name;
    Result<srt::Reading> read =
        text ? srt::read_settings(text->text, text->name,
                                  options.lenient ? srt::Unknown::kLenient : srt::Unknown::kError)
             : Result<srt::Reading>(text.error());
    if (read)
      reading = std::move(*read);
    else
      broken = read.error();
  }
  const Error* error = broken ? &*broken : nullptr;
  int printed = print(options.json ? validation_json(file, error, reading)
                                   : validation_text(file, error, reading));
  return broken || !reading.problems.empty() || printed != 0 ? 1 : 0;
}

std::string srt_wrap(const SrtJob& wrapped, const SrtOptions& options) {
  const Job& job = wrapped.job;
  std::vector<std::string> argv{own_program(), "srt"};
  json::object out;
  // By descriptor the settings are what they were when they were looked at, whoever may write the
  // file; and they are in nobody's argv.
  bool by_fd = options.settings_fd >= 0 || wrapped.source.path.empty();
  int fd = options.settings_fd >= 0 ? options.settings_fd : 3;
  if (by_fd) {
    argv.insert(argv.end(), {"--settings-fd", std::to_string(fd)});
    out["settings_fd"] = fd;
    out["settings"] = text_value(wrapped.source.text);
  } else {
    argv.insert(argv.end(), {"--settings", wrapped.source.path});
  }
  if (options.lenient) argv.push_back("--lenient");
  if (options.debug) argv.push_back("--debug");
  if (options.has_shell_text)
    argv.insert(argv.end(), {"-c", options.shell_text});
  else
    argv.push_back("--");
  argv.insert(argv.end(), options.words.begin(), options.words.end());
  json::object outside, inside;
  for (const auto& [name, value] : job.caller.environment) {
    bool denied = std::ranges::any_of(wrapped.settings.credentials, [&](const auto& one) {
      return !one.mask && one.spec.source == SecretSource::kEnvironment && one.spec.from == name;
    });
    if (!denied) outside[name] = text_value(value);
  }
  for (const auto& [name, value] : job.policy.environment) inside[name] = text_value(value);
  out["argv"] = words_json(argv);
  out["env"] = std::move(outside);
  out["cwd"] = text_value(job.caller.cwd);
  out["inside"] = json::object{{"argv", words_json(job.command.argv)},
                               {"env", std::move(inside)},
                               {"cwd", text_value(job.policy.workdir)}};
  out["policy_digest"] = digest(job.policy);
  json::array notes;
  for (const std::string& note : wrapped.notes) notes.push_back(text_value(note));
  out["notes"] = std::move(notes);
  return json::serialize(out) + "\n";
}

}  // namespace caisson
