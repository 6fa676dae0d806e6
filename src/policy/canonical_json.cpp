// The policy as one line of JSON with a fixed order: the same policy gives the same bytes.
//
// Left out: where a value came from (origins, notes), and the device and inode of a mount's source,
// which say when and on which disk the policy was resolved, not what it allows.
// The values of variables are there as SHA-256 over "NAME=VALUE" only: two policies that differ in
// a value differ in their digest, and no secret is printed or kept.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/sha256.h"
#include "base/text.h"
#include "policy/network_details_json.h"
#include "policy/resolve.h"

namespace caisson {

namespace json = boost::json;

// A name on Linux is bytes; JSON is UTF-8. What is not UTF-8 is written so that nothing is lost.
static json::value text_value(const std::string& text) {
  if (is_valid_utf8(text)) return json::value(text);
  return json::object{{"base64", base64(text)}};
}

static json::object limits_json(const Limits& limits) {
  json::object out;
  out["timeout_ms"] = limits.wall ? json::value(limits.wall->count()) : json::value(nullptr);
  out["memory_bytes"] = limits.memory_bytes;
  out["cpu_millis"] = limits.cpu_millis;
  out["cpu_shares"] = limits.cpu_shares ? json::value(*limits.cpu_shares) : json::value(nullptr);
  out["pids"] = limits.pids;
  out["files"] = limits.files;
  out["file_bytes"] = limits.file_bytes;
  out["tmp_bytes"] = limits.tmp_bytes;
  out["output_bytes"] = limits.output_bytes;
  return out;
}

static json::array mounts_json(const Policy& policy) {
  json::array out;
  for (const Mount& mount : policy.mounts)
    out.push_back(json::object{{"source", text_value(mount.source)},
                               {"target", text_value(mount.target)},
                               {"access", mount.access == Access::kReadWrite ? "rw" : "ro"},
                               {"kind", mount.is_directory ? "folder" : "file"}});
  return out;
}

static json::array links_json(const Policy& policy) {
  json::array out;
  for (const Link& link : policy.links)
    out.push_back(
        json::object{{"path", text_value(link.path)}, {"target", text_value(link.target)}});
  return out;
}

static json::array environment_json(const Policy& policy) {
  json::array out;
  for (const auto& [name, value] : policy.environment)
    out.push_back(
        json::object{{"name", text_value(name)}, {"sha256", sha256_hex(name + "=" + value)}});
  return out;
}

static json::array grants_json(const Policy& policy) {
  json::array out;
  for (const Grant& grant : policy.grants)
    out.push_back(
        json::object{{"grant", grant_name(grant.kind)}, {"reason", text_value(grant.reason)}});
  return out;
}

static json::array texts_json(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.push_back(json::value(text));
  return out;
}

static json::array secrets_json(const NetworkPolicy& network) {
  json::array out;
  for (const SecretSpec& secret : network.secrets)
    out.push_back(
        json::object{{"name", secret.name},
                     {"source", secret.source == SecretSource::kEnvironment ? "env" : "file"},
                     {"from", text_value(secret.from)},
                     {"hosts", texts_json(secret.hosts)},
                     {"body", secret.in_body},
                     {"url", secret.in_url}});
  return out;
}

static json::object network_json(const NetworkPolicy& network) {
  json::array forward, publish;
  for (uint16_t port : network.forward) forward.push_back(json::value(port));
  for (const PublishedPort& port : network.publish)
    publish.push_back(json::object{{"cell", port.cell_port}, {"host", port.host_port}});
  json::object reasons;
  for (const auto& [rule, reason] : network.rules.deny_reasons) reasons[rule] = text_value(reason);
  json::object out{{"allow", texts_json(network.rules.allow)},
                   {"deny", texts_json(network.rules.deny)},
                   {"requests", texts_json(network.rules.requests)},
                   {"deny_addresses", texts_json(network.rules.denied_addresses)},
                   {"secrets", secrets_json(network)},
                   {"forward", std::move(forward)},
                   {"publish", std::move(publish)},
                   {"upload_bytes", network.upload_bytes},
                   {"download_bytes", network.download_bytes},
                   {"connections", network.connections},
                   {"dns_types", texts_json(network.dns_types)}};
  // Policies that say nothing of it keep the digest that they have always had.
  if (!reasons.empty()) out["deny_reasons"] = std::move(reasons);
  if (network.details != NetworkDetails{}) out["details"] = network_details_json(network.details);
  return out;
}

static json::array patterns_json(const std::vector<FilePattern>& patterns) {
  json::array out;
  for (const FilePattern& pattern : patterns) {
    json::object one{{"path", text_value(pattern.text)},
                     {"literal", pattern.literal_head},
                     {"only_in_older_folder", pattern.only_in_older_folder}};
    if (pattern.by_last_folder) one["by_last_folder"] = true;
    if (pattern.covers == FilePattern::Covers::kItself) one["itself_only"] = true;
    if (pattern.covers == FilePattern::Covers::kNewFile) one["new_file_only"] = true;
    out.push_back(std::move(one));
  }
  return out;
}

static json::array path_list_json(const std::vector<std::string>& paths) {
  json::array out;
  for (const std::string& path : paths) out.push_back(text_value(path));
  return out;
}

// What is at which place follows from the rules and the host's links: kept, like a mount's source.
static json::object files_json(const FileRules& rules) {
  constexpr const char* kKinds[] = {"writable", "read-only", "shown", "hidden", "private"};
  json::array places;
  for (const FilePlace& place : rules.places)
    places.push_back(json::object{{"path", text_value(place.path)},
                                  {"as", kKinds[static_cast<size_t>(place.kind)]},
                                  {"kind", place.is_directory ? "folder" : "file"}});
  return {{"unlimited", rules.unlimited},
          {"deny_read", patterns_json(rules.deny_read)},
          {"allow_read", patterns_json(rules.allow_read)},
          {"allow_write", patterns_json(rules.allow_write)},
          {"deny_write", patterns_json(rules.deny_write)},
          {"private", path_list_json(rules.make_folders)},
          {"sockets", path_list_json(rules.sockets)},
          {"report", rules.report},
          {"places", std::move(places)}};
}

std::string to_canonical_json(const Policy& policy) {
  json::object out;
  out["tier"] = tier_name(policy.tier);
  out["limits"] = limits_json(policy.limits);
  json::array best_effort;
  for (const std::string& field : policy.best_effort) best_effort.push_back(json::value(field));
  out["best_effort"] = std::move(best_effort);
  out["mounts"] = mounts_json(policy);
  out["links"] = links_json(policy);
  out["workdir"] = text_value(policy.workdir);
  out["environment"] = environment_json(policy);
  out["network"] = network_json(policy.network);
  if (policy.file_rules.host_view || !policy.file_rules.deny_write.empty())
    out[policy.file_rules.host_view ? "host_view" : "names"] = files_json(policy.file_rules);
  out["grants"] = grants_json(policy);
  out["exec"] = policy.exec == Exec::kAllowed ? "allowed" : "program only";
  out["terminal"] = policy.terminal == Terminal::kNone ? "none" : "own";
  out["hostname"] = policy.hostname;
  return json::serialize(out);
}

std::string digest(const Policy& policy) { return sha256_hex(to_canonical_json(policy)); }

}  // namespace caisson
