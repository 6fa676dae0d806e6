// How long a command takes from spawn to reaped, for several commands side by side: every round
// runs each once, in an order that chance gives, so that a slow moment of the machine falls on all
// alike.
//
// usage: start [--label WORD] [--rounds N] [--busy N] --case NAME command… [--case NAME command…]…
#include <stdio.h>

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "cases.h"

using namespace caisson::bench;

namespace {

struct Series {
  Case what;
  std::vector<double> milliseconds, cpu_milliseconds;
  unsigned failed = 0;
};

void run_once(Series& series) {
  double begin = now_ms();
  End end = finish(start(series.what));
  series.milliseconds.push_back(now_ms() - begin);
  series.cpu_milliseconds.push_back(end.cpu_ms);
  if (end.code) ++series.failed;
}

double median_of(const std::vector<double>& values, size_t from, size_t count) {
  auto begin = values.begin() + static_cast<long>(from);
  return summarize({begin, begin + static_cast<long>(count)}).p50;
}

// The first and the last tenth: whether the thousandth costs what the first did.
void tell(const Options& options, const Series& series) {
  const std::vector<double>& all = series.milliseconds;
  size_t tenth = std::max<size_t>(all.size() / 10, 1);
  fmt::print(
      "{},\"cpu_p50_ms\":{:.3f},\"first_tenth_p50_ms\":{:.3f},\"last_tenth_p50_ms\":{:.3f},"
      "\"failed\":{}}}\n",
      line_start(options, series.what, all), summarize(series.cpu_milliseconds).p50,
      median_of(all, 0, tenth), median_of(all, all.size() - tenth, tenth), series.failed);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  std::vector<Series> all;
  for (const Case& one : options.cases)
    if (works(one)) all.push_back({one});

  Others others(options.busy);
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::minstd_rand chance(1);
  for (unsigned round = 0; round < options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), chance);
    for (size_t i : order) run_once(all[i]);
  }
  unsigned failed = 0;
  for (const Series& one : all) {
    tell(options, one);
    failed += one.failed;
  }
  return failed ? 1 : 0;
}
