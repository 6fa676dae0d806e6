#include "gateway/sigv4.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <span>

#include "base/late_data.h"
#include "base/sha256.h"
#include "base/text.h"

namespace caisson {
namespace {

constexpr size_t kMaxSignedHeaders = 128;

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_unreserved_for_aws(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string encoded(std::string_view text, std::string_view kept = "") {
  std::string out;
  for (char c : text) {
    if (is_unreserved_for_aws(c) || kept.find(c) != kept.npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string decoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t high =
        i + 2 < text.size() && text[i] == '%' ? kDigits.find(lower(text[i + 1])) : kDigits.npos;
    size_t low = high != kDigits.npos ? kDigits.find(lower(text[i + 2])) : kDigits.npos;
    if (low == kDigits.npos) {
      out += text[i];
    } else {
      out += static_cast<char>(high << 4 | low);
      i += 2;
    }
  }
  return out;
}

std::string hmac(std::string_view key, std::string_view text) {
  ready_late_data();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<char*>(digest), size};
}

std::string canonical_aws_path(std::string_view target, SigV4Style::Path style) {
  std::string_view path = target.substr(0, target.find('?'));
  if (style == SigV4Style::Path::kOnce) return encoded(decoded(path), "/");
  return encoded(path, "/");
}

std::string canonical_query(std::string_view target, SigV4Style::Query style) {
  size_t mark = target.find('?');
  if (mark == target.npos || mark + 1 == target.size()) return "";
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::string_view each : split(target.substr(mark + 1), '&')) {
    if (each.empty()) continue;
    size_t equals = std::min(each.find('='), each.size());
    std::string name(each.substr(0, equals)), value(each.substr(std::min(equals + 1, each.size())));
    if (style == SigV4Style::Query::kEncodedAnew) {
      name = encoded(decoded(name));
      value = encoded(decoded(value));
    }
    pairs.emplace_back(std::move(name), std::move(value));
  }
  std::ranges::sort(pairs);
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (!out.empty()) out += '&';
    out += name + "=" + value;
  }
  return out;
}

// Trimmed, with one blank where several are; fields of one name joined in their order.
std::string canonical_value(const std::vector<HttpField>& fields, std::string_view name) {
  std::string out;
  bool first = true;
  for (const HttpField& field : fields) {
    if (!same_text(field.name, name)) continue;
    if (!std::exchange(first, false)) out += ',';
    for (char c : trim(field.value))
      if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

std::string scope_of(const SigV4& said) {
  return fmt::format("{}/{}/{}/aws4_request", said.date, said.region, said.service);
}

// "Credential=…", "SignedHeaders=…", "Signature=…", with commas between.
std::string_view part(std::string_view rest, std::string_view name) {
  for (std::string_view each : split(rest, ',')) {
    std::string_view text = trim(each);
    if (text.starts_with(name) && text.substr(name.size()).starts_with('='))
      return trim(text.substr(name.size() + 1));
  }
  return {};
}

Error broken() { return Error::plain("an AWS signature that can't be read"); }

}  // namespace

Result<std::optional<SigV4>> parse_sigv4(std::string_view authorization) {
  SigV4 said;
  for (std::string_view each : {kSigV4, kSigV4a})
    if (authorization.starts_with(each) && authorization.substr(each.size()).starts_with(' '))
      said.algorithm = each;
  if (said.algorithm.empty()) return std::optional<SigV4>();
  std::string_view rest = authorization.substr(said.algorithm.size());
  std::vector<std::string_view> scope = split(part(rest, "Credential"), '/');
  bool regional = said.algorithm == kSigV4;
  if (scope.size() != (regional ? 5u : 4u) || scope.back() != "aws4_request") return broken();
  said.access_key_id = scope[0];
  said.date = scope[1];
  if (regional) said.region = scope[2];
  said.service = scope[scope.size() - 2];
  std::vector<std::string_view> names = split(part(rest, "SignedHeaders"), ';');
  if (names.size() > kMaxSignedHeaders) return broken();
  for (std::string_view name : names) {
    if (name.empty()) return broken();
    said.signed_headers.push_back(lowered(name));
  }
  said.signature = part(rest, "Signature");
  if (said.access_key_id.empty() || said.signature.empty() || said.date.size() != 8)
    return broken();
  return std::optional(std::move(said));
}

std::string sigv4_time(const std::vector<HttpField>& fields) {
  for (const HttpField& field : fields)
    if (same_text(field.name, "X-Amz-Date")) return field.value;
  return "";
}

std::string sigv4_canonical(const SignedRequest& request, const SigV4& said, SigV4Style style) {
  std::vector<std::string> names = said.signed_headers;
  std::ranges::sort(names);
  std::string out =
      fmt::format("{}\n{}\n{}\n", request.method, canonical_aws_path(request.target, style.path),
                  canonical_query(request.target, style.query));
  for (const std::string& name : names)
    out += fmt::format("{}:{}\n", name, canonical_value(request.fields, name));
  return out + "\n" + join(names, ";") + "\n" + request.payload;
}

std::string sigv4_signature(const SignedRequest& request, const SigV4& said, SigV4Style style,
                            std::string_view key) {
  std::string text = fmt::format("{}\n{}\n{}\n{}", kSigV4, request.time, scope_of(said),
                                 sha256_hex(sigv4_canonical(request, said, style)));
  std::string start = fmt::format("AWS4{}", key);
  std::string derived = hmac(start, said.date);
  for (std::string_view next : {std::string_view(said.region), std::string_view(said.service),
                                std::string_view("aws4_request")})
    derived = hmac(derived, next);
  std::string digest = hmac(derived, text);
  OPENSSL_cleanse(start.data(), start.size());
  OPENSSL_cleanse(derived.data(), derived.size());
  return hex({reinterpret_cast<const unsigned char*>(digest.data()), digest.size()});
}

std::optional<SigV4Style> sigv4_style_of(const SignedRequest& request, const SigV4& said,
                                         std::string_view key) {
  using Path = SigV4Style::Path;
  using Query = SigV4Style::Query;
  for (Path path : {Path::kEncodedAgain, Path::kOnce})
    for (Query query : {Query::kAsSent, Query::kEncodedAnew}) {
      SigV4Style style{path, query};
      if (sigv4_signature(request, said, style, key) == said.signature) return style;
    }
  return std::nullopt;
}

std::string sigv4_authorization(const SigV4& said, std::string_view access_key_id,
                                std::string_view signature) {
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kSigV4, access_key_id,
                     scope_of(said), join(said.signed_headers, ";"), signature);
}

}  // namespace caisson
