#include "gateway/http_place.h"

#include <gtest/gtest.h>

#include "gateway/http_rewrite.h"

namespace caisson {
namespace {

HttpHead head_of(std::string_view method, std::string_view target, std::string_view host) {
  HttpHead head;
  head.method = method;
  head.target = target;
  if (!host.empty()) head.fields.push_back({"Host", std::string(host)});
  return head;
}

HttpDoor door_to(std::string_view where) {
  return {Scheme::kHttp, std::move(parse_host_port(where, 80)).value()};
}

TEST(HttpPlace, ARequestGoesWhereTheConnectionWent) {
  PlacedRequest placed = place_request(head_of("GET", "/x?y", "A.test."), door_to("a.test:80"));
  ASSERT_TRUE(placed.request);
  EXPECT_EQ(placed.request->where.text(), "a.test:80");
  EXPECT_EQ(placed.request->head.target, "/x?y");
}

TEST(HttpPlace, AnotherHostIsRefusedWhereverItStands) {
  EXPECT_TRUE(place_request(head_of("GET", "/", "b.test"), door_to("a.test:80")).mismatch);
  EXPECT_TRUE(place_request(head_of("GET", "/", "a.test:81"), door_to("a.test:80")).mismatch);
  EXPECT_TRUE(
      place_request(head_of("GET", "http://b.test/", "a.test"), door_to("a.test:80")).mismatch);
  EXPECT_TRUE(place_request(head_of("GET", "http://a.test/", "b.test"), HttpDoor{}).mismatch);
}

TEST(HttpPlace, TheUsualNamesOfTheLoopbackStandForOneAnotherAndTheConnectionDecides) {
  for (const char* told : {"localhost:9", "127.0.0.1:9", "[::1]:9"}) {
    PlacedRequest placed = place_request(head_of("GET", "/", told), door_to("127.0.0.1:9"));
    ASSERT_TRUE(placed.request) << told;
    EXPECT_EQ(placed.request->where.text(), "127.0.0.1:9");
  }
  PlacedRequest placed =
      place_request(head_of("GET", "http://localhost:9/x", "localhost:9"), door_to("[::1]:9"));
  ASSERT_TRUE(placed.request);
  EXPECT_EQ(placed.request->where.text(), "[::1]:9");
  EXPECT_TRUE(place_request(head_of("GET", "/", "localhost:8"), door_to("127.0.0.1:9")).mismatch);
  EXPECT_TRUE(place_request(head_of("GET", "/", "localhost:9"), door_to("a.test:9")).mismatch);
  EXPECT_TRUE(place_request(head_of("GET", "/", "a.test:9"), door_to("127.0.0.1:9")).mismatch);
}

TEST(HttpPlace, AProxyIsToldTheHost) {
  PlacedRequest placed = place_request(head_of("GET", "http://a.test:8080?q", "a.test:8080"), {});
  ASSERT_TRUE(placed.request);
  EXPECT_EQ(placed.request->where.text(), "a.test:8080");
  EXPECT_EQ(placed.request->head.target, "/?q");
  EXPECT_FALSE(place_request(head_of("GET", "/x", "a.test"), HttpDoor{}).request);
  EXPECT_FALSE(place_request(head_of("GET", "https://a.test/", "a.test"), HttpDoor{}).request);
  EXPECT_FALSE(
      place_request(head_of("GET", "http://b.test@a.test/", "a.test"), HttpDoor{}).request);
  EXPECT_FALSE(place_request(head_of("GET", "ftp://a.test/", "a.test"), HttpDoor{}).request);
}

TEST(HttpPlace, AStarIsForOptionsOnly) {
  EXPECT_TRUE(place_request(head_of("OPTIONS", "*", "a.test"), door_to("a.test:80")).request);
  EXPECT_FALSE(place_request(head_of("GET", "*", "a.test"), door_to("a.test:80")).request);
}

TEST(HttpRewrite, WhatConcernsOneConnectionIsDropped) {
  auto head = parse_request_head(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\n"
      "Proxy-Authorization: secret\r\nKeep-Alive: 5\r\nAccept: */*\r\n\r\n");
  ASSERT_TRUE(head.ok());
  strip_hop_by_hop(*head);
  EXPECT_EQ(request_text(*head, "a.test", {}, false),
            "GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n");
}

TEST(HttpRewrite, WhoAsksForTheWholeAsksForNoPart) {
  auto head = parse_request_head(
      "GET / HTTP/1.1\r\nHost: a\r\nrange: bytes=0-1\r\nIf-Range: x\r\nRequest_Range: bytes=0-1\r\n"
      "Range: bytes=2-3\r\nx-ms-range: bytes=0-1\r\nA-IM: range\r\nX-Range: 1\r\n\r\n");
  ASSERT_TRUE(head.ok());
  ask_for_whole(*head);
  EXPECT_EQ(request_text(*head, "a.test", {}, false),
            "GET / HTTP/1.1\r\nHost: a.test\r\nX-Range: 1\r\n\r\n");
}

TEST(HttpRewrite, TheBodysFramingIsToldOnce) {
  HttpHead head = head_of("POST", "/", "a.test");
  head.fields.push_back({"Content-Length", "99"});
  EXPECT_EQ(request_text(head, "a.test", {Framing::kLength, 5}, false),
            "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(request_text(head, "a.test", {Framing::kChunked, 0}, false),
            "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(request_text(head, "a.test", {}, false),
            "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpRewrite, OnlyAWebSocketMayUpgrade) {
  auto parse = [](std::string_view upgrade) {
    return std::move(
               parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: " +
                                  std::string(upgrade) + "\r\n\r\n"))
        .value();
  };
  EXPECT_TRUE(asks_for_websocket(parse("WebSocket")));
  EXPECT_FALSE(asks_for_websocket(parse("h2c")));
  EXPECT_FALSE(asks_for_websocket(parse("websocket, h2c")));
}

}  // namespace
}  // namespace caisson
