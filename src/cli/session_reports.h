// What `caisson session` says of an answer beside its result. Pure: the server's JSON in, text out.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace caisson {

std::string member_text(const boost::json::value& object, std::string_view name);
boost::json::array array_of(const boost::json::value& object, std::string_view name);
bool flag_of(const boost::json::value& object, std::string_view name);

// NAME: TYPE, how large and of what, = SUMMARY.
std::string variable_line(const boost::json::value& entry);
// The names of checkpoints, each below the one that it was made after.
std::string checkpoint_tree(const boost::json::value& answer);
// Variables that are not in a snapshot, or did not come back: a line for each, and why.
std::vector<std::string> left_out_lines(const boost::json::value& answer);
// Nothing when the value is whole.
std::string cut_line(const boost::json::value& answer);

}  // namespace caisson
