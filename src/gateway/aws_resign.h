// One request that a cell signed with the placeholder of an AWS key: checked, and signed anew with
// the key itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core.h"
#include "gateway/http_place.h"
#include "gateway/sigv4.h"

namespace caisson {

class AwsResign {
 public:
  static constexpr uint64_t kMaxBody = 64ull * 1024 * 1024;

  // nullopt: it isn't signed with a key that we know of. `request` is as the cell sent it.
  static std::optional<AwsResign> look(const Core& core, const HttpRequest& request);

  // It can't be signed anew; what then?
  const std::optional<Verdict>& refusal() const { return refusal_; }
  // As it is, with what the cell signed it with: the host will refuse it.
  bool passes_on() const { return passes_on_; }

  // Whether the cell signed this body; then sign() may be called.
  Verdict check(std::string_view body);
  // `head` is as it will be sent but for Host, which is `host`; `body` is what will be sent.
  void sign(HttpHead& head, const std::string& host, std::string_view body) const;

 private:
  explicit AwsResign(const Core& core) : core_(&core) {}
  bool find_keys(std::string_view shown_id);
  void settle(Unsignable way, std::string_view what);
  const Secret& key() const { return core_->secrets->all()[key_]; }

  const Core* core_;
  HostPort where_;
  SignedRequest asked_;
  SigV4 said_;
  SigV4Style style_;
  std::string id_;
  size_t key_ = 0;
  bool hashes_body_ = false;  // what is signed is the body's hash
  bool tells_hash_ = false;   // in X-Amz-Content-Sha256
  bool passes_on_ = false;
  std::optional<Verdict> refusal_;
};

// A pair of keys may be used for this host: what is sent there must be HTTP/1, whose requests are
// taken in whole.
bool signs_for(const Core& core, const Host& host, uint16_t port);

}  // namespace caisson
