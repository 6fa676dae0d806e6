#include "gateway/kept_certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <optional>

namespace caisson {
namespace {

using Bio = std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>>;

CellCa make_kept_ca() {
  Result<CellCa> ca = CellCa::make();
  EXPECT_TRUE(ca.ok());
  return std::move(*ca);
}

SslContext trusting(const CellCa& ca) {
  SslContext context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  Bio pem(BIO_new_mem_buf(ca.ca_pem().data(), static_cast<int>(ca.ca_pem().size())));
  Certificate certificate(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate.get());
  return context;
}

// A client that has shaken hands with a server, or couldn't.
struct Shaken {
  TlsConnection client, server;
  bool done = false;
};

Shaken shake(SSL_CTX* context, CellCa& ca, const std::string& served, const char* expected) {
  Shaken both;
  Result<TlsConnection> server = ca.server(Host{served, std::nullopt}, CellCa::Protocols::kHttp1);
  EXPECT_TRUE(server.ok());
  both.server = std::move(*server);
  both.client.reset(SSL_new(context));
  SSL_set1_host(both.client.get(), expected);
  SSL_set_connect_state(both.client.get());
  BIO *near = nullptr, *far = nullptr;
  BIO_new_bio_pair(&near, 0, &far, 0);
  SSL_set_bio(both.client.get(), near, near);
  SSL_set_bio(both.server.get(), far, far);
  for (int turn = 0; turn < 20 && !both.done; ++turn) {
    int client = SSL_do_handshake(both.client.get()), server = SSL_do_handshake(both.server.get());
    both.done = client == 1 && server == 1;
  }
  return both;
}

class KeptCertificatesTest : public ::testing::Test {
 protected:
  KeptCertificatesTest() { kept_.use_in(context_.get()); }

  CellCa ca_ = make_kept_ca();
  KeptCertificates kept_;
  SslContext context_ = trusting(ca_);
};

TEST_F(KeptCertificatesTest, ConnectionsToOneHostHoldTheSameCertificate) {
  Shaken first = shake(context_.get(), ca_, "host.example", "host.example");
  Shaken second = shake(context_.get(), ca_, "host.example", "host.example");
  ASSERT_TRUE(first.done && second.done);
  X509* certificate = SSL_get0_peer_certificate(first.client.get());
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(SSL_get0_peer_certificate(second.client.get()), certificate);
  EXPECT_EQ(sk_X509_value(SSL_get_peer_cert_chain(second.client.get()), 0), certificate);
  EXPECT_EQ(sk_X509_value(SSL_get0_verified_chain(second.client.get()), 0), certificate);
  EXPECT_EQ(SSL_get_verify_result(second.client.get()), X509_V_OK);
  EXPECT_EQ(kept_.size(), 2u);  // and the authority's
}

TEST_F(KeptCertificatesTest, AnotherHostHasItsOwn) {
  Shaken first = shake(context_.get(), ca_, "host.example", "host.example");
  Shaken second = shake(context_.get(), ca_, "other.example", "other.example");
  ASSERT_TRUE(first.done && second.done);
  EXPECT_NE(SSL_get0_peer_certificate(first.client.get()),
            SSL_get0_peer_certificate(second.client.get()));
}

TEST_F(KeptCertificatesTest, AKeptOneIsNoProofForAnotherName) {
  ASSERT_TRUE(shake(context_.get(), ca_, "host.example", "host.example").done);
  Shaken wrong = shake(context_.get(), ca_, "host.example", "other.example");
  EXPECT_FALSE(wrong.done);
  EXPECT_EQ(SSL_get_verify_result(wrong.client.get()), X509_V_ERR_HOSTNAME_MISMATCH);
}

TEST_F(KeptCertificatesTest, WhatNoAuthorityVouchesForIsRefusedAndNotKept) {
  CellCa stranger = make_kept_ca();
  Shaken refused = shake(context_.get(), stranger, "host.example", "host.example");
  EXPECT_FALSE(refused.done);
  EXPECT_NE(SSL_get_verify_result(refused.client.get()), X509_V_OK);
  EXPECT_EQ(kept_.size(), 0u);
}

TEST_F(KeptCertificatesTest, NoMoreThanSoManyAreKeptAndTheOldestGoes) {
  Shaken first = shake(context_.get(), ca_, "host.example", "host.example");
  for (size_t i = 0; i < KeptCertificates::kMost; ++i) {
    std::string name = "host" + std::to_string(i) + ".example";
    ASSERT_TRUE(shake(context_.get(), ca_, name, name.c_str()).done);
  }
  EXPECT_EQ(kept_.size(), KeptCertificates::kMost);
  Shaken again = shake(context_.get(), ca_, "host.example", "host.example");
  EXPECT_TRUE(again.done);
  EXPECT_NE(SSL_get0_peer_certificate(first.client.get()),
            SSL_get0_peer_certificate(again.client.get()));
}

}  // namespace
}  // namespace caisson
