// Keys by OpenSSL's low-level calls on purpose: with a key of the EVP interface each certificate
// has OpenSSL look through all its encoders, which takes three times as long as everything else
// here.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "gateway/cell_ca_certificate.h"

#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace caisson {
namespace {

constexpr const char* kAuthorityName = "caisson cell CA";
constexpr long kBefore = -60 * 60;
constexpr long kAfter = 7 * 24 * 60 * 60;
constexpr size_t kMaxCommonName = 64;  // RFC 5280's upper bound

template <typename T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, OpensslFree<T, kFree>>;
using OctetString = Owned<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>;
using BitString = Owned<ASN1_BIT_STRING, ASN1_BIT_STRING_free>;
using BasicConstraints = Owned<BASIC_CONSTRAINTS, BASIC_CONSTRAINTS_free>;
using AuthorityKeyId = Owned<AUTHORITY_KEYID, AUTHORITY_KEYID_free>;
using ExtendedUse = Owned<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free>;
using Names = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using Number = Owned<BIGNUM, BN_free>;

enum class Critical { kNo, kYes };
enum class Kind { kAuthority, kLeaf };

bool add(X509* certificate, int nid, void* extension, Critical critical) {
  return extension && X509_add1_ext_i2d(certificate, nid, extension, critical == Critical::kYes,
                                        X509V3_ADD_APPEND) == 1;
}

// Random, positive and never zero: no two cells share one. A client that has kept an earlier cell's
// certificate would take a repeated serial for a forgery.
bool set_serial(X509* certificate) {
  Number number(BN_new());
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

bool set_name(X509_NAME* name, std::string_view text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

// All that is the same in both kinds.
Certificate start(EVP_PKEY* key, std::string_view common_name) {
  Certificate certificate(X509_new());
  X509* raw = certificate.get();
  bool done = raw && X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw) &&
              X509_gmtime_adj(X509_getm_notBefore(raw), kBefore) &&
              X509_gmtime_adj(X509_getm_notAfter(raw), kAfter) &&
              set_name(X509_get_subject_name(raw), common_name) && X509_set_pubkey(raw, key) == 1;
  return done ? std::move(certificate) : nullptr;
}

bool add_constraints(X509* certificate, Kind kind) {
  BasicConstraints constraints(BASIC_CONSTRAINTS_new());
  if (!constraints) return false;
  if (kind == Kind::kAuthority) {
    constraints->ca = 0xff;
    constraints->pathlen = ASN1_INTEGER_new();
    if (!constraints->pathlen || ASN1_INTEGER_set(constraints->pathlen, 0) != 1) return false;
  }
  return add(certificate, NID_basic_constraints, constraints.get(), Critical::kYes);
}

bool add_usage(X509* certificate, std::initializer_list<int> bits) {
  BitString usage(ASN1_BIT_STRING_new());
  if (!usage) return false;
  for (int bit : bits)
    if (ASN1_BIT_STRING_set_bit(usage.get(), bit, 1) != 1) return false;
  return add(certificate, NID_key_usage, usage.get(), Critical::kYes);
}

bool add_server_use(X509* certificate) {
  ExtendedUse use(EXTENDED_KEY_USAGE_new());
  return use && sk_ASN1_OBJECT_push(use.get(), OBJ_nid2obj(NID_server_auth)) > 0 &&
         add(certificate, NID_ext_key_usage, use.get(), Critical::kNo);
}

OctetString key_id(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_pubkey_digest(certificate, EVP_sha256(), digest, &size) != 1) return nullptr;
  OctetString id(ASN1_OCTET_STRING_new());
  // 160 bits of it, as RFC 7093 has it.
  if (!id || ASN1_OCTET_STRING_set(id.get(), digest, 20) != 1) return nullptr;
  return id;
}

// Strict verifiers (Python 3.13 is one) want a leaf to name its authority's key.
bool add_authority_id(X509* certificate, X509* authority) {
  AuthorityKeyId id(AUTHORITY_KEYID_new());
  if (!id) return false;
  // An authority of somebody's own has named its key by its own rule.
  const ASN1_OCTET_STRING* named = X509_get0_subject_key_id(authority);
  id->keyid = named ? ASN1_OCTET_STRING_dup(named) : key_id(authority).release();
  return id->keyid && add(certificate, NID_authority_key_identifier, id.get(), Critical::kNo);
}

bool add_host(X509* certificate, const Host& host) {
  Names names(GENERAL_NAMES_new());
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (!names || !name || sk_GENERAL_NAME_push(names.get(), name) <= 0) {
    GENERAL_NAME_free(name);
    return false;
  }
  const void* bytes = host.name.data();
  size_t size = host.name.size();
  if (host.address) {
    bytes = host.address->bytes.data();
    size = host.address->is_v6 ? 16 : 4;
  }
  ASN1_STRING* text = host.address ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
  if (!text) return false;
  GENERAL_NAME_set0_value(name, host.address ? GEN_IPADD : GEN_DNS, text);
  return ASN1_STRING_set(text, bytes, static_cast<int>(size)) == 1 &&
         add(certificate, NID_subject_alt_name, names.get(), Critical::kNo);
}

}  // namespace

Result<PrivateKey> make_key() {
  PrivateKey key(EVP_PKEY_new());
  Owned<EC_KEY, EC_KEY_free> made(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1));
  if (!key || !made || EC_KEY_generate_key(made.get()) != 1 ||
      EVP_PKEY_assign_EC_KEY(key.get(), made.get()) != 1)
    return openssl_error("make a P-256 key");
  made.release();
  return key;
}

Result<Certificate> make_authority(EVP_PKEY* key) {
  Certificate made = start(key, kAuthorityName);
  X509* raw = made.get();
  // Bits 5 and 6: keyCertSign and cRLSign.
  bool done = raw && X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
              add_constraints(raw, Kind::kAuthority) && add_usage(raw, {5, 6}) &&
              add(raw, NID_subject_key_identifier, key_id(raw).get(), Critical::kNo) &&
              X509_sign(raw, key, EVP_sha256()) > 0;
  if (!done) return openssl_error("make the cell's CA certificate");
  return made;
}

Result<Certificate> make_leaf_certificate(const Host& host, EVP_PKEY* key, const Issuer& issuer) {
  std::string text = host.text();
  // Who looks at the subject at all looks for something to show; the name that counts is the SAN.
  Certificate made = start(key, text.size() <= kMaxCommonName ? text : "caisson cell");
  X509* raw = made.get();
  // Bit 0: digitalSignature.
  bool done = raw && X509_set_issuer_name(raw, X509_get_subject_name(issuer.certificate)) == 1 &&
              add_constraints(raw, Kind::kLeaf) && add_usage(raw, {0}) && add_server_use(raw) &&
              add_host(raw, host) && add_authority_id(raw, issuer.certificate) &&
              X509_sign(raw, issuer.key, EVP_sha256()) > 0;
  if (!done) return openssl_error("make a certificate for " + text);
  return made;
}

Error openssl_error(std::string doing) {
  char text[256] = "no reason given";
  if (unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return Error::plain(fmt::format("{}: {}", doing, text));
}

}  // namespace caisson
