// LoadTally: what a load of many files came to, of the answers to each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "session/load_rules.h"
#include "session/session.h"

namespace caisson::session {

// What is to be known of how the bytes were read, in words; empty where nothing is.
std::string told_reading(const boost::json::object& result);

class LoadTally {
 public:
  explicit LoadTally(LoadedFiles& files)
      : is_many_(files.is_many), left_out_(std::move(files.left_out)) {}

  // Whether the next file has its turn: one that can't become a value is no reason to be without
  // the others, the end of a call is.
  bool add(const std::string& key, CallAnswer answer);
  void stopped();  // between two files
  bool nothing_yet() const { return keys_.empty(); }
  CallAnswer sum();

 private:
  bool is_many_;
  std::vector<std::string> left_out_, readings_;
  CallAnswer last_;
  std::optional<CallAnswer> failed_;  // the first of them
  boost::json::array keys_;
  boost::json::object sizes_;
};

}  // namespace caisson::session
