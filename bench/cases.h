// What the benchmark programs share: the commands they compare, starting them, and telling.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace caisson::bench {

struct Case {
  std::string name;
  std::vector<std::string> words;
};

struct Options {
  std::string label = "start";  // of the JSON lines
  unsigned rounds = 300;
  unsigned at_once = 100;
  unsigned busy = 0;  // processes that compute beside what is measured, for each core
  std::vector<Case> cases;
};

// [--label WORD] [--rounds N] [--at-once N] [--busy N] --case NAME command… [--case NAME command…]…
Options read_options(int argc, char** argv);

// Work of others on every core, for as long as it lives. They go with this process.
class Others {
 public:
  explicit Others(unsigned for_each_core);
  ~Others();
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

 private:
  std::vector<pid_t> pids_;
};

double now_ms();

// All three of its streams are /dev/null unless given. Ends this program when it can't be started.
pid_t start(const Case&, int input = -1, int output = -1);
struct End {
  int code;       // of its exit, or 128 + the signal
  double cpu_ms;  // user and kernel time of it and of all that it waited for
};
End finish(pid_t);
// Once, with its stderr shown, before anything is measured. False: it doesn't work here.
bool works(const Case&);

struct Summary {
  double p10, p50, p90, p99, mean;
};
Summary summarize(std::vector<double> values);
// {"case":…,"name":…,"user":…,"n":…,"p10_ms":…,…} without its closing brace.
std::string line_start(const Options&, const Case&, const std::vector<double>& values);

}  // namespace caisson::bench
