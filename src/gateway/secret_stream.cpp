#include "gateway/secret_stream.h"

#include <openssl/crypto.h>

#include <utility>

namespace caisson {

PatternStream::PatternStream(PatternStream&& other) noexcept
    : patterns_(other.patterns_),
      held_(std::exchange(other.held_, {})),
      stopped_(std::exchange(other.stopped_, true)) {}

// What is held may be the beginning of a value that a server echoed.
PatternStream::~PatternStream() { OPENSSL_cleanse(held_.data(), held_.size()); }

}  // namespace caisson
