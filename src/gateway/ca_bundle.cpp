#include "gateway/ca_bundle.h"

namespace caisson {

namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

// The next whole block, taken off the front of `text`; empty when there is none left.
std::string_view take_block(std::string_view& text) {
  while (true) {
    size_t begin = text.find(kBegin);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    size_t end = text.find(kEnd);
    if (end == std::string_view::npos) return {};
    // One that was never ended doesn't take in what stands behind it, a key perhaps.
    size_t next = text.find("-----BEGIN", kBegin.size());
    std::string_view block = text.substr(0, end + kEnd.size());
    text.remove_prefix(next < end ? next : block.size());
    if (next > end) return block;
  }
}

}  // namespace

std::string compose_ca_bundle(std::string_view host_bundle, std::string_view cell_ca_pem) {
  std::string bundle;
  bundle.reserve(host_bundle.size() + cell_ca_pem.size() + 1);
  for (std::string_view text : {host_bundle, cell_ca_pem})
    for (std::string_view block; !(block = take_block(text)).empty();)
      bundle.append(block).push_back('\n');
  return bundle;
}

}  // namespace caisson
