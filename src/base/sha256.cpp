// OpenSSL's low-level calls on purpose: the EVP interface of OpenSSL 3 loads its provider machinery
// on first use, which costs more than all the hashing of one execution (docs/decisions).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/sha.h>

#include "base/text.h"

namespace caisson {

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest, &context);
  return hex(digest);
}

}  // namespace caisson
