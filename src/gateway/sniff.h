// What a client's first bytes are. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "wire/client_hello.h"

namespace caisson {

enum class FirstBytes {
  kNeedMore,
  kTls,     // `hello` is whole
  kHttp1,   // begins with a request line
  kHttp2,   // HTTP/2 with prior knowledge
  kOpaque,  // anything else
  kBad,     // TLS or HTTP that can't be judged; `why` is one line
};

struct Sniffed {
  FirstBytes kind = FirstBytes::kNeedMore;
  ClientHello hello;
  std::string why;
};

// Of everything received so far. A client that sends a byte a second is no other client: bytes that
// could still become a request line or a ClientHello are waited for.
Sniffed sniff(std::span<const uint8_t> so_far);

}  // namespace caisson
