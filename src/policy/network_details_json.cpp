#include "policy/network_details_json.h"

#include <boost/json/array.hpp>

#include "base/sha256.h"
#include "base/text.h"

namespace caisson {

namespace json = boost::json;

namespace {

// JSON is UTF-8 and paths need not be.
json::value text_json(const std::string& text) {
  return json::value(is_valid_utf8(text) ? text : "sha256:" + sha256_hex(text));
}

json::array list_json(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.push_back(text_json(text));
  return out;
}

json::object mask_json(const MaskSpec& mask) {
  return {{"source", mask.source == SecretSource::kFile ? "file" : "env"},
          {"from", text_json(mask.from)},
          {"extract", text_json(mask.extract)},
          {"no_match", static_cast<int>(mask.no_match)},
          {"jwt", mask.jwt},
          {"claims", list_json(mask.claims)},
          {"duplicates", mask.duplicates},
          {"hosts", list_json(mask.hosts)}};
}

json::object tls_json(const TlsEnding& ending) {
  return {{"certificate", text_json(ending.certificate_path)},
          {"key", text_json(ending.key_path)},
          {"exclude", list_json(ending.exclude)},
          {"extra_authorities", list_json(ending.extra_ca_paths)},
          {"max_tunnels", ending.max_tunnels},
          {"handshake_ms", ending.handshake_ms}};
}

json::object aws_json(const NetworkDetails& details) {
  json::array pairs;
  for (const AwsPair& pair : details.aws_pairs)
    pairs.push_back(json::array{text_json(pair.access_key_id), text_json(pair.secret_access_key),
                                text_json(pair.session_token)});
  auto passes = [](Unsignable way) { return way == Unsignable::kPassOn; };
  return {{"pairs", std::move(pairs)},
          {"pass_streaming", passes(details.aws_signing.streaming)},
          {"pass_presigned", passes(details.aws_signing.presigned)},
          {"pass_sigv4a", passes(details.aws_signing.sigv4a)}};
}

}  // namespace

json::object network_details_json(const NetworkDetails& details) {
  json::object out{{"always", details.always},
                   {"http_proxy_port", details.http_proxy_port},
                   {"socks_proxy_port", details.socks_proxy_port},
                   {"strip_response_headers", list_json(details.strip_response_headers)},
                   {"refuse_opaque_tunnels", details.refuse_opaque_tunnels},
                   {"require_host_match", details.require_host_match},
                   {"secrets_in_clear", details.secrets_in_clear},
                   {"aws", aws_json(details)}};
  if (const auto& parent = details.parent_proxy)
    out["parent_proxy"] = sha256_hex(parent->http + "\n" + parent->https + "\n" + parent->no_proxy);
  if (const auto& mitm = details.mitm)
    out["mitm"] = json::object{{"socket", text_json(mitm->socket_path)},
                               {"domains", list_json(mitm->domains)}};
  if (details.end_tls) out["end_tls"] = tls_json(*details.end_tls);
  json::array masks;
  for (const MaskSpec& mask : details.masks) masks.push_back(mask_json(mask));
  out["masks"] = std::move(masks);
  return out;
}

}  // namespace caisson
