// OpenSSL's low-level calls on purpose: the EVP interface of OpenSSL 3 loads its provider machinery
// on first use, which costs more than all the hashing of one execution (docs/decisions).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/sha.h>

#include <new>

#include "base/late_data.h"
#include "base/text.h"

namespace caisson {

namespace {

static_assert(sizeof(SHA256_CTX) <= 128 && alignof(SHA256_CTX) <= 8);

SHA256_CTX* as_context(unsigned char* bytes) { return reinterpret_cast<SHA256_CTX*>(bytes); }

}  // namespace

Sha256::Sha256() { SHA256_Init(new (context_) SHA256_CTX); }

void Sha256::add(std::string_view bytes) {
  ready_for_hash_of(bytes.size());
  SHA256_Update(as_context(context_), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, as_context(context_));
  return caisson::hex(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace caisson
