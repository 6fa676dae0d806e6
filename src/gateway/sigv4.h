// AWS's Signature Version 4: requests that a cell signed with a placeholder are signed anew. Pure.
//
// Clients differ in how they write a path and a query for the signature. None of it has to be
// guessed: the key that the cell signed with is known, so the way in which its signature comes out
// right is the way it was written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/http_head.h"

namespace caisson {

inline constexpr std::string_view kSigV4 = "AWS4-HMAC-SHA256";
inline constexpr std::string_view kSigV4a = "AWS4-ECDSA-P256-SHA256";
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
// Chunks without signatures, and a checksum behind them: what S3's newer clients send over TLS.
inline constexpr std::string_view kUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

// What an Authorization header of SigV4 (or of SigV4a, which has no region) says.
struct SigV4 {
  std::string_view algorithm;       // one of the two
  std::string access_key_id, date;  // "20261115"
  std::string region, service;
  std::vector<std::string> signed_headers;  // lower case
  std::string signature;                    // hex
};
// nullopt: it is of another scheme. An error: it is of this one, and broken.
Result<std::optional<SigV4>> parse_sigv4(std::string_view authorization);

// How the parts of a request are written for the signature.
struct SigV4Style {
  enum class Path { kEncodedAgain, kOnce } path = Path::kEncodedAgain;  // kOnce: S3
  enum class Query { kAsSent, kEncodedAnew } query = Query::kAsSent;
};

// The fields of a request as they are sent, with Host among them.
struct SignedRequest {
  std::string method, target;
  std::vector<HttpField> fields;
  std::string payload;  // its hash in hex, or one of the two above
  std::string time;     // of X-Amz-Date, or of Date in that form
};
// Takes X-Amz-Date; empty when there is none.
std::string sigv4_time(const std::vector<HttpField>& fields);

std::string sigv4_canonical(const SignedRequest& request, const SigV4& said, SigV4Style style);
// Hex. `key` is the secret access key.
std::string sigv4_signature(const SignedRequest& request, const SigV4& said, SigV4Style style,
                            std::string_view key);
// The style in which the request has this very signature by that key; nullopt: in none.
std::optional<SigV4Style> sigv4_style_of(const SignedRequest& request, const SigV4& said,
                                         std::string_view key);

std::string sigv4_authorization(const SigV4& said, std::string_view access_key_id,
                                std::string_view signature);

}  // namespace caisson
