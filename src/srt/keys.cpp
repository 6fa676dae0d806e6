#include "srt/keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace caisson::srt {

namespace {

using S = Shape;
using W = Standing;

constexpr std::string_view kPort = "1-65535";

constexpr Key kKeys[] = {
    {"network", S::kObject, W::kWorks, "what may be reached", "test_required_sections", "", true},
    {"network.allowedDomains", S::kDomains, W::kWorks, "the hosts that may be reached; [] is none",
     "test_allowed_domains", "", true},
    {"network.deniedDomains", S::kDeniedDomains, W::kWorks,
     "wins over what is allowed; \"*\" is all", "test_denied_domains", "", true},
    {"network.deniedDomainReasons", S::kReasons, W::kWorks,
     "what is told to whoever meets the denial", "test_denied_domain_reasons"},
    {"network.strictAllowlist", S::kBool, W::kNoMeaning, "always so: nobody is asked",
     "test_keys_without_meaning"},
    {"network.deniedResolvedAddresses", S::kAddresses, W::kWorks,
     "addresses that an allowed name must not lead to", "test_denied_resolved_addresses"},
    {"network.allowUnixSockets", S::kStrings, W::kWorks,
     "sockets of the host that may be connected to, by path (srt: on macOS only)",
     "test_allow_unix_sockets"},
    {"network.allowAllUnixSockets", S::kBool, W::kWorks,
     "every socket of the host may be connected to", "test_allow_all_unix_sockets"},
    {"network.allowLocalBinding", S::kBool, W::kNoMeaning,
     "always allowed: the loopback is the program's own; network.publish opens a port to the host",
     "test_keys_without_meaning"},
    {"network.allowMachLookup", S::kStrings, W::kMac, "", "test_keys_without_meaning"},
    {"network.httpProxyPort", S::kCount, W::kWorks,
     "a proxy on the host's loopback that allowed requests go through", "test_http_proxy_port",
     kPort},
    {"network.socksProxyPort", S::kCount, W::kWorks,
     "a SOCKS proxy on the host's loopback that allowed connections go through",
     "test_socks_proxy_port", kPort},
    {"network.mitmProxy", S::kObject, W::kWorks,
     "a proxy behind a socket that reads what goes to its domains", "test_mitm_proxy"},
    {"network.mitmProxy.socketPath", S::kString, W::kWorks, "its socket", "test_mitm_proxy", "",
     true},
    {"network.mitmProxy.domains", S::kDomains, W::kWorks, "which hosts go through it",
     "test_mitm_proxy", "", true},
    {"network.filterRequest", S::kAnything, W::kLibrary, "a function of a JavaScript program",
     "test_keys_without_meaning"},
    {"network.allowPlaintextHeaderSet", S::kBool, W::kLibrary, "belongs to filterRequest",
     "test_keys_without_meaning"},
    {"network.ambiguousRequestTarget", S::kChoice, W::kLibrary, "belongs to filterRequest",
     "test_keys_without_meaning", "refuse|asSpelled|normalize"},
    {"network.stripResponseHeaders", S::kStrings, W::kWorks, "taken out of responses",
     "test_strip_response_headers"},
    {"network.refuseOpaqueTunnels", S::kBool, W::kWorks,
     "nothing passes that the gateway can't read", "test_refuse_opaque_tunnels"},
    {"network.requireHostMatch", S::kBool, W::kWorks,
     "421 for a request that names another host than its connection", "test_require_host_match"},
    {"network.tlsTerminate", S::kObject, W::kWorks, "the gateway reads TLS, by its own authority",
     "test_tls_terminate"},
    {"network.tlsTerminate.caCertPath", S::kString, W::kWorks, "an authority of one's own",
     "test_tls_authority"},
    {"network.tlsTerminate.caKeyPath", S::kString, W::kWorks, "its key", "test_tls_authority"},
    {"network.tlsTerminate.excludeDomains", S::kDomains, W::kWorks, "hosts whose TLS is left alone",
     "test_tls_exclude_domains"},
    {"network.tlsTerminate.extraCaCertPaths", S::kStrings, W::kWorks, "more authorities to believe",
     "test_tls_extra_authorities"},
    {"network.tlsTerminate.maxTunnels", S::kCount, W::kWorks, "at once", "test_tls_bounds",
     "1-65536"},
    {"network.tlsTerminate.handshakeTimeoutMs", S::kCount, W::kWorks, "for the program's side",
     "test_tls_bounds", "100-600000"},
    {"network.parentProxy", S::kObject, W::kWorks,
     "the proxy that this host has to go through, instead of HTTP_PROXY and the like",
     "test_parent_proxy"},
    {"network.parentProxy.http", S::kString, W::kWorks, "for http", "test_parent_proxy"},
    {"network.parentProxy.https", S::kString, W::kWorks, "for https", "test_parent_proxy"},
    {"network.parentProxy.noProxy", S::kString, W::kWorks, "reached without it",
     "test_parent_proxy"},
    {"network.publish", S::kPorts, W::kOwn,
     "ports of the program that the host finds on its own loopback", "test_publish"},
    {"network.disabled", S::kBool, W::kOwn,
     "no rules for the network: the host's own, for rules of files alone", "test_network_disabled"},

    {"filesystem", S::kObject, W::kWorks, "what may be read and written", "test_required_sections",
     "", true},
    {"filesystem.disabled", S::kBool, W::kWorks, "no rules for files, the fixed ones included",
     "test_filesystem_disabled"},
    {"filesystem.denyRead", S::kPaths, W::kWorks,
     "not to be read; wildcards cover what appears later too", "test_deny_read", "", true},
    {"filesystem.allowRead", S::kPaths, W::kWorks,
     "readable inside what denyRead covers; the most specific wins", "test_allow_read"},
    {"filesystem.allowWrite", S::kPaths, W::kWorks, "writable; everything else is not",
     "test_allow_write", "", true},
    {"filesystem.denyWrite", S::kPaths, W::kWorks, "wins over allowWrite", "test_deny_write", "",
     true},
    {"filesystem.allowGitConfig", S::kBool, W::kWorks,
     ".git/config may be written, and a .git be made in a folder that was there; hooks stay "
     "denied",
     "test_allow_git_config"},
    {"filesystem.readMode", S::kChoice, W::kOwn,
     "allowlist: nothing is seen but the system's programs, allowRead and allowWrite",
     "test_read_mode_allowlist", "denylist|allowlist"},

    {"credentials", S::kStrictObject, W::kWorks, "secrets that the program must not see",
     "test_credentials_are_strict"},
    {"credentials.files", S::kObjects, W::kWorks, "in files", "test_credential_files"},
    {"credentials.files[].path", S::kString, W::kWorks, "the file", "test_credential_files", "",
     true},
    {"credentials.files[].mode", S::kChoice, W::kWorks,
     "deny: not to be read; mask: a placeholder stands in it", "test_credential_files", "deny|mask",
     true},
    {"credentials.files[].extract", S::kString, W::kWorks, "a pattern; its group 1 is the secret",
     "test_credential_extract"},
    {"credentials.files[].onExtractNoMatch", S::kChoice, W::kWorks, "when nothing fits it",
     "test_credential_extract", "warn|deny|error"},
    {"credentials.files[].decode", S::kChoice, W::kWorks, "the secret is a JSON Web Token",
     "test_credential_jwt", "jwt"},
    {"credentials.files[].maskClaims", S::kStrings, W::kWorks, "of the token",
     "test_credential_jwt"},
    {"credentials.files[].maskDuplicates", S::kBool, W::kWorks,
     "the same text elsewhere in the file too", "test_credential_extract"},
    {"credentials.files[].injectHosts", S::kDomains, W::kWorks, "who may have the real value",
     "test_inject_hosts"},
    {"credentials.envVars", S::kObjects, W::kWorks, "in variables", "test_credential_variables"},
    {"credentials.envVars[].name", S::kString, W::kWorks, "the variable",
     "test_credential_variables", "", true},
    {"credentials.envVars[].mode", S::kChoice, W::kWorks,
     "deny: not set; mask: it holds a placeholder", "test_credential_variables", "deny|mask", true},
    {"credentials.envVars[].extract", S::kString, W::kWorks, "a pattern; its group 1 is the secret",
     "test_credential_extract"},
    {"credentials.envVars[].onExtractNoMatch", S::kChoice, W::kWorks, "when nothing fits it",
     "test_credential_extract", "warn|deny|error"},
    {"credentials.envVars[].decode", S::kChoice, W::kWorks, "the secret is a JSON Web Token",
     "test_credential_jwt", "jwt"},
    {"credentials.envVars[].maskClaims", S::kStrings, W::kWorks, "of the token",
     "test_credential_jwt"},
    {"credentials.envVars[].injectHosts", S::kDomains, W::kWorks, "who may have the real value",
     "test_inject_hosts"},
    {"credentials.allowPlaintextInject", S::kBool, W::kWorks, "without TLS too",
     "test_allow_plaintext_inject"},
    {"credentials.awsPairs", S::kStrictObjects, W::kWorks, "masked variables that sign together",
     "test_aws_pairs"},
    {"credentials.awsPairs[].accessKeyIdVar", S::kString, W::kWorks, "the key's name",
     "test_aws_pairs", "", true},
    {"credentials.awsPairs[].secretAccessKeyVar", S::kString, W::kWorks, "the key",
     "test_aws_pairs", "", true},
    {"credentials.awsPairs[].sessionTokenVar", S::kString, W::kWorks, "the session's",
     "test_aws_pairs"},
    {"credentials.sigv4", S::kStrictObject, W::kWorks, "signatures that can't be made anew",
     "test_sigv4"},
    {"credentials.sigv4.streaming", S::kChoice, W::kWorks, "", "test_sigv4", "deny|passthrough"},
    {"credentials.sigv4.presigned", S::kChoice, W::kWorks, "", "test_sigv4", "deny|passthrough"},
    {"credentials.sigv4.sigv4a", S::kChoice, W::kWorks, "", "test_sigv4", "deny|passthrough"},

    {"ignoreViolations", S::kIgnores, W::kWorks, "lines that are not reported",
     "test_ignore_violations"},
    {"allowNestedUserNamespaces", S::kBool, W::kWorks,
     "namespaces inside, for srt in srt and browsers; then denyWrite doesn't hold against malice",
     "test_allow_nested_user_namespaces"},
    {"git", S::kObject, W::kWorks, "", "test_git_safe_directories"},
    {"git.safeDirectories", S::kStrings, W::kWorks, "folders of others that git may work in",
     "test_git_safe_directories"},
    {"limits", S::kObject, W::kOwn, "of resources; srt has none, and without it there are none",
     "test_limits"},
    {"limits.timeout", S::kQuantity, W::kOwn, "as caisson exec --timeout", "test_limits"},
    {"limits.memory", S::kQuantity, W::kOwn, "as --memory", "test_limits"},
    {"limits.cpu", S::kQuantity, W::kOwn, "as --cpu", "test_limits"},
    {"limits.pids", S::kQuantity, W::kOwn, "as --pids", "test_limits"},
    {"limits.files", S::kQuantity, W::kOwn, "as --files", "test_limits"},
    {"limits.file_size", S::kQuantity, W::kOwn, "as --fsize", "test_limits"},
    {"limits.tmp_size", S::kQuantity, W::kOwn, "as --tmp-size", "test_limits"},
    {"limits.output", S::kQuantity, W::kOwn, "as --output-limit", "test_limits"},

    {"enableWeakerNestedSandbox", S::kBool, W::kNoMeaning, "containers need no weaker mode",
     "test_keys_without_meaning"},
    {"mandatoryDenySearchDepth", S::kCount, W::kNoMeaning,
     "the fixed denials hold at every depth, without a search", "test_keys_without_meaning",
     "1-10"},
    {"ripgrep", S::kObject, W::kNoMeaning, "nothing is searched for", "test_keys_without_meaning"},
    {"ripgrep.command", S::kString, W::kNoMeaning, "", "test_keys_without_meaning", "", true},
    {"ripgrep.args", S::kStrings, W::kNoMeaning, "", "test_keys_without_meaning"},
    {"ripgrep.argv0", S::kString, W::kNoMeaning, "", "test_keys_without_meaning"},
    {"seccomp", S::kObject, W::kNoMeaning, "the filters are built in", "test_keys_without_meaning"},
    {"seccomp.applyPath", S::kString, W::kNoMeaning, "", "test_keys_without_meaning"},
    {"seccomp.argv0", S::kString, W::kNoMeaning, "", "test_keys_without_meaning"},
    {"bwrapPath", S::kAbsolutePath, W::kNoMeaning, "bubblewrap is not used",
     "test_keys_without_meaning"},
    {"socatPath", S::kAbsolutePath, W::kNoMeaning, "socat is not used",
     "test_keys_without_meaning"},
    {"javaAgentJarPath", S::kAbsolutePath, W::kNoMeaning,
     "Java is led to the gateway without an agent", "test_keys_without_meaning"},
    {"enableWeakerNetworkIsolation", S::kBool, W::kMac, "", "test_keys_without_meaning"},
    {"allowAppleEvents", S::kBool, W::kMac, "", "test_keys_without_meaning"},
    {"allowPty", S::kBool, W::kMac, "a terminal always works", "test_keys_without_meaning"},
    {"windows", S::kObject, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.backend", S::kChoice, W::kWindows, "", "test_keys_without_meaning", "srt-win|mxc"},
    {"windows.sandboxUser", S::kString, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.sublayerGuid", S::kString, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.wfpSublayerGuid", S::kString, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.proxyPortRange", S::kPortRange, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.srtWin", S::kObject, W::kWindows, "", "test_keys_without_meaning"},
    {"windows.srtWin.path", S::kString, W::kWindows, "", "test_keys_without_meaning"},
};

}  // namespace

std::span<const Key> keys() { return kKeys; }

const Key* find_key(std::string_view path) {
  auto found = std::ranges::find(kKeys, path, &Key::path);
  return found == std::end(kKeys) ? nullptr : found;
}

std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) {
    std::string_view rest = key.path;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.substr(path.size(), 1) != ".") continue;
      rest.remove_prefix(path.size() + 1);
    }
    if (rest.find_first_of(".[") == std::string_view::npos) names.push_back(rest);
  }
  return names;
}

