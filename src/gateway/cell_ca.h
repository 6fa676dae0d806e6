// The certificate authority of one cell: made in memory when its gateway starts, gone with it. Its
// certificate is trusted inside that cell and nowhere else; its key never leaves this process, so
// there is no file for a cell, or for another user of the host, to read.
#pragma once

#include <openssl/ssl.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "gateway/tls_rooms.h"
#include "rules/rules.h"

namespace caisson {

using SslContext = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX, SSL_CTX_free>>;
using Certificate = std::unique_ptr<X509, OpensslFree<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY, EVP_PKEY_free>>;  // wipes it

class CellCa {
 public:
  static constexpr size_t kMaxLeaves = 256;
  // What is offered to the cell by ALPN. A client that offers only others is turned away.
  enum class Protocols { kHttp2AndHttp1, kHttp1 };

  static Result<CellCa> make();
  // An authority that somebody has already, with its key. Refused: a key that isn't its own, a
  // certificate that signs no others.
  static Result<CellCa> from_pem(std::string_view certificate, std::string_view key);

  const std::string& ca_pem() const { return pem_; }
  // The server's side of one connection, ready for its BIOs and SSL_do_handshake, with a
  // certificate for that name or address. Leaf certificates are kept (the latest kMaxLeaves); a
  // context is shared by all, since making one takes longer than all the rest.
  Result<TlsConnection> server(const Host& host, Protocols protocols = Protocols::kHttp2AndHttp1);
  size_t leaves() const { return recent_.size(); }

 private:
  struct Leaf {
    std::string host;
    Certificate certificate;
  };

  CellCa() = default;
  Result<void> finish();  // with certificate_ and key_ set
  Result<X509*> leaf(const Host& host);
  Result<SSL_CTX*> context(Protocols protocols);

  PrivateKey key_;
  PrivateKey leaf_key_;  // one for all leaves: they are the same party
  Certificate certificate_;
  std::string pem_;
  SslContext contexts_[2];  // by Protocols, made when first needed
  std::list<Leaf> recent_;  // the latest used first
  std::unordered_map<std::string, std::list<Leaf>::iterator> by_host_;
};

}  // namespace caisson
