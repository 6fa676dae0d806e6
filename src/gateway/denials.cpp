#include "gateway/denials.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"

namespace caisson {
namespace {

constexpr size_t kMaxText = 512;
// What scripts look for in the answer of a sandbox's proxy.
constexpr std::string_view kBlocked = "Connection blocked by network allowlist";

// A stranger's text: printable, cut, and valid UTF-8 for JSON.
std::string told(std::string_view text) {
  std::string shown = printable(text.substr(0, kMaxText));
  if (!is_valid_utf8(shown)) return "(not text)";
  return shown;
}

boost::json::object object_of(const ToldDenial& denial) {
  boost::json::object object;
  object["denied"] = true;
  object["rule"] = told(denial.verdict.rule);
  object["reason"] = told(denial.verdict.reason);
  object["host"] = told(denial.host);
  object["port"] = denial.port;
  object["how_to_allow"] = told(denial.verdict.how_to_allow);
  return object;
}

}  // namespace

std::string denial_json(const ToldDenial& denial) {
  boost::json::object object = object_of(denial);
  object["message"] = kBlocked;
  return boost::json::serialize(object);
}

bool Denials::tell(const ToldDenial& denial) {
  ++total_;
  std::string key = fmt::format("{}\n{}\n{}\n{}", denial.protocol, denial.port,
                                denial.host.substr(0, kMaxText), denial.verdict.rule);
  std::string kind = fmt::format("{} {}", denial.protocol, denial.verdict.rule);
  auto [place, entry] = room_.offer(kind, key, Entry{denial});
  if (place == Room::Place::kSeen && entry) ++entry->count;
  if (place != Room::Place::kFirst) return false;
  boost::json::object object = object_of(denial);
  object["protocol"] = denial.protocol;
  send_(boost::json::serialize(object));
  return true;
}

void Denials::tell_counts() {
  room_.for_each([this](const Entry& entry, Room::Place place) {
    if (entry.count < 2 && place == Room::Place::kFirst) return;
    boost::json::object object = object_of(entry.denial);
    object["protocol"] = entry.denial.protocol;
    object["count"] = entry.count;
    send_(boost::json::serialize(object));
  });
}

}  // namespace caisson
