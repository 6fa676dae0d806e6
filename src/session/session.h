// Session: a living Python in a cell. One call at a time; everything that comes out of it is
// whatever its code wants it to be, so nothing here trusts a length, a type or a text.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"

namespace caisson::session {

enum class OutputStream { kStdout, kStderr };

// A function of the host that code inside can call by name.
struct HostFunction {
  std::string name, doc;
  bool batch = false;
  // One call, with {"args": […], "kwargs": {…}} as given inside; an error's text is what the caller
  // inside sees. With `batch`, NAME_batched is there as well: a list of calls at once.
  std::function<Task<Result<boost::json::value>>(boost::json::object arguments)> call;
};

struct SessionSpec {
  std::string name;       // 1 to 64 of [A-Za-z0-9._-], starting with a letter or digit
  std::string python;     // the interpreter; empty: python3 of the caller's PATH
  std::string workspace;  // a folder of the host at /workspace, writable; empty: a private one
  std::vector<std::string> policy_words;  // options of `caisson exec` beyond the default policy
  uint64_t memory_bytes = uint64_t{2} << 30;
  uint32_t cpu_millis = 2000;
  uint32_t pids = 256;
  std::chrono::milliseconds call_timeout{30000};  // for a call that names none
  uint64_t output_bytes = 16 << 20;               // of one call
  bool ipython = true;                            // when it can be imported
  std::vector<std::string> preload;               // modules of the zygote
  std::vector<HostFunction> functions;
  uint32_t host_calls = 10000;           // of functions that one exec may make
  std::vector<std::string> final_names;  // functions inside that end a call with a result
  bool take_up_snapshot = false;         // of an earlier session of that name, if there is one
};

struct ExecRequest {
  std::string code;
  std::optional<std::chrono::milliseconds> timeout;
  std::function<void(OutputStream, std::string_view)> on_output;  // as it comes
};

// What a call came to. `status`: ok, error, exit, final, interrupted, timeout, killed, lost.
struct CallAnswer {
  std::string status;
  std::string output, errors;  // stdout and stderr up to the limit
  uint64_t output_cut = 0, errors_cut = 0;
  boost::json::object result;      // of the interpreter: value, displays, error, variables, …
  boost::json::object ended;       // of the keeper, when the interpreter gave no answer
  std::vector<std::string> notes;  // for a person: what was stopped, restored, kept, lost
  double milliseconds = 0;
  bool ok() const { return status == "ok"; }
};

struct SessionInfo {
  std::string name, python, shell, workspace, parent;  // parent: of a branch
  uint64_t calls = 0;
  int64_t created_unix = 0;
  bool busy = false, alive = false;
  std::string cell;                   // "zygote" or "own": how it was started
  std::string inside = "/workspace";  // where its code finds the workspace
  bool layered = false;  // checkpoints and branches hold the files, too; else they are shared
  std::vector<std::string> notes;   // about its start: what a snapshot brought back, and what not
  std::vector<std::string> losses;  // those of them that tell of something lost
  bool files_are_back = false;      // of an earlier session of that name
};

// Of the supervisor of a cell. The names in it are the cell's choice.
struct Refusal {
  std::string rule, resource, reason, how_to_allow;
};

// What a file becomes: "auto", "text", "bytes" or "dataframe". Encoding: by Python's name, where it
// is known; empty: found out.
struct LoadAs {
  std::string kind = "auto", encoding = {};
};

class Session {
 public:
  virtual ~Session() = default;
  virtual SessionInfo info() const = 0;
  // Every call below waits its turn; one runs at a time.
  virtual Task<Result<CallAnswer>> exec(ExecRequest) = 0;
  virtual Task<Result<CallAnswer>> vars(uint32_t limit) = 0;
  virtual Task<Result<CallAnswer>> get(std::string name, uint64_t max_bytes) = 0;
  virtual Task<Result<CallAnswer>> evaluate(std::string expression, uint64_t max_bytes) = 0;
  // The bytes go by descriptor. kind: "text", "bytes" or "json".
  virtual Task<Result<CallAnswer>> set(std::string name, std::string kind, std::string bytes) = 0;
  // The same of a memfd, which is empty when the call is over.
  virtual Task<Result<CallAnswer>> set_lent(std::string name, std::string kind, UniqueFd bytes) = 0;
  // A file, a folder or a glob of the host, resolved and judged by LoadRules first.
  virtual Task<Result<CallAnswer>> load(std::string path, std::string name, LoadAs how) = 0;
  virtual Task<Result<boost::json::object>> reset() = 0;
  virtual Task<Result<boost::json::object>> checkpoint(std::string name) = 0;
  virtual Task<Result<boost::json::object>> restore(std::string name) = 0;
  virtual Task<Result<boost::json::object>> drop(std::string name) = 0;
  virtual Task<Result<boost::json::object>> checkpoints() = 0;
  // A snapshot on the host, of as many variables as fit.
  virtual Task<Result<CallAnswer>> save(std::string path, uint64_t most_bytes) = 0;
  virtual Task<Result<CallAnswer>> unsave(std::string path) = 0;
  virtual void interrupt() = 0;  // the running call, if there is one
  // What its network and the rules for files refused since this was asked last.
  virtual std::vector<Refusal> take_refusals() { return {}; }
};

}  // namespace caisson::session
