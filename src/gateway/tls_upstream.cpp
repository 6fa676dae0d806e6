#include "gateway/tls_upstream.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/late_data.h"
#include "gateway/tls_stream.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kHandshakeTime{20};
constexpr int kMaxAuthorities = 2000;

using Bio = std::unique_ptr<BIO, OpensslFree<BIO, BIO_free_all>>;

void trust(SSL_CTX* context, const std::string& bundle) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  Bio pem(BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())));
  for (int i = 0; pem && i < kMaxAuthorities; ++i) {
    Certificate certificate(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    X509_STORE_add_cert(store, certificate.get());
  }
  ERR_clear_error();
}

SSL_CTX* context_of(Core& core) {
  if (core.upstream_tls) return core.upstream_tls.get();
  ready_late_data();
  // No file of the host's configuration: the gateway has none, and would do without in silence.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  SslContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);  // no session is ever taken up again
  core.kept_certificates.use_in(context.get());
  trust(context.get(), core.config.ca_bundle);
  std::string().swap(core.config.ca_bundle);  // a quarter of a megabyte that was read just now
  core.upstream_tls = std::move(context);
  return core.upstream_tls.get();
}

// Whom the certificate must be for.
bool expect_host(SSL* ssl, const Host& host) {
  if (host.is_address()) {
    const IpAddress& address = *host.address;
    return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), address.bytes.data(),
                                     address.is_v6 ? 16 : 4) == 1;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, host.name.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.name.c_str()) == 1;
}

bool offer(SSL* ssl, HttpVersion highest) {
  static constexpr unsigned char kBoth[] = "\x02h2\x08http/1.1";
  static constexpr unsigned char kHttp1[] = "\x08http/1.1";
  if (highest == HttpVersion::k2) return SSL_set_alpn_protos(ssl, kBoth, sizeof kBoth - 1) == 0;
  return SSL_set_alpn_protos(ssl, kHttp1, sizeof kHttp1 - 1) == 0;
}

}  // namespace

Task<UpstreamTls> start_upstream_tls(Core& core, std::unique_ptr<Stream>& stream,
                                     const HostPort& where, HttpVersion highest) {
  UpstreamTls result;
  result.why = "no memory for TLS";
  SSL_CTX* context = context_of(core);
  if (!context) co_return result;
  auto tls = std::make_unique<TlsStream>(std::move(stream), new_tls_connection(context),
                                         TlsStream::Role::kClient, &core.awake_tls);
  if (!tls->ssl() || !expect_host(tls->ssl(), where.host) || !offer(tls->ssl(), highest))
    co_return result;
  Deadline deadline(core.deadlines, &tls->socket());
  deadline.after(kHandshakeTime);
  result.why = co_await tls->handshake();
  if (!result.why.empty()) {
    result.why = fmt::format("TLS to {}: {}", where.text(), result.why);
    co_return result;
  }
  if (tls->alpn() == "h2") result.version = HttpVersion::k2;
  stream = std::move(tls);
  co_return result;
}

}  // namespace caisson
