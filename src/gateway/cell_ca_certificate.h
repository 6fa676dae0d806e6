// X.509 certificates as the cell's authority writes them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "base/result.h"
#include "gateway/cell_ca.h"
#include "rules/host.h"

namespace caisson {

struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

Result<PrivateKey> make_key();  // P-256

// Valid from an hour ago (clocks differ) for seven days (no cell lives longer).
Result<Certificate> make_authority(EVP_PKEY* key);
Result<Certificate> make_leaf_certificate(const Host& host, EVP_PKEY* key, const Issuer& issuer);

// What was being done, with OpenSSL's own words; empties its queue of errors.
Error openssl_error(std::string doing);

}  // namespace caisson
