#include "gateway/ca_bundle.h"

#include <gtest/gtest.h>

#include <set>

namespace caisson {
namespace {

std::string block(std::string_view text) {
  return "-----BEGIN CERTIFICATE-----\n" + std::string(text) + "\n-----END CERTIFICATE-----\n";
}

TEST(CaBundle, HasTheHostsAuthoritiesAndTheCells) {
  EXPECT_EQ(compose_ca_bundle(block("A") + block("B"), block("C")),
            block("A") + block("B") + block("C"));
  EXPECT_EQ(compose_ca_bundle("", block("C")), block("C"));
}

TEST(CaBundle, BlocksAreKeptApartWhereTheHostsFileHasNoLastNewline) {
  std::string cut = block("A");
  cut.pop_back();
  EXPECT_EQ(compose_ca_bundle(cut, block("C")), block("A") + block("C"));
}

TEST(CaBundle, TakesOverNothingButCertificates) {
  std::string key = "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(compose_ca_bundle("# name\n" + key + block("A") + key + "junk", block("C")),
            block("A") + block("C"));
  // One that never ends doesn't take a key in with it.
  EXPECT_EQ(compose_ca_bundle("-----BEGIN CERTIFICATE-----\nX\n" + key + block("A"), block("C")),
            block("A") + block("C"));
  EXPECT_EQ(compose_ca_bundle(block("A") + "-----BEGIN CERTIFICATE-----\nX\n", block("C")),
            block("A") + block("C"));
}

TEST(CaBundle, EachVariableIsNamedOnce) {
  std::set<std::string_view> names;
  for (const CaVariable& each : kCaVariables) EXPECT_TRUE(names.insert(each.name).second);
  for (std::string_view name :
       {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace caisson
