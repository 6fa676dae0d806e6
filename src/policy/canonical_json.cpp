// The policy as one line of JSON with a fixed order: the same policy gives the same bytes.
//
// Left out: where a value came from (origins, notes), and the device and inode of a mount's source,
// which say when and on which disk the policy was resolved, not what it allows.
// The values of variables are there as SHA-256 over "NAME=VALUE" only: two policies that differ in
// a value differ in their digest, and no secret is printed or kept.
#include <boost/json/serialize.hpp>

#include "base/json_text.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/network_details_json.h"
#include "policy/resolve.h"

namespace caisson {

namespace {

// A name on Linux is bytes; JSON is UTF-8. What is not UTF-8 is written so that nothing is lost.
void put_text(JsonText& out, std::string_view text) {
  if (is_valid_utf8(text)) return out.value(text);
  out.begin_object();
  out.member("base64", base64(text));
  out.end_object();
}

void put_text(JsonText& out, std::string_view name, std::string_view text) {
  out.key(name);
  put_text(out, text);
}

// An array with an element for each of `all`, which `put` writes.
template <class All, class Put>
void put_all(JsonText& out, std::string_view name, const All& all, Put put) {
  out.key(name);
  out.begin_array();
  for (const auto& one : all) put(one);
  out.end_array();
}

// The same, of objects whose members `put` writes.
template <class All, class Put>
void put_objects(JsonText& out, std::string_view name, const All& all, Put put) {
  put_all(out, name, all, [&](const auto& one) {
    out.begin_object();
    put(one);
    out.end_object();
  });
}

void put_texts(JsonText& out, std::string_view name, const std::vector<std::string>& texts) {
  put_all(out, name, texts, [&](const std::string& text) { out.value(text); });
}

void put_paths(JsonText& out, std::string_view name, const std::vector<std::string>& paths) {
  put_all(out, name, paths, [&](const std::string& path) { put_text(out, path); });
}

void put_limits(JsonText& out, const Limits& limits) {
  out.key("limits");
  out.begin_object();
  out.key("timeout_ms");
  limits.wall ? out.value(int64_t{limits.wall->count()}) : out.null();
  out.member("memory_bytes", uint64_t{limits.memory_bytes});
  out.member("cpu_millis", uint64_t{limits.cpu_millis});
  out.key("cpu_shares");
  limits.cpu_shares ? out.value(uint64_t{*limits.cpu_shares}) : out.null();
  out.member("pids", uint64_t{limits.pids});
  out.member("files", uint64_t{limits.files});
  out.member("file_bytes", uint64_t{limits.file_bytes});
  out.member("tmp_bytes", uint64_t{limits.tmp_bytes});
  out.member("output_bytes", uint64_t{limits.output_bytes});
  out.end_object();
}

void put_mounts(JsonText& out, const Policy& policy) {
  put_objects(out, "mounts", policy.mounts, [&](const Mount& mount) {
    put_text(out, "source", mount.source);
    put_text(out, "target", mount.target);
    out.member("access", mount.access == Access::kReadWrite ? "rw" : "ro");
    out.member("kind", mount.is_directory ? "folder" : "file");
  });
  put_objects(out, "links", policy.links, [&](const Link& link) {
    put_text(out, "path", link.path);
    put_text(out, "target", link.target);
  });
  if (policy.covers.empty()) return;  // most digests are older than covers
  put_objects(out, "covers", policy.covers,
              [&](const Cover& cover) { put_text(out, "path", cover.path); });
}

void put_environment(JsonText& out, const Policy& policy) {
  put_objects(out, "environment", policy.environment, [&](const auto& variable) {
    put_text(out, "name", variable.first);
    Sha256 hash;
    hash.add(variable.first);
    hash.add("=");
    hash.add(variable.second);
    out.member("sha256", hash.hex());
  });
}

void put_secrets(JsonText& out, const NetworkPolicy& network) {
  put_objects(out, "secrets", network.secrets, [&](const SecretSpec& secret) {
    out.member("name", secret.name);
    out.member("source", secret.source == SecretSource::kEnvironment ? "env" : "file");
    put_text(out, "from", secret.from);
    put_texts(out, "hosts", secret.hosts);
    out.member("body", secret.in_body);
    out.member("url", secret.in_url);
  });
}

void put_network(JsonText& out, const NetworkPolicy& network) {
  out.key("network");
  out.begin_object();
  put_texts(out, "allow", network.rules.allow);
  put_texts(out, "deny", network.rules.deny);
  put_texts(out, "requests", network.rules.requests);
  put_texts(out, "deny_addresses", network.rules.denied_addresses);
  put_secrets(out, network);
  put_all(out, "forward", network.forward, [&](uint16_t port) { out.value(uint64_t{port}); });
  put_objects(out, "publish", network.publish, [&](const PublishedPort& port) {
    out.member("cell", uint64_t{port.cell_port});
    out.member("host", uint64_t{port.host_port});
  });
  out.member("upload_bytes", uint64_t{network.upload_bytes});
  out.member("download_bytes", uint64_t{network.download_bytes});
  out.member("connections", uint64_t{network.connections});
  put_texts(out, "dns_types", network.dns_types);
  // Policies that say nothing of it keep the digest that they have always had.
  if (!network.rules.deny_reasons.empty()) {
    out.key("deny_reasons");
    out.begin_object();
    for (const auto& [rule, reason] : network.rules.deny_reasons) put_text(out, rule, reason);
    out.end_object();
  }
  if (network.details != NetworkDetails{}) {
    out.key("details");
    out.raw(boost::json::serialize(network_details_json(network.details)));
  }
  out.end_object();
}

void put_patterns(JsonText& out, std::string_view name, const std::vector<FilePattern>& patterns) {
  put_objects(out, name, patterns, [&](const FilePattern& pattern) {
    put_text(out, "path", pattern.text);
    out.member("literal", uint64_t{pattern.literal_head});
    out.member("only_in_older_folder", pattern.only_in_older_folder);
    if (pattern.by_last_folder) out.member("by_last_folder", true);
    if (pattern.covers == FilePattern::Covers::kItself) out.member("itself_only", true);
    if (pattern.covers == FilePattern::Covers::kWay) out.member("way_only", true);
    if (pattern.covers == FilePattern::Covers::kNewFile) out.member("new_file_only", true);
  });
}

// What is at which place follows from the rules and the host's links: kept, like a mount's source.
void put_files(JsonText& out, const FileRules& rules) {
  constexpr const char* kKinds[] = {"writable", "read-only", "shown", "hidden", "private"};
  out.key(rules.host_view ? "host_view" : "names");
  out.begin_object();
  out.member("unlimited", rules.unlimited);
  put_patterns(out, "deny_read", rules.deny_read);
  put_patterns(out, "allow_read", rules.allow_read);
  put_patterns(out, "allow_write", rules.allow_write);
  put_patterns(out, "deny_write", rules.deny_write);
  put_paths(out, "private", rules.make_folders);
  put_paths(out, "sockets", rules.sockets);
  out.member("report", rules.report);
  put_objects(out, "places", rules.places, [&](const FilePlace& place) {
    put_text(out, "path", place.path);
    out.member("as", kKinds[static_cast<size_t>(place.kind)]);
    out.member("kind", place.is_directory ? "folder" : "file");
  });
  out.end_object();
}

}  // namespace

std::string to_canonical_json(const Policy& policy) {
  // About: a text that grows by doubling is copied, and touches three times its memory.
  constexpr size_t kRest = 4096, kPattern = 192;
  JsonText out(kRest + kPattern * policy.file_rules.deny_write.size());
  out.begin_object();
  out.member("tier", tier_name(policy.tier));
  put_limits(out, policy.limits);
  put_all(out, "best_effort", policy.best_effort, [&](const auto& field) { out.value(field); });
  put_mounts(out, policy);
  put_text(out, "workdir", policy.workdir);
  put_environment(out, policy);
  put_network(out, policy.network);
  if (policy.file_rules.host_view || !policy.file_rules.deny_write.empty())
    put_files(out, policy.file_rules);
  put_objects(out, "grants", policy.grants, [&](const Grant& grant) {
    out.member("grant", grant_name(grant.kind));
    put_text(out, "reason", grant.reason);
  });
  out.member("exec", policy.exec == Exec::kAllowed ? "allowed" : "program only");
  out.member("terminal", policy.terminal == Terminal::kNone ? "none" : "own");
  out.member("hostname", policy.hostname);
  out.end_object();
  return out.take();
}

std::string digest(const Policy& policy) { return sha256_hex(to_canonical_json(policy)); }

}  // namespace caisson
