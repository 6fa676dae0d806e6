// The ClientHello: however its bytes arrive and however they are cut into records, the answer is
// the same, and an answer that was given stays.
#include <algorithm>
#include <cstdint>

#include "require.h"
#include "wire/byte_reader.h"
#include "wire/client_hello.h"

namespace caisson {
namespace {

using Bytes = std::span<const uint8_t>;

struct Parsed {
  HelloState state = HelloState::kNeedMore;
  ClientHello hello;
};

Parsed parse(Bytes bytes) {
  Parsed parsed;
  std::string why;
  parsed.state = parse_client_hello(bytes, parsed.hello, why);
  REQUIRE(why.empty() == (parsed.state != HelloState::kBad));
  REQUIRE(fuzz::is_one_printable_line(why));
  REQUIRE(parsed.state != HelloState::kNeedMore || bytes.size() < kMaxClientHello);
  return parsed;
}

bool same(const Parsed& a, const Parsed& b) {
  if (a.state != b.state) return false;
  return a.state != HelloState::kDone ||
         (a.hello.server_name == b.hello.server_name && a.hello.alpn == b.hello.alpn &&
          a.hello.has_ech == b.hello.has_ech && a.hello.has_early_data == b.hello.has_early_data);
}

std::vector<uint8_t> in_records(Bytes message, size_t record) {
  std::vector<uint8_t> out;
  while (!message.empty()) {
    size_t size = std::min(record, message.size());
    out.insert(out.end(), {22, 3, 1});
    append_u16(out, static_cast<uint16_t>(size));
    out.insert(out.end(), message.begin(), message.begin() + static_cast<ptrdiff_t>(size));
    message = message.subspan(size);
  }
  return out;
}

void check_arrival(Bytes bytes) {
  Parsed whole = parse(bytes);
  size_t step = bytes.size() / 64 + 1;
  for (size_t size = 0; size < bytes.size(); size += step) {
    Parsed part = parse(bytes.first(size));
    REQUIRE(part.state == HelloState::kNeedMore || same(part, whole));
  }
}

void check_cuts(Bytes message, size_t record) {
  std::vector<uint8_t> one = in_records(message, 16384), many = in_records(message, record);
  check_arrival(one);
  if (many.size() < kMaxClientHello) REQUIRE(same(parse(one), parse(many)));
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::span<const uint8_t> bytes(data, size);
  check_arrival(bytes);
  // Once more without the first record's header, in records of our own.
  if (size > 5 && size < 16384) check_cuts(bytes.subspan(5), 1 + bytes[4] % 100);
  return 0;
}
