#include "cli/result_json.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "run/audit_encode.h"

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
    out.push_back(
        json::object{{"field", one.field}, {"reason", one.reason}, {"effect", one.effect}});
  return out;
}

json::array denials_json(const Outcome& outcome) {
  json::array out;
  for (const Denial& one : outcome.denials) {
    json::object denial{
        {"rule", one.rule}, {"resource", one.resource}, {"how_to_allow", one.how_to_allow}};
    if (one.count > 1) denial["count"] = one.count;
    out.push_back(std::move(denial));
  }
  if (!outcome.denials_cut) return out;
  json::object rest{{"more", outcome.denials_cut}};
  if (outcome.denials_lost_count) rest["at_least"] = true;
  out.push_back(std::move(rest));
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
          {"stderr_cut_bytes", usage.stderr_cut},
          {"connections", usage.connections},
          {"uploaded_bytes", usage.uploaded_bytes},
          {"downloaded_bytes", usage.downloaded_bytes}};
}

// Control bytes are six characters each in JSON: output that is mostly those would grow sixfold.
static bool reads_as_text(const std::string& bytes) {
  auto escaped = std::ranges::count_if(
      bytes, [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\r' && c != '\t'; });
  return (escaped <= 1024 || static_cast<size_t>(escaped) <= bytes.size() / 4) &&
         is_valid_utf8(bytes);
}

// Text as it is when it is UTF-8, else base64 with a flag beside it.
static void put_output(json::object& out, const char* key, const std::string& bytes) {
  bool is_text = reads_as_text(bytes);
  out[key] = is_text ? bytes : base64(bytes);
  if (!is_text) out[std::string(key) + "_encoding"] = "base64";
}

static json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

std::string result_text(const ResultView& view) {
  const Outcome& outcome = view.outcome;
  json::object out;
  put_output(out, "stdout", outcome.captured_stdout);
  put_output(out, "stderr", outcome.captured_stderr);
  out["returncode"] = outcome.exit_code;
  out["success"] = outcome.status == Status::kOk;
  out["status"] = status_name(outcome.status);
  out["reason"] = outcome.reason;
  if (!outcome.hint.empty()) out["hint"] = outcome.hint;
  out["duration_ms"] = rounded(outcome.duration_ms);
  out["usage"] = usage_json(outcome.usage);
  out["limits"] = view.plan ? json::value(limits_json(view.plan->limits, view.plan->enforcement))
                            : json::value(nullptr);
  out["tier"] = view.plan ? json::value(tier_name(view.plan->tier)) : json::value(nullptr);
  out["degradations"] = view.plan ? degradations_json(view.plan->degradations) : json::array();
  out["denials"] = denials_json(outcome);
  out["policy_digest"] = text_or_null(view.policy_digest);
  out["audit_id"] = text_or_null(view.audit_id);
  return encode_event(out, SIZE_MAX) + "\n";
}

std::string setup_error_text(const Error& error, const Plan* plan, const std::string& digest) {
  Outcome outcome;
  outcome.status = Status::kSetupError;
  outcome.reason = error.what;
  outcome.hint = error.hint;
  return result_text({outcome, plan, digest, ""});
}

}  // namespace caisson
