#include "gateway/placeholder_substitution.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/control.h"
#include "base/text.h"
#include "gateway/placeholder.h"
#include "gateway/placeholder_places.h"
#include "gateway/secret_spellings.h"

namespace caisson {
namespace {

Verdict pass() { return {.allowed = true}; }

// "Basic" and the credentials behind it; RFC 9110 lets the scheme be in any case.
std::string_view basic_credentials(std::string_view value) {
  constexpr std::string_view kScheme = "basic";
  if (value.size() <= kScheme.size() || !same_header(value.substr(0, kScheme.size()), kScheme))
    return {};
  value.remove_prefix(kScheme.size());
  return value[0] == ' ' || value[0] == '\t' ? trim(value) : std::string_view{};
}

}  // namespace

Substitution::Substitution(const Secrets& secrets, Scheme scheme, const Host& host, uint16_t port)
    : secrets_(&secrets), scheme_(scheme), host_(host), port_(port), body_(secrets.placeholders()) {
  static_assert(Secrets::kMaxSecrets <= 64, "one bit each");
  for (size_t i = 0; i < secrets.all().size(); ++i)
    if (secrets.may_have(i, host, port) || !control_enabled("gateway-secret-hosts"))
      allowed_ |= uint64_t{1} << i;
}

Verdict Substitution::header(std::string_view name, std::string& value) {
  if (auto match = secrets_->placeholders().find(name))
    return decide(match->pattern, SecretPlace::kHeaderName);
  SecretPlace place =
      header_may_carry_secret(name) ? SecretPlace::kHeader : SecretPlace::kOtherHeader;
  if (secrets_->placeholders().find(value)) return rewrite(value, place);
  if (same_header(name, "authorization")) return rewrite_basic(value);
  return pass();
}

Verdict Substitution::target(std::string& path_and_query) {
  if (!secrets_->placeholders().find(path_and_query)) return pass();
  return rewrite(path_and_query, SecretPlace::kUrl);
}

BodyPlan Substitution::body_plan(std::optional<uint64_t> length) const {
  bool resizes = false;
  for (uint32_t i = 0; i < secrets_->all().size(); ++i) {
    const Secret& secret = secrets_->all()[i];
    if (secret.value.size() == secret.placeholder.size()) continue;
    resizes = resizes || decide(i, SecretPlace::kBody).allowed;
  }
  if (!resizes) return BodyPlan::kAsIs;
  return length && *length <= kMaxGathered ? BodyPlan::kGather : BodyPlan::kUnsized;
}

Verdict Substitution::body(std::string_view chunk, std::string& out) {
  bool goes_on = body_.feed(chunk, out, [this](uint32_t secret, std::string& to) {
    return put_in(secret, SecretPlace::kBody, to);
  });
  return goes_on ? pass() : refusal_;
}

Verdict Substitution::finish_body(std::string& out) {
  bool goes_on = body_.finish(out, [this](uint32_t secret, std::string& to) {
    return put_in(secret, SecretPlace::kBody, to);
  });
  return goes_on ? pass() : refusal_;
}

std::vector<std::string_view> Substitution::used() const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < secrets_->all().size(); ++i)
    if (used_ >> i & 1) names.push_back(secrets_->all()[i].name);
  return names;
}

Verdict Substitution::decide(uint32_t index, SecretPlace place) const {
  const Secret& secret = secrets_->all()[index];
  if (!(allowed_ >> index & 1)) return refuse_host(secret, host_, port_);
  if (scheme_ != Scheme::kHttps && !secrets_->may_go_in_clear())
    return refuse_plain(secret, host_, port_);
  bool fits = place == SecretPlace::kHeader || (place == SecretPlace::kUrl && secret.in_url) ||
              (place == SecretPlace::kBody && secret.in_body);
  return fits ? pass() : refuse_place(secret, host_, port_, place);
}

OnMatch Substitution::put_in(uint32_t index, SecretPlace place, std::string& out) {
  refusal_ = decide(index, place);
  if (!refusal_.allowed) return OnMatch::kStop;
  const std::string& value = secrets_->all()[index].value;
  out += place == SecretPlace::kUrl ? percent_encoded(value) : value;
  used_ |= uint64_t{1} << index;
  return OnMatch::kGoOn;
}

Verdict Substitution::rewrite(std::string& text, SecretPlace place) {
  std::string out;
  PatternStream stream(secrets_->placeholders());
  auto replace = [this, place](uint32_t secret, std::string& to) {
    return put_in(secret, place, to);
  };
  if (!stream.feed(text, out, replace) || !stream.finish(out, replace)) return refusal_;
  text = std::move(out);
  return pass();
}

Verdict Substitution::rewrite_basic(std::string& value) {
  std::optional<std::string> plain = decode_base64(basic_credentials(value));
  if (!plain || !secrets_->placeholders().find(*plain)) return pass();
  Verdict verdict = rewrite(*plain, SecretPlace::kHeader);
  if (verdict.allowed) value = "Basic " + base64(*plain);
  OPENSSL_cleanse(plain->data(), plain->size());
  return verdict;
}

}  // namespace caisson
