#include "http/head.h"

#include <gtest/gtest.h>

#include "http/chunks.h"

namespace caisson::http {
namespace {

std::string head(std::string_view lines) { return std::string(lines) + "\r\n"; }

// 0 when it is read, else the status that it is refused with.
int refused(std::string_view text) {
  Result<Request> request = parse_request_head(text);
  return request.ok() ? 0 : request.error().errnum;
}

TEST(ServerHead, ReadsAnOrdinaryRequest) {
  Result<Request> request = parse_request_head(
      head("POST /v1/sessions/a%20b/exec?x=1&y=%41 HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Length: 5\r\nAccept: text/html, text/event-stream;q=1\r\n"));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->path, "/v1/sessions/a%20b/exec");
  EXPECT_EQ(request->segments, (std::vector<std::string>{"v1", "sessions", "a b", "exec"}));
  EXPECT_EQ(request->parameter("y"), "A");
  EXPECT_FALSE(request->parameter("z"));
  EXPECT_EQ(body_frame(*request).length, 5u);
  EXPECT_TRUE(request->lists("accept", "text/event-stream"));
  EXPECT_TRUE(keeps_alive(*request));
}

TEST(ServerHead, TheTypeOfABodyIsOneAndTheWholeOfIt) {
  auto is_json = [](std::string_view fields) {
    auto request =
        parse_request_head(head("POST / HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields)));
    return request.ok() && request->has_type("application/json");
  };
  EXPECT_TRUE(is_json("Content-Type: application/json\r\n"));
  EXPECT_TRUE(is_json("Content-Type: Application/JSON ; charset=utf-8\r\n"));
  EXPECT_FALSE(is_json("Content-Type: text/plain;x=,application/json\r\n"));
  EXPECT_FALSE(is_json("Content-Type: text/plain, application/json\r\n"));
  EXPECT_FALSE(is_json("Content-Type: text/plain\r\nContent-Type: application/json\r\n"));
  EXPECT_FALSE(is_json(""));
}

TEST(ServerHead, RefusesWhatTwoReadersCouldReadDifferently) {
  const std::string_view refusals[] = {
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5, 5\r\n",
      "Content-Length: +5\r\n",
      "Content-Length: -1\r\n",
      "Content-Length: 0x10\r\n",
      "Content-Length: 99999999999999999999\r\n",
      "Content-Length:\r\n",
      "Content-Length : 5\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n",
      "Host: localhost\r\n",
      "X: a\r\n b\r\n",
      "X: a\rb\r\n",
      "X: a\nContent-Length: 5\r\n",
      "X\r\n",
      ": x\r\n",
      "X\tY: x\r\n",
      "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
      "Origin: http://localhost\r\nOrigin: http://evil\r\n",
  };
  for (std::string_view lines : refusals)
    EXPECT_EQ(refused(head("POST / HTTP/1.1\r\nHost: localhost\r\n" + std::string(lines))), 400)
        << lines;
  EXPECT_EQ(refused(head("POST / HTTP/1.1\r\nHost: localhost\r\n")), 0);
  std::string with_nul = "POST / HTTP/1.1\r\nHost: localhost\r\nX: _\r\n";
  with_nul[with_nul.find('_')] = '\0';
  EXPECT_EQ(refused(head(with_nul)), 400);
}

TEST(ServerHead, RefusesOddRequestLines) {
  const std::string_view lines[] = {
      "GET / HTTP/1.1 ",     "GET  / HTTP/1.1",    "GET http://localhost/ HTTP/1.1",
      "GET * HTTP/1.1",      "GET /a b HTTP/1.1",  "GET /#x HTTP/1.1",
      "GET /\\x HTTP/1.1",   "G(T / HTTP/1.1",     "GET /",
      " GET / HTTP/1.1",     "GET /../x HTTP/1.1", "GET /%2e%2e/x HTTP/1.1",
      "GET /a%2fb HTTP/1.1", "GET /%00 HTTP/1.1",  "GET /%4 HTTP/1.1",
      "GET /%zz HTTP/1.1"};
  for (std::string_view line : lines) {
    int status = refused(head(std::string(line) + "\r\nHost: localhost\r\n"));
    EXPECT_TRUE(status == 400 || status == 505) << line << " " << status;
  }
  EXPECT_EQ(refused(head("GET / HTTP/2.0\r\nHost: localhost\r\n")), 505);
  EXPECT_EQ(refused(head("GET / HTTP/1.1\r\n")), 400);  // no Host
  EXPECT_EQ(refused("GET / HTTP/1.1\nHost: localhost\n\n"), 400);
  EXPECT_EQ(refused(head("GET / HTTP/1.1\r\nHost: localhost\r\n") + "x"), 400);
}

TEST(ServerHead, BoundsTheNumberOfHeadersAndOfPathParts) {
  std::string many, deep;
  for (size_t i = 0; i <= kMaxFields; ++i) many += "X: y\r\n";
  for (size_t i = 0; i <= kMaxSegments; ++i) deep += "/a";
  EXPECT_EQ(refused(head("GET / HTTP/1.1\r\nHost: localhost\r\n" + many)), 431);
  EXPECT_EQ(refused(head("GET " + deep + " HTTP/1.1\r\nHost: localhost\r\n")), 400);
}

// What must hold of every head that is let in, whatever was done to it on the way.
void expect_sound(const Request& request, std::string_view text) {
  EXPECT_LE(request.count("Content-Length") + request.count("Transfer-Encoding"), 1u) << text;
  EXPECT_LE(request.count("Host"), 1u) << text;
  for (const Field& field : request.fields) {
    EXPECT_EQ(field.name.find_first_of(std::string_view(" \t\r\n:\0", 6)), std::string::npos)
        << text;
    EXPECT_EQ(field.value.find_first_of(std::string_view("\r\n\0", 3)), std::string::npos) << text;
  }
  EXPECT_EQ(request.path.front(), '/') << text;
  for (const std::string& segment : request.segments) {
    EXPECT_TRUE(segment != "." && segment != "..") << text;
    EXPECT_EQ(segment.find_first_of(std::string_view("/\0", 2)), std::string::npos) << text;
  }
}

TEST(ServerHead, IsSoundWheneverItIsLetIn) {
  const std::string whole = head(
      "POST /a/%41b/c?d=e HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 12\r\nX-Y:  z \r\nAccept: a, b;q=1\r\n");
  const std::string_view pieces[] = {"\r\n",
                                     "\n",
                                     "\r",
                                     " ",
                                     "\t",
                                     ":",
                                     "%2f",
                                     "..",
                                     "/",
                                     "\0",
                                     "Transfer-Encoding: chunked\r\n",
                                     "Content-Length: 1\r\n",
                                     "Host: x\r\n",
                                     "\r\n\r\n",
                                     "%",
                                     "\xff",
                                     "HTTP/1.0"};
  uint32_t state = 12345;  // the same changes in every run
  auto random = [&](size_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  size_t let_in = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (size_t changes = 1 + random(3); changes; --changes) {
      std::string_view piece = pieces[random(std::size(pieces))];
      size_t at = random(text.size());
      text.replace(at, random(4), piece.empty() ? std::string_view("\0", 1) : piece);
    }
    Result<Request> request = parse_request_head(text);
    if (!request.ok()) continue;
    ++let_in;
    expect_sound(*request, text);
  }
  EXPECT_GT(let_in, 100u);  // the test would say nothing about heads that are all refused
}

TEST(ServerHead, FindsItsEndInPieces) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string_view first = std::string_view(bytes).substr(0, cut);
    std::optional<size_t> end = find_head_end(first);
    if (!end) end = find_head_end(bytes, cut);
    EXPECT_EQ(end, 27u) << cut;
  }
}

std::string decode(std::string_view bytes, ChunkReader& reader, size_t piece) {
  std::string body, buffer;
  for (size_t at = 0; at < bytes.size() && !reader.ended(); at += piece) {
    buffer += bytes.substr(at, piece);
    buffer.erase(0, reader.feed(buffer, body));
  }
  return body;
}

TEST(ServerChunks, ReadsABodyHoweverItIsCut) {
  for (size_t piece = 1; piece < 30; ++piece) {
    ChunkReader reader(100);
    EXPECT_EQ(decode("5\r\nhello\r\nA\r\n world, it\r\n0\r\nX: y\r\n\r\n", reader, piece),
              "hello world, it");
    EXPECT_EQ(reader.state(), ChunkReader::State::kDone);
  }
}

TEST(ServerChunks, LeavesTheNextRequestAlone) {
  ChunkReader reader(100);
  std::string body;
  EXPECT_EQ(reader.feed("1\r\na\r\n0\r\n\r\nGET / HTTP/1.1", body), 11u);
  EXPECT_EQ(body, "a");
}

TEST(ServerChunks, RefusesWhatReadersDifferOn) {
  for (std::string_view bytes :
       {"5;x=y\r\nhello\r\n", "5 \r\nhello\r\n", "0x5\r\nhello\r\n", "5\nhello\r\n", "\r\n",
        "+5\r\nhello\r\n", "-1\r\n", "5\r\nhelloXX", "ffffffffffffffffff\r\n", "g\r\n"}) {
    ChunkReader reader(100);
    decode(bytes, reader, 1);
    EXPECT_EQ(reader.state(), ChunkReader::State::kBad) << bytes;
  }
}

TEST(ServerChunks, BoundsTheWhole) {
  ChunkReader one(4), two(8);
  decode("5\r\nhello\r\n", one, 3);
  EXPECT_EQ(one.state(), ChunkReader::State::kTooLarge);
  decode("5\r\nhello\r\n5\r\nhello\r\n", two, 3);
  EXPECT_EQ(two.state(), ChunkReader::State::kTooLarge);
  ChunkReader trailers(8);
  decode("0\r\n" + std::string(20000, 'x'), trailers, 1000);
  EXPECT_EQ(trailers.state(), ChunkReader::State::kBad);
}

}  // namespace
}  // namespace caisson::http
