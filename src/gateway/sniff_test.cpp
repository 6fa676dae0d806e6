#include "gateway/sniff.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

FirstBytes kind_of(std::string_view bytes) {
  return sniff({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).kind;
}

TEST(Sniff, KnowsRequestLines) {
  EXPECT_EQ(kind_of("GET / HTTP/1.1\r\n"), FirstBytes::kHttp1);
  EXPECT_EQ(kind_of("PATCH /x HTTP/1.0\r\nHost"), FirstBytes::kHttp1);
  EXPECT_EQ(kind_of("get / http/1.1\n"), FirstBytes::kHttp1);
}

TEST(Sniff, ABlankLineDoesNotHideARequest) {
  EXPECT_EQ(kind_of("\r\n\r\nGET / HTTP/1.1\r\n"), FirstBytes::kHttp1);
  EXPECT_EQ(kind_of("\n\nGET / HTTP/1.1\n"), FirstBytes::kHttp1);
}

TEST(Sniff, WaitsForWhatCouldBecomeOne) {
  for (std::string_view bytes :
       {"", "G", "GET", "GET ", "GET / HTTP/1.1", "\r\n", "\x16", "PRI * HT"})
    EXPECT_EQ(kind_of(bytes), FirstBytes::kNeedMore) << bytes;
}

TEST(Sniff, KnowsHttp2WithoutTls) {
  EXPECT_EQ(kind_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), FirstBytes::kHttp2);
}

TEST(Sniff, LeavesOtherProtocolsAlone) {
  for (std::string_view bytes :
       {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "*1\r\n$4\r\nPING\r\n", "EHLO me\r\n", "PING\r\n"})
    EXPECT_EQ(kind_of(bytes), FirstBytes::kOpaque) << bytes;
  EXPECT_EQ(kind_of(std::string_view("\0\0\0\x08\x04\xd2\x16\x2f", 8)), FirstBytes::kOpaque);
  EXPECT_EQ(kind_of(std::string_view("AMQP\0\0\x09\x01", 8)), FirstBytes::kOpaque);
}

TEST(Sniff, RefusesHellosThatNameNobody) {
  EXPECT_EQ(kind_of("\x80\x2e\x01\x03\x01"), FirstBytes::kBad);
}

TEST(Sniff, ARequestLineHasAnEnd) {
  EXPECT_EQ(kind_of("GET /" + std::string(20000, 'x')), FirstBytes::kBad);
}

}  // namespace
}  // namespace caisson
