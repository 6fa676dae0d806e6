// The resident memory that a sandbox itself adds while its program runs: the proportional set size
// of every process between this one and the program. A process that shares the memory of another
// (CLONE_VM) is counted once. The program is cat: it answers when it is there, and ends with its
// input. It is measured at rest, a tenth of a second later. To read another user's memory map takes
// root.
//
// usage: memory [--label WORD] [--rounds N] --case NAME command… cat [--case …]…
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cases.h"

using namespace caisson::bench;

namespace {

constexpr int kAtRestMs = 100;

std::string read_file(const std::string& path) {
  std::string text;
  if (FILE* file = ::fopen(path.c_str(), "re")) {
    char buffer[4096];
    while (size_t got = ::fread(buffer, 1, sizeof buffer, file)) text.append(buffer, got);
    ::fclose(file);
  }
  return text;
}

void add_tree(pid_t pid, std::vector<pid_t>& all) {
  all.push_back(pid);
  std::string children = read_file(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (char* at = children.data(); *at;) {
    char* end = at;
    pid_t child = static_cast<pid_t>(::strtol(at, &end, 10));
    if (end == at) break;
    add_tree(child, all);
    at = end;
  }
}

bool same_memory(pid_t a, pid_t b) { return ::syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0; }

std::optional<double> pss_kib(pid_t pid) {
  std::string text = read_file(fmt::format("/proc/{}/smaps_rollup", pid));
  size_t at = text.find("\nPss:");
  if (at == std::string::npos) return {};
  return ::atof(text.c_str() + at + 5);
}

// Nothing: a map could not be read.
std::optional<double> added_kib(pid_t sandbox) {
  std::vector<pid_t> tree, counted;
  add_tree(sandbox, tree);
  double sum = 0;
  for (pid_t pid : tree) {
    if (read_file(fmt::format("/proc/{}/comm", pid)) == "cat\n") continue;
    bool known = std::any_of(counted.begin(), counted.end(),
                             [&](pid_t other) { return same_memory(pid, other); });
    if (known) continue;
    std::optional<double> size = pss_kib(pid);
    if (!size) return {};
    counted.push_back(pid);
    sum += *size;
  }
  return sum;
}

struct Sample {
  std::optional<double> kib;
  int code;
};

Sample measure(const Case& what) {
  int input[2], output[2];
  if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) ::abort();
  pid_t pid = start(what, input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  char byte = '\n';
  bool alive = ::write(input[1], &byte, 1) == 1 && ::read(output[0], &byte, 1) == 1;
  pollfd quiet{output[0], POLLIN, 0};
  ::poll(&quiet, 1, kAtRestMs);
  std::optional<double> kib;
  if (alive) kib = added_kib(pid);
  ::close(input[1]);
  ::close(output[0]);
  return {kib, finish(pid).code};
}

bool tell(const Options& options, const Case& what) {
  std::vector<double> kib;
  for (unsigned round = 0; round < options.rounds; ++round) {
    Sample sample = measure(what);
    if (sample.code) return false;
    if (!sample.kib) {
      fprintf(stderr, "bench: %s left out: its memory map can't be read\n", what.name.c_str());
      return true;
    }
    kib.push_back(*sample.kib);
  }
  Summary all = summarize(kib);
  fmt::print(
      "{{\"case\":\"{}\",\"name\":\"{}\",\"user\":\"{}\",\"n\":{},\"p10_kib\":{:.0f},"
      "\"p50_kib\":{:.0f},\"p90_kib\":{:.0f}}}\n",
      options.label, what.name, ::geteuid() == 0 ? "root" : "user", kib.size(), all.p10, all.p50,
      all.p90);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  bool good = true;
  for (const Case& one : options.cases)
    if (works(one) && !tell(options, one)) good = false;
  return good ? 0 : 1;
}
