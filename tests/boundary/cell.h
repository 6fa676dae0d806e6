// A probe in a cell, and the same probe on the host: what every claim of the suite is made of.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "places.h"
#include "process.h"

namespace caisson::boundary {

// What a probe said. `error` 0: the thing worked; -1: the probe said nothing, which fails the test.
struct Answer {
  int error = -1;
  std::string name, detail;
  Outcome run;
};

// caisson exec, with the probes at /probe, `options` and `command`.
Words exec_line(const Words& command, const Words& options = {});

Outcome run_cell(const Words& command, const Words& options = {}, const RunOptions& how = {});
// The same with --json-output; the object that was printed.
boost::json::object run_json(const Words& command, const Words& options = {},
                             const RunOptions& how = {});

Answer in_cell(const Words& probe, const Words& options = {}, const RunOptions& how = {});
Answer on_host(const Words& probe, const RunOptions& how = {});
// The host, in a user and mount namespace made for this: where a mount can do no harm.
Answer in_own_namespaces(const Words& probe, const RunOptions& how = {});
Answer parse_answer(Outcome outcome);
std::vector<Answer> parse_answers(const Outcome& outcome);  // one per line

Words mount(const std::string& source, const std::string& target, const char* access);
Words operator+(Words left, const Words& right);
std::vector<std::string> lines(const std::string& text);
std::string hex(const std::string& text);

// EXPECT_TRUE(refused(in_cell({…}))): the kernel said no, by any errno. A probe that said nothing
// is neither refused nor worked.
testing::AssertionResult refused(const Answer& answer);
testing::AssertionResult refused_with(const Answer& answer, std::initializer_list<int> errors);
testing::AssertionResult worked(const Answer& answer);

// The cell was made, and the command ended with this code.
testing::AssertionResult ended_with(const Outcome& outcome, int code);

// Processes of the host whose command line has this word.
std::vector<pid_t> processes_with(const std::string& marker);

}  // namespace caisson::boundary
