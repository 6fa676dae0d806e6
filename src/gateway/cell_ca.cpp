#include "gateway/cell_ca.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/late_data.h"
#include "gateway/cell_ca_certificate.h"

namespace caisson {
namespace {

// Without the host's openssl.cnf: it could load engines into the process that holds the secrets,
// and once confined the gateway can't read it. Without the tables of error texts, which cost time.
constexpr uint64_t kOpensslOptions = OPENSSL_INIT_NO_LOAD_CONFIG |
                                     OPENSSL_INIT_NO_LOAD_SSL_STRINGS |
                                     OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS;

constexpr unsigned char kBothProtocols[] = "\x02h2\x08http/1.1";
constexpr unsigned char kHttp1Protocol[] = "\x08http/1.1";

struct ProtocolList {
  const unsigned char* bytes;
  unsigned size;
};
constexpr ProtocolList kLists[] = {{kBothProtocols, sizeof kBothProtocols - 1},
                                   {kHttp1Protocol, sizeof kHttp1Protocol - 1}};

// RFC 7301: who offers protocols of which none fits is told so. What the cell then spoke would be
// read as HTTP anyway.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned offered_size, void* list) {
  const auto& ours = *static_cast<const ProtocolList*>(list);
  unsigned char* chosen = nullptr;
  int outcome =
      SSL_select_next_proto(&chosen, out_size, ours.bytes, ours.size, offered, offered_size);
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

using Bio = std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>>;

Bio memory_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<void> start_openssl() {
  ready_late_data();
  furnish_openssl();
  if (OPENSSL_init_ssl(kOpensslOptions, nullptr) != 1) return openssl_error("start OpenSSL");
  return {};
}

std::string pem_of(X509* certificate) {
  Bio memory(BIO_new(BIO_s_mem()));
  if (!memory || PEM_write_bio_X509(memory.get(), certificate) != 1) return {};
  char* text = nullptr;
  long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(size)};
}

// The shortest key first, as browsers have it: this connection leads from one process of the
// machine to another, and every byte that a cell reads is decrypted twice on the way.
constexpr char kSuites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

// Nothing is remembered between connections: tickets and session tables would be state that a cell
// can fill, and a handshake with P-256 is short.
SslContext server_context(CellCa::Protocols protocols) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_set_ciphersuites(context.get(), kSuites) != 1) return nullptr;
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  const ProtocolList& list = kLists[static_cast<int>(protocols)];
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, const_cast<ProtocolList*>(&list));
  return context;
}

}  // namespace

Result<CellCa> CellCa::make() {
  TRY(start_openssl());
  CellCa ca;
  ca.key_ = TRY(make_key());
  ca.certificate_ = TRY(make_authority(ca.key_.get()));
  TRY(ca.finish());
  return ca;
}

Result<CellCa> CellCa::from_pem(std::string_view certificate, std::string_view key) {
  TRY(start_openssl());
  CellCa ca;
  Bio certificate_text = memory_of(certificate), key_text = memory_of(key);
  ca.certificate_.reset(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  if (!ca.certificate_) return openssl_error("read the authority's certificate");
  // A key with a pass phrase: none is asked for, since nobody is there to answer.
  ca.key_.reset(PEM_read_bio_PrivateKey(
      key_text.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr));
  if (!ca.key_) return openssl_error("read the authority's key");
  if (X509_check_private_key(ca.certificate_.get(), ca.key_.get()) != 1)
    return openssl_error("the authority's key is not the one of its certificate");
  if (X509_check_ca(ca.certificate_.get()) != 1)
    return Error::plain("the authority's certificate may sign no others",
                        "one with CA:TRUE among its basic constraints");
  TRY(ca.finish());
  return ca;
}

Result<void> CellCa::finish() {
  leaf_key_ = TRY(make_key());
  pem_ = pem_of(certificate_.get());
  if (pem_.empty()) return openssl_error("write the cell's CA certificate");
  return {};
}

Result<TlsConnection> CellCa::server(const Host& host, Protocols protocols) {
  SSL_CTX* shared = TRY(context(protocols));
  X509* certificate = TRY(leaf(host));
  TlsConnection connection = new_tls_connection(shared);
  if (!connection || SSL_use_certificate(connection.get(), certificate) != 1 ||
      SSL_use_PrivateKey(connection.get(), leaf_key_.get()) != 1)
    return openssl_error("make a TLS connection for " + host.text());
  SSL_set_accept_state(connection.get());
  return connection;
}

Result<SSL_CTX*> CellCa::context(Protocols protocols) {
  SslContext& context = contexts_[static_cast<int>(protocols)];
  if (!context) context = server_context(protocols);
  if (!context) return openssl_error("make a TLS context");
  return context.get();
}

Result<X509*> CellCa::leaf(const Host& host) {
  std::string text = host.text();
  if (auto found = by_host_.find(text); found != by_host_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front().certificate.get();
  }
  Issuer issuer{certificate_.get(), key_.get()};
  recent_.push_front({text, TRY(make_leaf_certificate(host, leaf_key_.get(), issuer))});
  by_host_.emplace(std::move(text), recent_.begin());
  if (recent_.size() > kMaxLeaves) {
    by_host_.erase(recent_.back().host);
    recent_.pop_back();
  }
  return recent_.front().certificate.get();
}

}  // namespace caisson
