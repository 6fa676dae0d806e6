// How the programs of a cell come to trust its certificate authority: a bundle in the usual places,
// and the variables by which those that look elsewhere are told. Pure: texts and tables.
#pragma once

#include <string>
#include <string_view>

namespace caisson {

// The host's authorities and the cell's own. Only CERTIFICATE blocks are taken over: comments make
// clients slow, and a key that someone left in the host's file has no business in a cell.
std::string compose_ca_bundle(std::string_view host_bundle, std::string_view cell_ca_pem);

// kBundle: the variable replaces the program's authorities. kCellCa: it adds to them, and reading
// all of the host's again at each start would only cost time.
enum class CaFile { kBundle, kCellCa };

struct CaVariable {
  std::string_view name;
  CaFile file;
};

inline constexpr CaVariable kCaVariables[] = {
    {"SSL_CERT_FILE", CaFile::kBundle},         // OpenSSL, Go, Rust's native-certs, Ruby, Perl
    {"CURL_CA_BUNDLE", CaFile::kBundle},        // curl, requests
    {"REQUESTS_CA_BUNDLE", CaFile::kBundle},    // Python requests (certifi otherwise)
    {"GIT_SSL_CAINFO", CaFile::kBundle},        // git
    {"PIP_CERT", CaFile::kBundle},              // pip
    {"BUNDLE_SSL_CA_CERT", CaFile::kBundle},    // Ruby's bundler
    {"COMPOSER_CAFILE", CaFile::kBundle},       // PHP's composer
    {"PERL_LWP_SSL_CA_FILE", CaFile::kBundle},  // Perl's LWP
    {"HEX_CACERTS_PATH", CaFile::kBundle},      // Elixir's hex
    {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", CaFile::kBundle},  // Google Cloud's command line
    {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", CaFile::kBundle},    // gRPC of C++, Python, Ruby, PHP
    {"AWS_CA_BUNDLE", CaFile::kBundle},                       // AWS command line and SDKs
    {"CARGO_HTTP_CAINFO", CaFile::kBundle},                   // cargo
    {"NIX_SSL_CERT_FILE", CaFile::kBundle},                   // nix
    {"NODE_EXTRA_CA_CERTS", CaFile::kCellCa},                 // Node, npm, bun
    {"DENO_CERT", CaFile::kCellCa},                           // Deno
};

// Where a system keeps its bundle: read from the first that there is on the host, and covered in
// the cell wherever there is one.
inline constexpr std::string_view kCaBundlePaths[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine, Arch, Gentoo
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine, OpenBSD-like layouts
};

}  // namespace caisson
