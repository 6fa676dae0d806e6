// Certificates of hosts, each held once however many connections it was shown on: OpenSSL keeps a
// host's whole chain, decoded, for as long as a connection lives.
#pragma once

#include <vector>

#include "gateway/cell_ca.h"

namespace caisson {

class KeptCertificates {
 public:
  static constexpr size_t kMost = 64;
  static constexpr int kLargest = 8 * 1024;  // bytes; a larger one stays its connection's own

  // Verifies as the context would without it, hence X509_verify_cert, and only afterwards puts the
  // kept certificates in the place of their equals. Must outlive the context and its connections'
  // handshakes.
  void use_in(SSL_CTX* context);
  size_t size() const { return recent_.size(); }

 private:
  static int verify(X509_STORE_CTX* checked, void* self);
  void share(STACK_OF(X509) * chain);
  X509* equal_of(X509* certificate);

  std::vector<Certificate> recent_;  // the latest used last
};

}  // namespace caisson
