#include "gateway/cell_ca.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "gateway/cell_ca_certificate.h"
#include "gateway/secret_examples.h"

namespace caisson {
namespace {

using examples::host;
using Protocols = CellCa::Protocols;

Certificate read_pem(const std::string& text) {
  std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
}

// A client that trusts one authority and asks for one name, as strictly as there is.
class Client {
 public:
  Client(const std::string& trusted_pem, const Host& host)
      : context_(SSL_CTX_new(TLS_client_method())) {
    Certificate authority = read_pem(trusted_pem);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authority.get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    X509_VERIFY_PARAM* checks = SSL_get0_param(ssl_.get());
    X509_VERIFY_PARAM_set_flags(checks, X509_V_FLAG_X509_STRICT);
    if (host.address)
      X509_VERIFY_PARAM_set1_ip_asc(checks, host.address->text().c_str());
    else
      X509_VERIFY_PARAM_set1_host(checks, host.name.c_str(), 0);
    SSL_set_connect_state(ssl_.get());
  }
  void offer(const std::string& protocols) {
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
  }
  // Over memory, flight by flight.
  bool shakes_hands_with(SSL* server) {
    BIO *ours = nullptr, *theirs = nullptr;
    BIO_new_bio_pair(&ours, 0, &theirs, 0);
    SSL_set_bio(ssl_.get(), ours, ours);
    SSL_set_bio(server, theirs, theirs);
    int client_done = 0, server_done = 0;
    for (int flight = 0; flight < 8 && (client_done != 1 || server_done != 1); ++flight) {
      client_done = SSL_do_handshake(ssl_.get());
      server_done = SSL_do_handshake(server);
    }
    return client_done == 1 && server_done == 1;
  }
  std::string protocol() const {
    const unsigned char* bytes = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &bytes, &size);
    return {reinterpret_cast<const char*>(bytes), size};
  }
  SSL* ssl() { return ssl_.get(); }

