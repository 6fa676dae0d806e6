#include "gateway/http_head.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

std::string request(std::string_view headers) {
  return "GET /x HTTP/1.1\r\nHost: a.test\r\n" + std::string(headers) + "\r\n";
}

TEST(HttpHead, ReadsARequest) {
  auto head = parse_request_head(request("X-One:  two words \t\r\nEmpty:\r\n"));
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->target, "/x");
  EXPECT_EQ(*head->find("x-one"), "two words");
  EXPECT_EQ(*head->find("EMPTY"), "");
  EXPECT_TRUE(keeps_alive(*head));
}

TEST(HttpHead, RefusesWhatTwoParsersCouldReadDifferently) {
  for (std::string_view headers : {
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length: 3\r\nContent-Length: 3\r\n",
           "Content-Length: +3\r\n",
           "Content-Length: 3, 3\r\n",
           "Content-Length: 0x3\r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "X-Folded: a\r\n b\r\n",
           "X-Space : a\r\n",
           " X: a\r\n",
           "X: a\rb\r\n",
           "X: a\nY: b\r\n",
           "X\r\n",
           ": a\r\n",
           "Host: b.test\r\n",
       })
    EXPECT_FALSE(parse_request_head(request(headers)).ok()) << headers;
  EXPECT_FALSE(parse_request_head(request(std::string_view("X: a\0b\r\n", 8))).ok());
}

TEST(HttpHead, RefusesRequestLinesThatAreNone) {
  for (std::string_view line : {"GET /x", "GET  HTTP/1.1", "GET /x HTTP/2.0", "GET /x http/1.1",
                                "G(T /x HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x7f HTTP/1.1"})
    EXPECT_FALSE(parse_request_head(std::string(line) + "\r\nHost: a\r\n\r\n").ok()) << line;
}

TEST(HttpHead, AnHttp11RequestHasOneHost) {
  EXPECT_FALSE(parse_request_head("GET / HTTP/1.1\r\n\r\n").ok());
  EXPECT_TRUE(parse_request_head("GET / HTTP/1.0\r\n\r\n").ok());
}

TEST(HttpHead, TellsHowABodyIsFramed) {
  auto chunked = parse_request_head(request("Transfer-Encoding: Chunked\r\n"));
  ASSERT_TRUE(chunked.ok());
  EXPECT_EQ(request_body(*chunked).framing, Framing::kChunked);
  auto sized = parse_response_head("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n");
  ASSERT_TRUE(sized.ok());
  EXPECT_EQ(response_body(*sized, "GET").length, 12u);
  EXPECT_EQ(response_body(*sized, "HEAD").framing, Framing::kNone);
  auto open = parse_response_head("HTTP/1.1 200\r\n\r\n");
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(response_body(*open, "GET").framing, Framing::kUntilEnd);
  auto unchanged = parse_response_head("HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n");
  ASSERT_TRUE(unchanged.ok());
  EXPECT_EQ(response_body(*unchanged, "GET").framing, Framing::kNone);
}

TEST(HttpHead, ChunkedIsUnknownToHttp10) {
  EXPECT_FALSE(parse_request_head("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").ok());
}

TEST(HttpHead, BoundsTheNumberOfHeaders) {
  std::string many;
  for (size_t i = 0; i <= kMaxHttpFields; ++i) many += "X: y\r\n";
  EXPECT_FALSE(parse_request_head(request(many)).ok());
}

TEST(HttpHead, FindsItsEndAcrossPieces) {
  std::string bytes = "GET / HTTP/1.1\r\n\r";
  EXPECT_FALSE(find_head_end(bytes).has_value());
  bytes += "\nbody";
  EXPECT_EQ(find_head_end(bytes, bytes.size() - 5), bytes.size() - 4);
}

// What a host's head says may tell a secret, and the reason goes to the cell.
TEST(HttpHead, NoReasonRepeatsTheHead) {
  for (std::string_view head :
       {"HTTP/1.1 200 OK\r\nX-Told: \1\r\n\r\n", "HTTP/1.1 200 OK\r\nTold\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTold (: 1\r\n\r\n", "HTTP/1.1 20x Told\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: Told\r\n\r\n"}) {
    Result<HttpHead> parsed = parse_response_head(head);
    ASSERT_FALSE(parsed.ok()) << head;
    EXPECT_EQ(parsed.error().what.find("Told"), std::string::npos) << parsed.error().what;
  }
}

}  // namespace
}  // namespace caisson
