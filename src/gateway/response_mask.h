// A secret that comes back is made its placeholder again: services echo requests, list tokens, and
// put credentials into error texts.
//
// The spellings that it knows are those of secret_spellings.h. It stops an echo, not a host that is
// set on telling the secret in another code.
//
// The mask can't see through compression. Decision: to a host that may have a secret the gateway
// sends `Accept-Encoding: identity`, and an answer that is encoded all the same is refused; undoing
// encodings would bring decompressors (and their bombs) into the process that holds the secrets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http_head.h"
#include "gateway/placeholder_substitution.h"
#include "gateway/secret.h"
#include "gateway/secret_stream.h"

namespace caisson {

// One response.
class ResponseMask {
 public:
  // kKept: a mask has the length of what it hides (the placeholder, cut or filled up with '*'), so
  // a Content-Length and a Content-Range hold. kFree: the placeholder itself, which can be sent
  // again.
  enum class Length { kKept, kFree };

  ResponseMask(const Secrets& secrets, Length length) : secrets_(&secrets), length_(length) {}

  static bool must_ask_identity(const Secrets& secrets, const Host& host, uint16_t port) {
    return secrets.any_for(host, port);
  }
  // Whether the mask can read a body whose Content-Encoding is this (several lines: joined by ',').
  static bool can_read(std::string_view content_encoding);
  // No Content-Length: kFree may be used. A short one: kFree and gather. Else kAsIs with kKept; so
  // also for a part (206), and for an answer without its body (HEAD, 304).
  static BodyPlan plan(std::optional<uint64_t> content_length);

  void header(std::string& text);  // a value, a reason phrase, a trailer: never of kept length
  // Of a head or its trailers: values are masked, and a field whose name tells a value is dropped,
  // for no placeholder can stand there (names are folded, and may be any).
  void fields(std::vector<HttpField>& fields);
  void body(std::string_view chunk, std::string& out);
  void finish_body(std::string& out);
  bool holds() const { return body_.holds(); }  // bytes that more could make a value
  bool masked() const { return masked_; }       // something was hidden, for the record

 private:
  bool tells_by_name(const HttpField& field) const;
  OnMatch hide(uint32_t pattern, Length length, std::string& out);

  const Secrets* secrets_;
  Length length_;
  bool masked_ = false;
  PatternStream body_{secrets_->values()};
};

}  // namespace caisson
