#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <thread>

#include "http/body_room.h"
#include "http/listen.h"

namespace caisson::http {
namespace {

using namespace std::chrono_literals;

size_t in_memory(const Request& request) {
  struct stat found {};
  return request.memory && ::fstat(request.memory.get(), &found) == 0
             ? static_cast<size_t>(found.st_size)
             : 0;
}

// A server that echoes bodies, streams "/stream" and refuses "/no" before its body is read.
class HttpServer : public testing::Test {
 protected:
  HttpServer() {
    ServerOptions options;
    options.head_time = 1s;
    options.max_connections = 4;
    options.most_bodies = 4 << 20;
    options.admit = [](const Request& request) -> Admission {
      if (request.path == "/no") return {refusal(401, "no token")};
      if (request.path == "/large") return {{}, 64 << 20, true};
      return {.refusal = {}, .body_limit = 10};
    };
    options.handle = [this](Request& request, Reply& reply) { return handle(request, reply); };
    server_.emplace(loop_, std::move(options));
    UniqueFd listener = listen_loopback({}).value();
    port_ = port_of(listener.get()).value();
    server_->serve(std::move(listener));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~HttpServer() override {
    loop_.post([this] { server_->stop(); });
    thread_.join();
  }

  Task<> handle(Request& request, Reply& reply) {
    if (request.path == "/stream") {
      Response head;  // a list in braces inside co_await is beyond GCC 12
      co_await reply.begin(std::move(head));
      co_await reply.write("one");
      co_await reply.write("");
      co_await reply.write("two");
      co_await reply.finish();
      co_return;
    }
    if (request.path == "/gone") {
      Bell bell(loop_);
      reply.on_gone([&] { bell.ring(); });
      co_await bell.wait();
      gone_ = true;
      co_return;
    }
    if (request.path == "/silent") co_return;
    if (request.path == "/large") {
      Response sizes;
      sizes.body =
          std::to_string(request.body.size()) + " and " + std::to_string(in_memory(request));
      co_await reply.send(std::move(sizes));
      co_return;
    }
    Response echo;
    echo.body = request.method + " " + request.path + " " + request.body;
    co_await reply.send(std::move(echo));
  }

  UniqueFd connect() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static void put(int fd, std::string_view bytes) {
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }
  // All that comes until the server ends.
  static std::string all(int fd) {
    std::string text;
    char bytes[4096];
    for (;;) {
      pollfd wait{fd, POLLIN, 0};
      if (::poll(&wait, 1, 10000) != 1) return text + "<nothing more came>";
      ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
      if (got <= 0) return text;
      text.append(bytes, static_cast<size_t>(got));
    }
  }
  std::string exchange(std::string_view bytes) {
    UniqueFd fd = connect();
    put(fd.get(), bytes);
    return all(fd.get());
  }
  static size_t answers(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != text.npos; ++at) ++count;
    return count;
  }

