#include "session/load_tally.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr size_t kMostNamed = 100;  // of those that were left out
constexpr size_t kMostTold = 200;

std::string told_text(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (!found || !found->is_string()) return "?";
  return printable(std::string_view(found->get_string()).substr(0, kMostTold));
}

std::string why_failed(const json::object& result) {
  const json::value* error = result.if_contains("error");
  if (!error || !error->is_object()) return "it can't be loaded";
  const json::object& said = error->get_object();
  return told_text(said, "type") + ": " + told_text(said, "message");
}

// What the interpreter says of each, in sum. Its numbers are whatever it wants, and don't run over.
void add_sizes(json::object& sums, const json::object& result) {
  for (std::string_view unit : {"chars", "rows", "pages", "cells", "bytes"}) {
    const json::value* told = result.if_contains(unit);
    if (!told || !told->is_int64()) continue;
    constexpr int64_t kMost = int64_t{1} << 50;
    int64_t before = sums.contains(unit) ? sums[unit].as_int64() : 0;
    sums[unit] = std::min(kMost, before + std::clamp<int64_t>(told->get_int64(), 0, kMost));
  }
}

}  // namespace

std::string told_reading(const json::object& result) {
  if (result.contains("note")) return told_text(result, "note");
  if (!result.contains("encoding_guessed")) return {};
  std::string lost;
  if (result.contains("undecodable")) lost = ", and some bytes are none of it";
  return fmt::format("read as {}, which is a guess{}: load takes an encoding",
                     told_text(result, "encoding"), lost);
}

bool LoadTally::add(const std::string& key, CallAnswer answer) {
  if (is_many_ && answer.status == "error") {
    if (left_out_.size() < kMostNamed) left_out_.push_back(key + ": " + why_failed(answer.result));
    if (!failed_) failed_ = std::move(answer);
    return true;
  }
  last_ = std::move(answer);
  std::string reading = told_reading(last_.result);
  if (!is_many_) {
    if (!reading.empty()) last_.notes.push_back(std::move(reading));
    return last_.ok();
  }
  if (!reading.empty() && readings_.size() < kMostNamed) readings_.push_back(key + ": " + reading);
  if (!last_.ok()) {
    last_.notes.push_back(
        fmt::format("that was at {}; {} files before it are loaded", key, keys_.size()));
    return false;
  }
  add_sizes(sizes_, last_.result);
  keys_.push_back(json::string(key));
  return true;
}

void LoadTally::stopped() {
  last_ = CallAnswer();
  last_.status = "interrupted";
  last_.notes.push_back(fmt::format("it was interrupted when {} files were loaded", keys_.size()));
}

CallAnswer LoadTally::sum() {
  if (last_.status.empty() && failed_) last_ = std::move(*failed_);
  if (is_many_ && last_.ok()) {
    for (const auto& [unit, sum] : sizes_) last_.result[unit] = sum;
    last_.result["files"] = keys_.size();
    last_.result["keys"] = std::move(keys_);
  }
  for (std::string& one : readings_) last_.notes.push_back(printable(one));
  for (const std::string& one : left_out_) last_.notes.push_back("left out: " + printable(one));
  return std::move(last_);
}

}  // namespace caisson::session
