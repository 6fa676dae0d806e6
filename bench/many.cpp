// The wall time of many at once: all are started, then all are waited for. Rounds of the commands
// alternate.
//
// usage: many [--label WORD] [--rounds N] [--at-once N] --case NAME command… [--case …]…
#include <fmt/format.h>

#include "cases.h"

using namespace caisson::bench;

namespace {

struct Series {
  Case what;
  std::vector<double> milliseconds;
  unsigned failed = 0;
};

void run_together(Series& series, unsigned count) {
  std::vector<pid_t> pids(count);
  double begin = now_ms();
  for (pid_t& pid : pids) pid = start(series.what);
  for (pid_t pid : pids)
    if (finish(pid).code) ++series.failed;
  series.milliseconds.push_back(now_ms() - begin);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  std::vector<Series> all;
  for (const Case& one : options.cases)
    if (works(one)) all.push_back({one});
  for (unsigned round = 0; round < options.rounds; ++round)
    for (Series& one : all) run_together(one, options.at_once);
  unsigned failed = 0;
  for (const Series& one : all) {
    fmt::print("{},\"at_once\":{},\"failed\":{}}}\n",
               line_start(options, one.what, one.milliseconds), options.at_once, one.failed);
    failed += one.failed;
  }
  return failed ? 1 : 0;
}
