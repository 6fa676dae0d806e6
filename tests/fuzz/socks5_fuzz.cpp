// SOCKS5: each message is done at its last byte, no sooner and no later.
#include <cstdint>

#include "require.h"
#include "wire/socks5.h"

namespace caisson {
namespace {

using Bytes = std::span<const uint8_t>;

// `parse` fills an Out from bytes.
template <typename Out, typename Parse>
Out check(Bytes bytes, Parse parse) {
  Out out, part;
  std::string why;
  SocksState state = parse(bytes, out, why);
  REQUIRE(why.empty() == (state != SocksState::kBad));
  REQUIRE(fuzz::is_one_printable_line(why));
  if (state != SocksState::kDone) {
    for (size_t size = 0; size < bytes.size() && size < 600; ++size) {
      SocksState sooner = parse(bytes.first(size), part, why);
      REQUIRE(sooner == SocksState::kNeedMore || sooner == state);
    }
    return out;
  }
  REQUIRE(out.size > 0 && out.size <= bytes.size());
  REQUIRE(parse(bytes.first(out.size), part, why) == SocksState::kDone && part.size == out.size);
  for (size_t size = 0; size < out.size; ++size)
    REQUIRE(parse(bytes.first(size), part, why) == SocksState::kNeedMore);
  return out;
}

void check_request(Bytes bytes) {
  SocksRequest request = check<SocksRequest>(bytes, parse_socks_request);
  if (request.size == 0) return;
  REQUIRE(bytes[1] == 1);  // CONNECT
  REQUIRE(request.address.has_value() == request.domain.empty());
  REQUIRE(request.domain.size() <= 255);
  REQUIRE(!request.address || canonical(*request.address) == *request.address);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::span<const uint8_t> bytes(data, size);
  SocksGreeting greeting = check<SocksGreeting>(bytes, parse_socks_greeting);
  REQUIRE(greeting.size <= 257);
  REQUIRE(greeting.choice() != SocksMethod::kPassword || greeting.offers_password);
  SocksLogin login = check<SocksLogin>(bytes, parse_socks_login);
  REQUIRE(login.size == 0 || login.size == 3 + login.user.size() + login.password.size());
  check_request(bytes);
  SocksRequest old = check<SocksRequest>(bytes, parse_socks4_request);
  REQUIRE(old.size == 0 || (old.size >= 9 && bytes[old.size - 1] == 0));
  return 0;
}
