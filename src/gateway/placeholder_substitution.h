// Placeholders become values on the way to one host, or the request is refused.
//
// A value is put in only where all of this holds; any doubt is a refusal:
//   - the destination is one of that secret's hosts, over TLS (Scheme::kHttps);
//   - the place is a header that carries credentials (`Authorization: Basic` is looked into), or
//   the
//     body and the secret says `;body`, or the path or query and it says `;url` (percent-encoded).
// A header that servers repeat to others (Host, Origin, Referer, User-Agent, …) is no such place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/placeholder_places.h"
#include "gateway/secret.h"
#include "gateway/secret_stream.h"
#include "rules/rules.h"

namespace caisson {

// How a body must be framed when it may be rewritten.
enum class BodyPlan {
  kAsIs,     // its length stays: stream it, Content-Length holds
  kGather,   // kMaxGathered bytes at most: take all of it in, rewrite, say the new Content-Length
  kUnsized,  // stream it without a Content-Length: chunked, or HTTP/2 DATA
};
inline constexpr uint64_t kMaxGathered = 1024 * 1024;

// One request. Not to be used again after a verdict that refuses.
class Substitution {
 public:
  Substitution(const Secrets& secrets, Scheme scheme, const Host& host, uint16_t port);

  // Each rewrites in place, and answers whether the request may go on.
  Verdict header(std::string_view name, std::string& value);  // trailers too
  Verdict target(std::string& path_and_query);

  // What to do with the body; `length` is its Content-Length, if it has one.
  BodyPlan body_plan(std::optional<uint64_t> length) const;
  // Appends to `out` what may be sent on. When refused, nothing more may be sent.
  Verdict body(std::string_view chunk, std::string& out);
  Verdict finish_body(std::string& out);
  bool holds() const { return body_.holds(); }  // bytes that more could make a placeholder

  // The names of the secrets that were put in so far, for the record.
  std::vector<std::string_view> used() const;

 private:
  Verdict decide(uint32_t secret, SecretPlace place) const;
  Verdict rewrite(std::string& text, SecretPlace place);
  Verdict rewrite_basic(std::string& value);
  OnMatch put_in(uint32_t secret, SecretPlace place, std::string& out);

  const Secrets* secrets_;
  Scheme scheme_;
  Host host_;
  uint16_t port_;
  uint64_t allowed_ = 0;  // bit i: secret i may be had by this host
  uint64_t used_ = 0;
  Verdict refusal_;  // why the last rewrite stopped
  PatternStream body_;
};

}  // namespace caisson
