// Several commands side by side that measure themselves, each printing a number of milliseconds:
// every round runs each once, in an order that chance gives, as in start.cpp.
//
// usage: gateway_told [--label WORD] [--rounds N] --case NAME command… [--case NAME command…]…
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "cases.h"

using namespace caisson::bench;

namespace {

struct Series {
  Case what;
  std::vector<double> milliseconds;
  unsigned failed = 0;
};

std::optional<double> number_told(const Case& what) {
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) ::abort();
  pid_t pid = start(what, -1, output[1]);
  ::close(output[1]);
  std::string text;
  char piece[256];
  for (ssize_t got; (got = ::read(output[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(got));
  ::close(output[0]);
  char* end = text.data();
  double value = ::strtod(text.c_str(), &end);
  if (finish(pid).code != 0 || end == text.data() || value <= 0) return {};
  return value;
}

void run_once(Series& series) {
  if (std::optional<double> told = number_told(series.what))
    series.milliseconds.push_back(*told);
  else
    ++series.failed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  std::vector<Series> all;
  unsigned failed = 0;
  for (const Case& one : options.cases) {
    if (works(one))
      all.push_back({one});
    else
      ++failed;
  }
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::minstd_rand chance(1);
  for (unsigned round = 0; round < options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), chance);
    for (size_t i : order) run_once(all[i]);
  }
  for (const Series& one : all) {
    fmt::print("{},\"failed\":{}}}\n", line_start(options, one.what, one.milliseconds), one.failed);
    failed += one.failed;
  }
  return failed ? 1 : 0;
}