  Loop loop_;
  std::optional<Server> server_;
  uint16_t port_ = 0;
  std::thread thread_;
  std::atomic<bool> gone_ = false;
};

constexpr std::string_view kHost = "Host: localhost\r\n";
std::string request(std::string_view line, std::string_view more = {}, std::string_view body = {}) {
  return std::string(line) + " HTTP/1.1\r\n" + std::string(kHost) + std::string(more) + "\r\n" +
         std::string(body);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInOrder) {
  std::string text = exchange(
      request("POST /a", "Content-Length: 3\r\n", "abc") +
      request("POST /b", "Transfer-Encoding: chunked\r\n", "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n") +
      request("GET /c", "Connection: close\r\n"));
  EXPECT_EQ(answers(text), 3u);
  size_t a = text.find("POST /a abc"), b = text.find("POST /b def"), c = text.find("GET /c ");
  EXPECT_TRUE(a < b && b < c && c != text.npos) << text;
}

TEST_F(HttpServer, AnswersARefusedHeadOnceAndCloses) {
  std::string smuggled = request("POST /a", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                                 "0\r\n\r\n" + request("GET /secret"));
  std::string text = exchange(smuggled);
  EXPECT_EQ(answers(text), 1u) << text;
  EXPECT_TRUE(text.starts_with("HTTP/1.1 400 ")) << text;
}

TEST_F(HttpServer, RefusesBeforeItReadsTheBody) {
  std::string text = exchange(request("POST /no", "Content-Length: 1000000\r\n"));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 401 ")) << text;
}

TEST_F(HttpServer, GoesOnAfterARefusalWithoutABody) {
  std::string text = exchange(request("GET /no") + request("GET /x", "Connection: close\r\n"));
  EXPECT_EQ(answers(text), 2u) << text;
}

TEST_F(HttpServer, RefusesBodiesBeyondTheLimit) {
  EXPECT_TRUE(exchange(request("POST /a", "Content-Length: 11\r\n", "12345678901"))
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(exchange(request("POST /a", "Transfer-Encoding: chunked\r\n", "b\r\n12345678901\r\n"))
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(
      exchange(request("POST /a", "Content-Length: 10\r\nConnection: close\r\n", "1234567890"))
          .starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServer, RefusesHeadsBeyondTheLimit) {
  std::string text = exchange(request("GET /", "X: " + std::string(70000, 'x') + "\r\n"));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 431 ")) << text.substr(0, 200);
}

TEST_F(HttpServer, RefusesOtherHostsAndOrigins) {
  EXPECT_TRUE(exchange("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(exchange("GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(exchange(request("GET /", "Origin: http://evil.example\r\nConnection: close\r\n"))
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(exchange(request("GET /", "Origin: http://localhost:1\r\nConnection: close\r\n"))
                  .starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServer, TellsAClientThatIsTooSlow) {
  UniqueFd fd = connect();
  put(fd.get(), "GET / HTT");
  EXPECT_TRUE(all(fd.get()).starts_with("HTTP/1.1 408 "));
}

TEST_F(HttpServer, StreamsInChunks) {
  std::string text = exchange(request("GET /stream", "Connection: close\r\n"));
  EXPECT_NE(text.find("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"), text.npos) << text;
  text = exchange("GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(text.ends_with("\r\n\r\nonetwo")) << text;
}

TEST_F(HttpServer, NoticesAClientThatLeaves) {
  UniqueFd fd = connect();
  put(fd.get(), request("GET /gone"));
  fd.reset();
  for (int i = 0; i < 1000 && !gone_; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(gone_);
}

TEST_F(HttpServer, AHandlerThatSaysNothingIsAnError) {
  EXPECT_TRUE(
      exchange(request("GET /silent", "Connection: close\r\n")).starts_with("HTTP/1.1 500 "));
}

TEST_F(HttpServer, NeverSendsABodyForHead) {
  std::string text = exchange(request("HEAD /x", "Connection: close\r\n"));
  EXPECT_TRUE(text.ends_with("\r\n\r\n")) << text;
}

TEST_F(HttpServer, ContinuesOnlyWhenTheHeadMayComeIn) {
  std::string text = exchange(request(
      "POST /a", "Expect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n", "x"));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 100 ")) << text;
  text = exchange(request("POST /no", "Expect: 100-continue\r\nContent-Length: 1\r\n"));
  EXPECT_EQ(text.find("100 Continue"), text.npos);
  EXPECT_TRUE(exchange(request("POST /a", "Expect: magic\r\nConnection: close\r\n"))
                  .starts_with("HTTP/1.1 417 "));
}

std::string chunk(size_t size) {
  char head[20];
  ::snprintf(head, sizeof head, "%zx\r\n", size);
  return head + std::string(size, 'x') + "\r\n";
}

TEST_F(HttpServer, ALargeBodyIsMemoryWhereThatWasAskedFor) {
  constexpr size_t kLarge = (3 << 20) + 7;
  auto send = [&](const std::string& field, const std::string& body) {
    return exchange(request("PUT /large", field + "\r\nConnection: close\r\n", body));
  };
  auto length = [](size_t size) { return "Content-Length: " + std::to_string(size); };
  EXPECT_TRUE(send(length(5), "small").ends_with("5 and 0"));
  EXPECT_TRUE(
      send(length(kLarge), std::string(kLarge, 'x')).ends_with("0 and " + std::to_string(kLarge)));
  std::string chunks = chunk(1 << 20) + chunk(3) + chunk(1 << 20) + "0\r\n\r\n";
  EXPECT_TRUE(send("Transfer-Encoding: chunked", chunks).ends_with("0 and 2097155"));
}

TEST_F(HttpServer, WhatComesBehindALargeBodyIsTheNextRequest) {
  constexpr size_t kLarge = 2 << 20;
  std::string text =
      exchange(request("PUT /large", "Content-Length: 2097152\r\n", std::string(kLarge, 'x')) +
               request("GET /next", "Connection: close\r\n"));
  EXPECT_NE(text.find("0 and 2097152"), text.npos) << text;
  EXPECT_TRUE(text.ends_with("GET /next ")) << text;
}

TEST_F(HttpServer, BodiesThatAreUnderWayShareTheirMemory) {
  UniqueFd first = connect();
  put(first.get(), request("PUT /large", "Content-Length: 4194304\r\nExpect: 100-continue\r\n"));
  char byte;
  ASSERT_EQ(::recv(first.get(), &byte, 1, 0), 1);  // it has its room
  auto large = request("PUT /large", "Content-Length: 3145728\r\nConnection: close\r\n");
  EXPECT_TRUE(exchange(large).starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(exchange(request("PUT /large", "Content-Length: 2\r\nConnection: close\r\n", "ok"))
                  .ends_with("2 and 0"));
  ::shutdown(first.get(), SHUT_WR);
  all(first.get());  // until the server has let it go
  EXPECT_TRUE(exchange(large + std::string(3 << 20, 'x')).ends_with("0 and 3145728"));
}

TEST(BodyRoom, OneThatIsAloneMayBeOfAnySize) {
  uint64_t taken = 0;
  {
    BodyRoom large(taken, 100);
    EXPECT_TRUE(large.hold(uint64_t{1} << 40));
    BodyRoom other(taken, 100);
    EXPECT_TRUE(other.hold(BodyRoom::kFree));
    EXPECT_FALSE(other.hold(BodyRoom::kFree + 1));
    EXPECT_TRUE(large.hold(uint64_t{1} << 41));
  }
  EXPECT_EQ(taken, 0u);
}

TEST(BodyRoom, SeveralHaveTheirBoundTogether) {
  uint64_t taken = 0;
  BodyRoom one(taken, 100), two(taken, 100);
  EXPECT_TRUE(one.hold(BodyRoom::kFree + 60));
  EXPECT_TRUE(two.hold(BodyRoom::kFree + 40));
  EXPECT_FALSE(two.hold(BodyRoom::kFree + 41));
  EXPECT_FALSE(two.hold(UINT64_MAX));
  EXPECT_EQ(taken, 100u);
}

TEST_F(HttpServer, HasACapOnConnections) {
  std::vector<UniqueFd> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(connect());
    put(held.back().get(), request("GET /x"));
    char byte;
    ASSERT_EQ(::recv(held.back().get(), &byte, 1, 0), 1);
  }
  UniqueFd fifth = connect();
  EXPECT_EQ(all(fifth.get()), "");
}

TEST_F(HttpServer, WhoWasNeverLetInMakesRoom) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(connect());
  UniqueFd refused = connect();
  put(refused.get(), request("GET /no"));
  char byte;
  ASSERT_EQ(::recv(refused.get(), &byte, 1, 0), 1);
  EXPECT_TRUE(exchange(request("GET /x", "Connection: close\r\n")).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(all(silent[0].get()), "");
}

}  // namespace
}  // namespace caisson::http
