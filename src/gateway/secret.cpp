#include "gateway/secret.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "gateway/placeholder.h"
#include "gateway/secret_spellings.h"
#include "rules/secret_spec.h"

namespace caisson {
namespace {

void wipe(std::vector<Secret>& secrets) {
  for (Secret& secret : secrets) OPENSSL_cleanse(secret.value.data(), secret.value.size());
}

Result<std::vector<HostPattern>> hosts_of(const Secret& secret) {
  std::vector<HostPattern> patterns;
  for (const std::string& text : secret.hosts) {
    HostPattern pattern = TRY(parse_host_pattern(text, PatternUse::kAllow));
    if (pattern.port == HostPattern::kAnyPort && !secret.any_port) pattern.port = kSecretPort;
    patterns.push_back(std::move(pattern));
  }
  if (patterns.empty())
    return Error::plain(fmt::format("secret {}: no host may have it", secret.name),
                        "say who may, as in NAME=env:VARIABLE@api.example.com");
  return patterns;
}

// The supervisor has checked the same; the values come through a pipe, and the mask and the tables
// rely on it.
Result<void> check(const Secret& secret) {
  size_t size = secret.value.size();
  if (size < kMinSecretValue || size > kMaxSecretValue ||
      secret.value.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
    return Error::plain(fmt::format("secret {}: its value can't be used", secret.name));
  if (!is_placeholder(secret.placeholder) && !is_token_placeholder(secret.placeholder))
    return Error::plain(fmt::format("secret {}: its placeholder can't be used", secret.name));
  return {};
}

Result<void> check_together(const std::vector<Secret>& secrets) {
  size_t bytes = 0;
  for (const Secret& secret : secrets) {
    bytes += secret.value.size();
    // With one inside another, what is replaced would depend on where a stream is cut.
    for (const Secret& other : secrets)
      if (&other != &secret && other.placeholder.find(secret.placeholder) != std::string::npos)
        return Error::plain(
            fmt::format("secrets {} and {} have placeholders alike", secret.name, other.name));
  }
  if (secrets.size() > Secrets::kMaxSecrets || bytes > Secrets::kMaxValueBytes)
    return Error::plain(fmt::format("{} secrets of {} bytes are too many", secrets.size(), bytes),
                        fmt::format("at most {} secrets, {} bytes together", Secrets::kMaxSecrets,
                                    Secrets::kMaxValueBytes));
  return {};
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == '_' || c == '.') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

Result<std::unique_ptr<Secrets>> Secrets::make(std::vector<Secret> secrets, InClear in_clear) {
  std::unique_ptr<Secrets> made(new Secrets);
  made->in_clear_ = in_clear;
  made->secrets_ = std::move(secrets);
  TRY(check_together(made->secrets_));
  std::vector<std::string> placeholders, values, folded;
  for (uint32_t i = 0; i < made->secrets_.size(); ++i) {
    const Secret& secret = made->secrets_[i];
    TRY(check(secret));
    made->hosts_.push_back(TRY(hosts_of(secret)));
    placeholders.push_back(secret.placeholder);
    for (std::string& text : spellings_of(secret.value)) {
      folded.push_back(folded_name(text));
      values.push_back(std::move(text));
      made->value_owners_.push_back(i);
    }
  }
  made->placeholders_ = PatternSet(std::move(placeholders));
  made->values_ = PatternSet(std::move(values));
  std::ranges::sort(folded);
  folded.erase(std::unique(folded.begin(), folded.end()), folded.end());
  made->folded_values_ = PatternSet(std::move(folded));
  return made;
}

Secrets::~Secrets() { wipe(secrets_); }

bool Secrets::may_have(size_t secret, const Host& host, uint16_t port) const {
  return std::ranges::any_of(hosts_[secret],
                             [&](const HostPattern& each) { return each.matches(host, port); });
}

bool Secrets::any_for(const Host& host, uint16_t port) const {
  for (size_t i = 0; i < secrets_.size(); ++i)
    if (may_have(i, host, port)) return true;
  return false;
}

bool Secrets::may_be_kept_by(const Host& host, uint16_t port) const {
  for (size_t i = 0; i < secrets_.size(); ++i)
    if ((secrets_[i].in_body || secrets_[i].in_url) && may_have(i, host, port)) return true;
  return false;
}

bool Secrets::must_read(const Host& host, uint16_t port) const {
  auto asks = [&](const HostPattern& each) {
    return each.matches(host, port) && (each.port == port || port == kSecretPort);
  };
  return std::ranges::any_of(hosts_, [&](const std::vector<HostPattern>& patterns) {
    return std::ranges::any_of(patterns, asks);
  });
}

}  // namespace caisson
