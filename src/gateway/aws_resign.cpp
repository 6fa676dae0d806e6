#include "gateway/aws_resign.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "base/sha256.h"
#include "base/text.h"
#include "gateway/placeholder_places.h"

namespace caisson {
namespace {

constexpr std::string_view kHashHeader = "X-Amz-Content-Sha256";

std::optional<size_t> secret_of(const Core& core, const AwsKeys& keys) {
  auto all = core.secrets->all();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].placeholder == keys.shown_key) return i;
  return std::nullopt;
}

Verdict refuse_resigning(std::string reason) {
  return {false, "AWS signatures", std::move(reason), ""};
}

// Of a query such as "X-Amz-Credential=ID%2F20261115%2F…": whether it names the id.
bool is_presigned_with(std::string_view target, std::string_view shown_id) {
  size_t mark = target.find('?');
  if (mark == target.npos) return false;
  for (std::string_view each : split(target.substr(mark + 1), '&')) {
    constexpr std::string_view kName = "x-amz-credential=";
    if (each.size() > kName.size() && same_text(each.substr(0, kName.size()), kName) &&
        each.substr(kName.size()).starts_with(shown_id))
      return true;
  }
  return false;
}

}  // namespace

bool signs_for(const Core& core, const Host& host, uint16_t port) {
  return std::ranges::any_of(core.config.aws_keys, [&](const AwsKeys& keys) {
    std::optional<size_t> key = secret_of(core, keys);
    return key && core.secrets->may_have(*key, host, port);
  });
}

bool AwsResign::find_keys(std::string_view shown_id) {
  for (const AwsKeys& keys : core_->config.aws_keys) {
    std::optional<size_t> key = secret_of(*core_, keys);
    if (!key || keys.shown_id != shown_id) continue;
    key_ = *key;
    id_ = keys.id;
    return true;
  }
  return false;
}

void AwsResign::settle(Unsignable way, std::string_view what) {
  passes_on_ = way == Unsignable::kPassOn;
  if (!passes_on_)
    refusal_ = refuse_resigning(fmt::format("{} made with a placeholder can't be made anew", what));
}

std::optional<AwsResign> AwsResign::look(const Core& core, const HttpRequest& request) {
  if (core.config.aws_keys.empty()) return std::nullopt;
  const AwsSigning& how = core.config.live.aws_signing;
  AwsResign made(core);
  made.where_ = request.where;
  for (const AwsKeys& keys : core.config.aws_keys)
    if (is_presigned_with(request.head.target, keys.shown_id)) {
      made.settle(how.presigned, "a signature in a URL,");
      return made;
    }
  const std::string* authorization = request.head.find("Authorization");
  if (!authorization) return std::nullopt;
  Result<std::optional<SigV4>> said = parse_sigv4(*authorization);
  if (!said.ok() || !*said) return std::nullopt;  // a placeholder in it is looked for as anywhere
  made.said_ = std::move(**said);
  if (!made.find_keys(made.said_.access_key_id)) return std::nullopt;
  if (!core.secrets->may_have(made.key_, request.where.host, request.where.port))
    made.refusal_ = refuse_host(made.key(), request.where.host, request.where.port);
  else if (request.scheme != Scheme::kHttps && !core.secrets->may_go_in_clear())
    made.refusal_ = refuse_plain(made.key(), request.where.host, request.where.port);
  if (made.refusal_ && control_enabled("gateway-aws-hosts")) return made;
  made.refusal_.reset();
  const std::string* hash = request.head.find(kHashHeader);
  if (made.said_.algorithm == kSigV4a)
    made.settle(how.sigv4a, "an asymmetric signature");
  else if (hash && hash->starts_with("STREAMING-") && *hash != kUnsignedTrailer)
    made.settle(how.streaming, "signatures of single chunks,");
  made.asked_ = {request.head.method, request.head.target, request.head.fields, "",
                 sigv4_time(request.head.fields)};
  made.tells_hash_ = hash != nullptr;
  made.hashes_body_ = !hash || (*hash != kUnsignedPayload && *hash != kUnsignedTrailer);
  if (!made.hashes_body_) made.asked_.payload = *hash;
  return made;
}

Verdict AwsResign::check(std::string_view body) {
  if (hashes_body_) asked_.payload = sha256_hex(body);
  std::optional<SigV4Style> style = sigv4_style_of(asked_, said_, key().placeholder);
  if (!style)
    return refuse_resigning(fmt::format("the signature of a request to {} is not the one of ${}",
                                        where_.text(), key().name));
  style_ = *style;
  return {.allowed = true};
}

void AwsResign::sign(HttpHead& head, const std::string& host, std::string_view body) const {
  SignedRequest request = asked_;
  request.target = head.target;
  if (hashes_body_) request.payload = sha256_hex(body);
  std::string authorization;
  for (HttpField& field : head.fields)
    if (tells_hash_ && same_text(field.name, kHashHeader)) field.value = request.payload;
  request.fields = head.fields;
  std::erase_if(request.fields, [](const HttpField& field) {
    return same_text(field.name, "Host") || same_text(field.name, "Content-Length");
  });
  request.fields.push_back({"Host", host});
  request.fields.push_back({"Content-Length", fmt::format("{}", body.size())});
  // Fields of one connection have been dropped, and can't be signed any more.
  SigV4 said = said_;
  std::erase_if(said.signed_headers, [&](const std::string& name) {
    return std::ranges::none_of(
        request.fields, [&](const HttpField& field) { return same_text(field.name, name); });
  });
  std::string signature = sigv4_signature(request, said, style_, key().value);
  for (HttpField& field : head.fields)
    if (same_text(field.name, "Authorization"))
      field.value = sigv4_authorization(said, id_, signature);
}

}  // namespace caisson
