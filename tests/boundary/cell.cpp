#include "cell.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>

namespace caisson::boundary {

namespace json = boost::json;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Words mount(const std::string& source, const std::string& target, const char* access) {
  return {"--mount", source + ":" + target + ":" + access};
}

Words exec_line(const Words& command, const Words& options) {
  return Words{caisson_binary(), "exec"} + mount(probe_folder(), "/probe", "ro") + options +
         Words{"--"} + command;
}

Outcome run_cell(const Words& command, const Words& options, const RunOptions& how) {
  return run(exec_line(command, options), how);
}

json::object run_json(const Words& command, const Words& options, const RunOptions& how) {
  Outcome outcome = run_cell(command, options + Words{"--json-output"}, how);
  json::error_code error;
  json::value value = json::parse(outcome.out, error);
  if (!error && value.is_object()) return value.as_object();
  ADD_FAILURE() << "no JSON result, exit code " << outcome.code << ", signal " << outcome.signal
                << (outcome.late ? ", past the deadline" : "") << "\n"
                << outcome.out.substr(0, 2000) << outcome.err.substr(0, 2000);
  return {{"status", "none"},
          {"stdout", ""},
          {"stderr", ""},
          {"returncode", -1},
          {"usage", json::object()},
          {"limits", json::object()},
          {"degradations", json::array()}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

std::string hex(const std::string& text) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : text) (out += digits[byte >> 4]) += digits[byte & 15];
  return out;
}

static bool fill_answer(const std::string& line, Answer& answer) {
  size_t start = line.find("{\"probe\"");  // a terminal may have echoed something before it
  if (start == std::string::npos) return false;
  json::error_code error;
  json::value value = json::parse(line.substr(start), error);
  if (error || !value.is_object() || !value.as_object().contains("probe")) return false;
  const json::object& said = value.as_object();
  answer.error = static_cast<int>(said.at("errno").as_int64());
  answer.name = said.at("name").as_string().c_str();
  answer.detail = std::string(said.at("detail").as_string());
  return true;
}

std::vector<Answer> parse_answers(const Outcome& outcome) {
  std::vector<Answer> answers;
  for (const std::string& line : lines(outcome.out)) {
    Answer answer;
    if (fill_answer(line, answer)) answers.push_back(std::move(answer));
  }
  return answers;
}

Answer parse_answer(Outcome outcome) {
  Answer answer;
  for (const std::string& line : lines(outcome.out))
    if (fill_answer(line, answer)) break;
  answer.run = std::move(outcome);
  return answer;
}

// A cell that was never made refuses everything: without the probe's own line there is no claim.
static Answer expect_answer(Outcome outcome, const Words& probe) {
  Answer answer = parse_answer(std::move(outcome));
  if (answer.error < 0)
    ADD_FAILURE() << "probe " << probe.at(0) << " said nothing: exit code " << answer.run.code
                  << ", signal " << answer.run.signal << (answer.run.late ? ", late" : "") << "\n"
                  << answer.run.out.substr(0, 500) << answer.run.err.substr(0, 500);
  return answer;
}

Answer in_cell(const Words& probe, const Words& options, const RunOptions& how) {
  return expect_answer(run_cell(Words{"/probe/probe"} + probe, options, how), probe);
}

Answer on_host(const Words& probe, const RunOptions& how) {
  return expect_answer(run(Words{probe_folder() + "/probe"} + probe, how), probe);
}

Answer in_own_namespaces(const Words& probe, const RunOptions& how) {
  return on_host(Words{"own-ns"} + probe, how);
}

static std::string describe(const Answer& answer) {
  return answer.name + " (" + std::to_string(answer.error) + ") " + answer.detail.substr(0, 300);
}

testing::AssertionResult refused(const Answer& answer) {
  if (answer.error > 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "was not refused: " << describe(answer);
}

testing::AssertionResult refused_with(const Answer& answer, std::initializer_list<int> errors) {
  if (std::find(errors.begin(), errors.end(), answer.error) != errors.end())
    return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure() << "answered " << describe(answer) << ", expected";
  for (int error : errors) failure << " " << ::strerrorname_np(error);
  return failure;
}

testing::AssertionResult worked(const Answer& answer) {
  if (answer.error == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "did not work: " << describe(answer);
}

testing::AssertionResult ended_with(const Outcome& outcome, int code) {
  if (outcome.code == code && !outcome.late) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "exit code " << outcome.code << ", signal " << outcome.signal
         << (outcome.late ? ", past the deadline" : "") << ", expected " << code << "\n"
         << outcome.out.substr(0, 500) << outcome.err.substr(0, 500);
}

std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  for (dirent* entry; proc && (entry = ::readdir(proc.get()));) {
    if (!::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    std::string words = read_file(std::string("/proc/") + entry->d_name + "/cmdline");
    if (words.find(marker) != std::string::npos) found.push_back(::atoi(entry->d_name));
  }
  return found;
}

}  // namespace caisson::boundary