 private:
  SslContext context_;
  TlsConnection ssl_;
};

CellCa make_ca() { return std::move(CellCa::make()).value(); }

bool trusts(const std::string& pem, CellCa& ca, const Host& served, const Host& wanted) {
  TlsConnection server = std::move(ca.server(served)).value();
  return Client(pem, wanted).shakes_hands_with(server.get());
}

TEST(CellCa, ItsLeafIsTrustedForItsNameAndNoOther) {
  CellCa ca = make_ca();
  Host name = host("api.example.com");
  EXPECT_TRUE(trusts(ca.ca_pem(), ca, name, name));
  EXPECT_FALSE(trusts(ca.ca_pem(), ca, name, host("other.example.com")));
  EXPECT_FALSE(trusts(ca.ca_pem(), ca, name, host("example.com")));
  EXPECT_FALSE(trusts(ca.ca_pem(), ca, name, host("10.1.2.3")));
}

TEST(CellCa, AddressesHaveLeavesToo) {
  CellCa ca = make_ca();
  for (std::string_view text : {"10.1.2.3", "2001:db8::1"}) {
    EXPECT_TRUE(trusts(ca.ca_pem(), ca, host(text), host(text))) << text;
    EXPECT_FALSE(trusts(ca.ca_pem(), ca, host(text), host("10.1.2.4"))) << text;
  }
}

TEST(CellCa, NamesTooLongForASubjectWork) {
  CellCa ca = make_ca();
  std::string label(60, 'a');
  Host name = host(label + "." + label + ".example.com");
  EXPECT_TRUE(trusts(ca.ca_pem(), ca, name, name));
}

TEST(CellCa, TheCertificatesOfAnotherCellAreNotTrusted) {
  CellCa ours = make_ca(), others = make_ca();
  Host name = host("api.example.com");
  EXPECT_NE(ours.ca_pem(), others.ca_pem());
  EXPECT_FALSE(trusts(ours.ca_pem(), others, name, name));
}

TEST(CellCa, SpeaksHttp2OrHttp1AsTheClientOffers) {
  struct Case {
    std::string offered;
    Protocols ours;
    bool works;
    std::string chosen;
  };
  const std::string h1 = "\x08http/1.1", h2 = "\x02h2", odd = "\x03odd";
  for (const Case& each :
       {Case{h1 + h2, Protocols::kHttp2AndHttp1, true, "h2"},
        Case{h1, Protocols::kHttp2AndHttp1, true, "http/1.1"},
        Case{h2 + h1, Protocols::kHttp1, true, "http/1.1"},
        Case{"", Protocols::kHttp2AndHttp1, true, ""}, Case{h2, Protocols::kHttp1, false, ""},
        Case{odd, Protocols::kHttp2AndHttp1, false, ""}}) {
    CellCa ca = make_ca();
    Host name = host("api.example.com");
    TlsConnection server = std::move(ca.server(name, each.ours)).value();
    Client client(ca.ca_pem(), name);
    if (!each.offered.empty()) client.offer(each.offered);
    EXPECT_EQ(client.shakes_hands_with(server.get()), each.works) << each.offered;
    EXPECT_EQ(client.protocol(), each.chosen);
  }
}

TEST(CellCa, TheAuthorityIsShortLivedAndSignsLeavesOnly) {
  CellCa ca = make_ca();
  Certificate authority = read_pem(ca.ca_pem());
  ASSERT_TRUE(authority);
  EXPECT_EQ(X509_check_ca(authority.get()), 1);
  EXPECT_EQ(X509_get_pathlen(authority.get()), 0);
  EXPECT_EQ(X509_get_key_usage(authority.get()), uint32_t{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
  char name[64];
  X509_NAME_get_text_by_NID(X509_get_subject_name(authority.get()), NID_commonName, name,
                            sizeof name);
  EXPECT_STREQ(name, "caisson cell CA");

  time_t now = std::time(nullptr), hour = 3600, week = 7 * 24 * hour;
  time_t early = now - hour - 60, late = now - hour + 60;
  EXPECT_GT(X509_cmp_time(X509_get0_notBefore(authority.get()), &early), 0);
  EXPECT_LT(X509_cmp_time(X509_get0_notBefore(authority.get()), &late), 0);
  early = now + week - 60, late = now + week + 60;
  EXPECT_GT(X509_cmp_time(X509_get0_notAfter(authority.get()), &early), 0);
  EXPECT_LT(X509_cmp_time(X509_get0_notAfter(authority.get()), &late), 0);
}

TEST(CellCa, ALeafIsNoAuthorityAndNoKeyIsTold) {
  CellCa ca = make_ca();
  EXPECT_EQ(ca.ca_pem().find("PRIVATE"), std::string::npos);
  TlsConnection server = std::move(ca.server(host("api.example.com"))).value();
  X509* leaf = SSL_get_certificate(server.get());
  EXPECT_EQ(X509_check_ca(leaf), 0);
  EXPECT_EQ(X509_get_extended_key_usage(leaf), uint32_t{XKU_SSL_SERVER});
  EXPECT_EQ(X509_get_key_usage(leaf), uint32_t{KU_DIGITAL_SIGNATURE});
}

TEST(CellCa, SerialsDiffer) {
  CellCa ca = make_ca();
  TlsConnection a = std::move(ca.server(host("a.example.com"))).value();
  TlsConnection b = std::move(ca.server(host("b.example.com"))).value();
  const ASN1_INTEGER* one = X509_get0_serialNumber(SSL_get_certificate(a.get()));
  const ASN1_INTEGER* other = X509_get0_serialNumber(SSL_get_certificate(b.get()));
  EXPECT_NE(ASN1_INTEGER_cmp(one, other), 0);
  EXPECT_GE(ASN1_STRING_length(one), 15);
}

TEST(CellCa, LeavesAreKeptButNotWithoutBound) {
  CellCa ca = make_ca();
  auto leaf_of = [&ca](std::string_view name) {
    TlsConnection connection = std::move(ca.server(host(name))).value();
    X509* leaf = SSL_get_certificate(connection.get());
    X509_up_ref(leaf);
    return Certificate(leaf);
  };
  Certificate first = leaf_of("first.example.com");
  Certificate second = leaf_of("second.example.com");
  EXPECT_EQ(leaf_of("first.example.com").get(), first.get());
  for (size_t i = 0; i < CellCa::kMaxLeaves - 1; ++i)
    leaf_of("h" + std::to_string(i) + ".example.com");
  EXPECT_EQ(ca.leaves(), CellCa::kMaxLeaves);
  // The one that was asked for again stayed, the other was pushed out.
  EXPECT_EQ(leaf_of("first.example.com").get(), first.get());
  EXPECT_NE(leaf_of("second.example.com").get(), second.get());
  EXPECT_EQ(ca.leaves(), CellCa::kMaxLeaves);
}

TEST(CellCa, AConnectionOutlivesItsLeafsPlaceInTheTable) {
  CellCa ca = make_ca();
  Host name = host("first.example.com");
  TlsConnection server = std::move(ca.server(name)).value();
  for (size_t i = 0; i <= CellCa::kMaxLeaves; ++i)
    (void)ca.server(host("h" + std::to_string(i) + ".example.com"));
  EXPECT_TRUE(Client(ca.ca_pem(), name).shakes_hands_with(server.get()));
}

TEST(CellCa, OldProtocolsAndSessionTicketsAreOff) {
  CellCa ca = make_ca();
  Host name = host("api.example.com");
  TlsConnection server = std::move(ca.server(name)).value();
  Client old(ca.ca_pem(), name);
  SSL_set_min_proto_version(old.ssl(), TLS1_VERSION);
  SSL_set_max_proto_version(old.ssl(), TLS1_1_VERSION);
  EXPECT_FALSE(old.shakes_hands_with(server.get()));
  EXPECT_TRUE(SSL_get_options(server.get()) & SSL_OP_NO_TICKET);
  EXPECT_EQ(SSL_get_max_early_data(server.get()), 0u);
}

std::string pem_of(EVP_PKEY* key) {
  std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>> memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(size)};
}

TEST(CellCa, AuthorityOfSomebodysOwnSigns) {
  CellCa other = std::move(CellCa::make()).value();  // OpenSSL is started
  PrivateKey key(EVP_RSA_gen(2048));
  Certificate certificate = std::move(make_authority(key.get())).value();
  std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>> memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate.get());
  char* text = nullptr;
  long size = BIO_get_mem_data(memory.get(), &text);
  std::string pem(text, static_cast<size_t>(size));

  Result<CellCa> ca = CellCa::from_pem(pem, pem_of(key.get()));
  ASSERT_TRUE(ca.ok()) << ca.error().what;
  EXPECT_EQ(ca->ca_pem(), pem);
  TlsConnection server = std::move(ca->server(host("a.test"))).value();
  EXPECT_TRUE(Client(pem, host("a.test")).shakes_hands_with(server.get()));

  PrivateKey stranger(EVP_RSA_gen(2048));
  EXPECT_FALSE(CellCa::from_pem(pem, pem_of(stranger.get())).ok());
  EXPECT_FALSE(CellCa::from_pem("nonsense", pem_of(key.get())).ok());
  EXPECT_FALSE(CellCa::from_pem(pem, "nonsense").ok());
  Issuer issuer{certificate.get(), key.get()};
  Certificate leaf = std::move(make_leaf_certificate(host("a.test"), key.get(), issuer)).value();
  memory.reset(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), leaf.get());
  size = BIO_get_mem_data(memory.get(), &text);
  EXPECT_FALSE(CellCa::from_pem({text, static_cast<size_t>(size)}, pem_of(key.get())).ok());
}

}  // namespace
}  // namespace caisson