std::string shape_text(const Key& key) {
  switch (key.shape) {
    case Shape::kObject:
    case Shape::kStrictObject:
      return "an object";
    case Shape::kObjects:
    case Shape::kStrictObjects:
      return "an array of objects";
    case Shape::kBool:
      return "true or false";
    case Shape::kCount:
      return fmt::format("a whole number within {}", key.detail);
    case Shape::kString:
      return "a string";
    case Shape::kAbsolutePath:
      return "an absolute path";
    case Shape::kStrings:
      return "an array of strings";
    case Shape::kPaths:
      return "an array of paths";
    case Shape::kDomains:
    case Shape::kDeniedDomains:
      return "an array of hosts";
    case Shape::kAddresses:
      return "an array of addresses and ranges";
    case Shape::kChoice: {
      std::string text;
      for (char c : key.detail) text += c == '|' ? std::string("\", \"") : std::string(1, c);
      return fmt::format("{}\"{}\"", key.detail.find('|') == key.detail.npos ? "" : "one of ",
                         text);
    }
    case Shape::kPorts:
      return "an array of ports, such as \"3000\" or \"3000:8080\"";
    case Shape::kQuantity:
      return "a string or a number";
    case Shape::kReasons:
      return "an object of strings";
    case Shape::kIgnores:
      return "an object of arrays of strings";
    case Shape::kPortRange:
      return "two ports";
    case Shape::kAnything:
      return "anything";
  }
  return "";
}

std::string_view standing_text(Standing standing) {
  switch (standing) {
    case Standing::kWorks:
      return "works";
    case Standing::kNoMeaning:
      return "no meaning here";
    case Standing::kMac:
      return "macOS only";
    case Standing::kWindows:
      return "Windows only";
    case Standing::kLibrary:
      return "library only";
    case Standing::kOwn:
      return "caisson's own";
  }
  return "";
}

}  // namespace caisson::srt
