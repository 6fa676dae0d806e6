#include "cli/result_json.h"

#include <cmath>

namespace caisson {

namespace json = boost::json;

static double rounded(double milliseconds) { return std::round(milliseconds * 1000) / 1000; }

json::object limits_json(const Limits& limits, const std::vector<Enforcement>& enforcement) {
  json::object out;
  if (limits.wall)
    out["timeout_ms"] = limits.wall->count();
  else
    out["timeout_ms"] = nullptr;
  out["memory_bytes"] = limits.memory_bytes;
  if (limits.cpu_millis)
    out["cpu"] = limits.cpu_millis / 1000.0;
  else
    out["cpu"] = nullptr;
  if (limits.cpu_shares) out["cpu_shares"] = *limits.cpu_shares;
  out["pids"] = limits.pids;
  out["files"] = limits.files;
  out["file_bytes"] = limits.file_bytes;
  out["tmp_bytes"] = limits.tmp_bytes;
  out["output_bytes"] = limits.output_bytes;
  json::object held;
  for (const Enforcement& one : enforcement) held[one.limit] = one.mechanism;
  out["enforced_by"] = std::move(held);
  return out;
}

json::array degradations_json(const std::vector<Degradation>& degradations) {
  json::array out;
  for (const Degradation& one : degradations)
    out.push_back(json::object{{"field", one.field}, {"reason", one.reason}, {"effect", one.effect}});
  return out;
}

json::array denials_json(const Outcome& outcome) {
  json::array out;
  for (const Denial& one : outcome.denials)
    out.push_back(json::object{
        {"rule", one.rule}, {"resource", one.resource}, {"how_to_allow", one.how_to_allow}});
  if (outcome.denials_cut) out.push_back(json::object{{"more", outcome.denials_cut}});
  return out;
}

json::object usage_json(const Usage& usage) {
  return {{"cpu_ms", rounded(usage.cpu_ms)},
          {"user_ms", rounded(usage.user_ms)},
          {"system_ms", rounded(usage.system_ms)},
          {"max_rss_bytes", usage.max_rss_bytes},
          {"memory_peak_bytes", usage.memory_peak_bytes},
          {"oom_kills", usage.oom_kills},
          {"pids_refused", usage.pids_refused},
          {"stdout_bytes", usage.stdout_bytes},
          {"stderr_bytes", usage.stderr_bytes},
          {"stdout_cut_bytes", usage.stdout_cut},
          {"stderr_cut_bytes", usage.stderr_cut}};
}

}  // namespace caisson
