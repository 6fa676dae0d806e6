#include "gateway/kept_certificates.h"

#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <algorithm>

namespace caisson {

void KeptCertificates::use_in(SSL_CTX* context) {
  SSL_CTX_set_cert_verify_callback(context, verify, this);
}

// The host's name is among what X509_verify_cert checks (expect_host). Nothing that was not found
// good here is ever kept, and a kept one is looked at by no later verification: those see what the
// host has sent them.
int KeptCertificates::verify(X509_STORE_CTX* checked, void* self) {
  if (X509_verify_cert(checked) != 1) return 0;  // an error of its own is a failure too
  auto& kept = *static_cast<KeptCertificates*>(self);
  // What the session remembers of the host, and what the connection remembers of the proof.
  kept.share(X509_STORE_CTX_get0_untrusted(checked));
  kept.share(X509_STORE_CTX_get0_chain(checked));
  return 1;
}

void KeptCertificates::share(STACK_OF(X509) * chain) {
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* shown = sk_X509_value(chain, i);
    X509* kept = equal_of(shown);
    if (!kept || kept == shown || X509_up_ref(kept) != 1) continue;
    sk_X509_set(chain, i, kept);
    X509_free(shown);
  }
}

// The kept one, which is this one when none was there; nullptr for one that isn't kept at all.
X509* KeptCertificates::equal_of(X509* certificate) {
  auto found = std::ranges::find_if(recent_, [&](const Certificate& one) {
    return one.get() == certificate || X509_cmp(one.get(), certificate) == 0;
  });
  if (found != recent_.end()) {
    std::rotate(found, found + 1, recent_.end());
    return recent_.back().get();
  }
  int size = i2d_X509(certificate, nullptr);
  if (size <= 0 || size > kLargest || X509_up_ref(certificate) != 1) return nullptr;
  if (recent_.size() == kMost) recent_.erase(recent_.begin());
  recent_.emplace_back(certificate);
  return certificate;
}

}  // namespace caisson
