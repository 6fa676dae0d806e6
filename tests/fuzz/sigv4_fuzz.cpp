// SigV4: whatever a cell writes into its header and its target, a signature that was computed is
// found again, and by no other key.
#include <cstdint>

#include "gateway/sigv4.h"
#include "require.h"

namespace caisson {
namespace {

void check_headers(const SigV4& said) {
  REQUIRE(said.algorithm == kSigV4 || said.algorithm == kSigV4a);
  REQUIRE(!said.access_key_id.empty() && !said.signature.empty() && said.date.size() == 8);
  REQUIRE(!said.signed_headers.empty() && said.signed_headers.size() <= 128);
  for (const std::string& name : said.signed_headers)
    for (char c : name) REQUIRE(c < 'A' || c > 'Z');
}

void check_signature(SigV4 said, std::string_view target, std::string_view value) {
  SignedRequest request{"PUT",
                        std::string(target),
                        {{"Host", "a.test"}, {"X-Amz-Date", std::string(value)}},
                        std::string(kUnsignedPayload),
                        std::string(value)};
  said.algorithm = kSigV4;
  for (auto path : {SigV4Style::Path::kEncodedAgain, SigV4Style::Path::kOnce}) {
    said.signature = sigv4_signature(request, said, {path}, "the key of this cell");
    REQUIRE(said.signature.size() == 64);
    REQUIRE(sigv4_style_of(request, said, "the key of this cell"));
    REQUIRE(!sigv4_style_of(request, said, "the key of another"));
  }
  // What is signed anew is read as what it was.
  Result<std::optional<SigV4>> again =
      parse_sigv4(sigv4_authorization(said, said.access_key_id, said.signature));
  if (said.region.empty()) return;
  REQUIRE(again.ok() && *again && (*again)->signature == said.signature);
  REQUIRE((*again)->signed_headers == said.signed_headers);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  size_t line = std::min(text.find('\n'), text.size());
  std::string_view target = text.substr(std::min(line + 1, text.size()));
  Result<std::optional<SigV4>> said = parse_sigv4(text.substr(0, line));
  if (!said.ok()) {
    fuzz::require_good(said.error());
  } else if (*said) {
    check_headers(**said);
    check_signature(**said, target, text.substr(0, line));
  }
  return 0;
}
