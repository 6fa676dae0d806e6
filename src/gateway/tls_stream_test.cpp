#include "gateway/tls_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/cell_ca.h"
#include "gateway/gateway_fixture.h"

namespace caisson {
namespace {

using gateway_tests::loopback_socket;
using gateway_tests::port_of;

// Both ends of a TCP connection on the loopback with TLS between them: TCP, since only there the
// kernel holds back what says that more follows.
class TlsStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    UniqueFd listener = loopback_socket(SOCK_STREAM);
    UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port_of(listener))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(near.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    UniqueFd far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Result<CellCa> ca = CellCa::make();
    ASSERT_TRUE(ca.ok());
    ca_.emplace(std::move(*ca));
    Result<TlsConnection> served =
        ca_->server(Host{"host.example", std::nullopt}, CellCa::Protocols::kHttp1);
    ASSERT_TRUE(served.ok());
    context_.reset(SSL_CTX_new(TLS_client_method()));
    server_ = std::make_unique<TlsStream>(plain(std::move(far)), std::move(*served),
                                          TlsStream::Role::kServer);
    client_ = std::make_unique<TlsStream>(
        plain(std::move(near)), TlsConnection(SSL_new(context_.get())), TlsStream::Role::kClient);
    spawn(loop_, shake(*server_, server_why_));
    spawn(loop_, shake(*client_, client_why_));
    run();
    ASSERT_EQ(server_why_ + client_why_, "");
  }

  // Until nobody waits any more: everything that was sent has been read, or a stream hangs.
  void run() {
    loop_.restart();
    loop_.run_for(std::chrono::seconds(20));
    EXPECT_TRUE(loop_.stopped()) << "somebody still waits";
  }

  std::unique_ptr<Stream> plain(UniqueFd fd) {
    return std::make_unique<PlainStream>(Socket(loop_, std::move(fd)));
  }
  static Task<> shake(TlsStream& stream, std::string& why) { why = co_await stream.handshake(); }

  Task<> send(std::string_view text, Then then) {
    std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    error_ = co_await server_->write(bytes, then);
  }
  Task<> send_and_finish(std::string_view text) {
    co_await send(text, Then::kMore);
    co_await server_->finish();
  }
  Task<> receive(size_t size) {
    while (received_.size() < size) {
      Moved got = co_await client_->read(buffer_);
      if (got.error || got.ended()) break;
      largest_ = std::max(largest_, got.bytes);
      received_.append(reinterpret_cast<const char*>(buffer_.data()), got.bytes);
    }
  }

  Loop loop_{1};
  std::optional<CellCa> ca_;
  SslContext context_;
  std::unique_ptr<TlsStream> server_, client_;
  std::string server_why_, client_why_, received_;
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(64 * 1024);
  size_t largest_ = 0;
  int error_ = 0;
};

std::string many_bytes(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& one : text) one = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

TEST_F(TlsStreamTest, BytesBeyondEveryBufferArriveInTheirOrder) {
  std::string text = many_bytes((8 << 20) + 1);
  spawn(loop_, send(text, Then::kDone));
  spawn(loop_, receive(text.size()));
  run();
  EXPECT_EQ(error_, 0);
  EXPECT_TRUE(received_ == text);
}

TEST_F(TlsStreamTest, OneReadTakesSeveralRecords) {
  std::string text = many_bytes(3 * TlsStream::kRecord);
  spawn(loop_, send(text, Then::kDone));
  run();  // all of it is on the wire before anybody reads
  spawn(loop_, receive(text.size()));
  run();
  EXPECT_TRUE(received_ == text);
  EXPECT_GT(largest_, TlsStream::kRecord);
}

TEST_F(TlsStreamTest, WhatWasHeldBackGoesWithTheNextWrite) {
  std::string text = many_bytes(100);
  spawn(loop_, send(text, Then::kMore));
  run();
  spawn(loop_, send("the end", Then::kDone));
  spawn(loop_, receive(text.size() + 7));
  run();
  EXPECT_TRUE(received_ == text + "the end");
}

TEST_F(TlsStreamTest, WhatWasHeldBackGoesWithTheFarewell) {
  std::string text = many_bytes(2 * TlsStream::kRecord + 5);
  spawn(loop_, send_and_finish(text));
  spawn(loop_, receive(text.size() + 1));
  run();
  EXPECT_TRUE(received_ == text);
}

}  // namespace
}  // namespace caisson
