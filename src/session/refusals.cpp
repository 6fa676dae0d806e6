#include "session/refusals.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "session/answers.h"

namespace caisson::session {

namespace {

constexpr size_t kMostRefused = 256 * 1024;

std::string refusal_text(const boost::json::object& from, std::string_view key) {
  const boost::json::value* found = from.if_contains(key);
  if (!found || !found->is_string()) return {};
  return printable(std::string_view(found->get_string()).substr(0, 1000));
}

// Of the network it has a host and a port, of files a path.
Refusal refusal_in(const boost::json::object& line) {
  std::string resource = refusal_text(line, "resource");
  if (resource.empty()) resource = refusal_text(line, "host");
  const boost::json::value* port = line.if_contains("port");
  if (port && port->is_int64() && port->get_int64() > 0)
    resource += fmt::format(":{}", port->get_int64());
  return {refusal_text(line, "rule"), std::move(resource), refusal_text(line, "reason"),
          refusal_text(line, "how_to_allow")};
}

}  // namespace

std::vector<Refusal> RefusalPipe::take() {
  if (!pipe_) return {};  // of a fork of a zygote: it has no network of its own
  char bytes[16384];
  for (ssize_t got; part_of_line_.size() < kMostRefused;) {
    got = ::read(pipe_.get(), bytes, sizeof bytes);
    if (got <= 0) break;
    part_of_line_.append(bytes, static_cast<size_t>(got));
  }
  std::vector<Refusal> all;
  for (size_t end; (end = part_of_line_.find('\n')) != std::string::npos;
       part_of_line_.erase(0, end + 1)) {
    Result<boost::json::object> line = parse_object(std::string_view(part_of_line_).substr(0, end));
    if (line) all.push_back(refusal_in(*line));
  }
  if (part_of_line_.size() >= kMostRefused) part_of_line_.clear();  // no line is as long
  return all;
}

}  // namespace caisson::session
