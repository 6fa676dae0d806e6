#include "gateway/tls_rest.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gateway/cell_ca.h"
#include "gateway/gateway_fixture.h"
#include "gateway/tls_stream.h"

namespace caisson {
namespace {

// Before main: other tests of this process use OpenSSL too, and then it is too late.
[[gnu::constructor]] void furnish() { furnish_openssl(); }

SslContext client_context() { return SslContext(SSL_CTX_new(TLS_client_method())); }

bool is_in_memory(const uint64_t* room) {
  unsigned char pages[kTlsRoomSize / 4096] = {};
  EXPECT_EQ(::mincore(const_cast<uint64_t*>(room), kTlsRoomSize, pages), 0);
  return std::ranges::any_of(pages, [](unsigned char page) { return page & 1; });
}

std::vector<uint64_t> words_of(const uint64_t* room) {
  return {room, room + kTlsRoomSize / sizeof(uint64_t)};
}

TEST(RestingTls, GivesItsPagesBackAndFindsEverythingWhereItWas) {
  SslContext context = client_context();
  AwakeTls awake(1);
  RestingTls first(new_tls_connection(context.get()), &awake);
  uint64_t* room = tls_room_of(first.use());
  ASSERT_NE(room, nullptr);
  EXPECT_TRUE(is_in_memory(room));
  std::vector<uint64_t> before = words_of(room);

  RestingTls second(new_tls_connection(context.get()), &awake);
  EXPECT_TRUE(first.rests());
  EXPECT_FALSE(second.rests());
  EXPECT_EQ(awake.size(), 1u);
  EXPECT_FALSE(is_in_memory(room));

  EXPECT_EQ(tls_room_of(first.use()), room);
  EXPECT_FALSE(first.rests());
  EXPECT_TRUE(second.rests());
  EXPECT_EQ(words_of(room), before);
}

TEST(RestingTls, TheOneThatWasUsedLeastRecentlyGoesFirst) {
  SslContext context = client_context();
  AwakeTls awake(2);
  RestingTls a(new_tls_connection(context.get()), &awake);
  RestingTls b(new_tls_connection(context.get()), &awake);
  EXPECT_FALSE(a.rests());
  a.use();
  RestingTls c(new_tls_connection(context.get()), &awake);
  EXPECT_FALSE(a.rests());
  EXPECT_TRUE(b.rests());
  b.use();
  EXPECT_TRUE(a.rests());
  EXPECT_FALSE(c.rests());
  EXPECT_EQ(awake.size(), 2u);
}

TEST(RestingTls, MayEndAtRestAndAwakeInAnyOrder) {
  SslContext context = client_context();
  AwakeTls awake(2);
  std::vector<std::unique_ptr<RestingTls>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(std::make_unique<RestingTls>(new_tls_connection(context.get()), &awake));
  uint64_t* room = tls_room_of(all[3]->use());
  for (size_t i : {3u, 0u, 7u, 5u}) all[i].reset();
  EXPECT_FALSE(is_in_memory(room));
  RestingTls next(new_tls_connection(context.get()), &awake);
  for (std::unique_ptr<RestingTls>& one : all) EXPECT_TRUE(!one || one->use() != next.use());
  all.clear();
  EXPECT_FALSE(next.rests());
  EXPECT_EQ(awake.size(), 1u);
}

TEST(RestingTls, OneWithoutARoomStaysAsItIs) {
  SslContext context = client_context();
  AwakeTls awake(1);
  RestingTls elsewhere(TlsConnection(SSL_new(context.get())), &awake);
  EXPECT_EQ(tls_room_of(elsewhere.use()), nullptr);
  EXPECT_EQ(awake.size(), 0u);
  RestingTls first(new_tls_connection(context.get()), &awake);
  RestingTls second(new_tls_connection(context.get()), &awake);
  EXPECT_FALSE(elsewhere.rests());
}

// Both ends of several connections, of which one object is awake at a time: each call wakes its
// own and puts another to rest, in the middle of handshakes and of records that the socket had no
// room for.
class TlsAtRest : public ::testing::Test {
 protected:
  static constexpr size_t kPairs = 3, kBytes = 3 * 1024 * 1024;

  void SetUp() override {
    Result<CellCa> ca = CellCa::make();
    ASSERT_TRUE(ca.ok());
    ca_.emplace(std::move(*ca));
    for (size_t i = 0; i < kPairs; ++i) {
      int fds[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
      Result<TlsConnection> served = ca_->server(Host{"host.example", std::nullopt});
      ASSERT_TRUE(served.ok());
      servers_.push_back(std::make_unique<TlsStream>(plain(fds[0]), std::move(*served),
                                                     TlsStream::Role::kServer, &awake_));
      clients_.push_back(std::make_unique<TlsStream>(
          plain(fds[1]), new_tls_connection(context_.get()), TlsStream::Role::kClient, &awake_));
    }
  }

  std::unique_ptr<Stream> plain(int fd) {
    return std::make_unique<PlainStream>(Socket(loop_, UniqueFd(fd)));
  }

  static std::string body(size_t pair) {
    std::string text(kBytes, '\0');
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 / 7 + pair);
    return text;
  }
  Task<> serve(size_t pair) {
    why_[pair] += co_await servers_[pair]->handshake();
    std::string text = body(pair);
    co_await servers_[pair]->write(text);
    co_await servers_[pair]->finish();
  }
  Task<> receive(size_t pair) {
    why_[pair] += co_await clients_[pair]->handshake();
    std::vector<uint8_t> buffer(20'000);
    for (;;) {
      Moved got = co_await clients_[pair]->read(buffer);
      if (got.error || got.ended()) break;
      received_[pair].append(reinterpret_cast<const char*>(buffer.data()), got.bytes);
      most_awake_ = std::max(most_awake_, awake_.size());
    }
  }

  Loop loop_{1};
  AwakeTls awake_{1};
  std::optional<CellCa> ca_;
  SslContext context_ = client_context();
  std::vector<std::unique_ptr<TlsStream>> servers_, clients_;
  std::string why_[kPairs], received_[kPairs];
  size_t most_awake_ = 0;
};

TEST_F(TlsAtRest, EveryByteArrivesThoughOnlyOneIsAwake) {
  for (size_t i = 0; i < kPairs; ++i) {
    spawn(loop_, serve(i));
    spawn(loop_, receive(i));
  }
  loop_.run_for(std::chrono::seconds(60));
  EXPECT_TRUE(loop_.stopped());
  for (size_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(why_[i], "");
    EXPECT_TRUE(received_[i] == body(i)) << received_[i].size() << " bytes";
  }
  EXPECT_EQ(most_awake_, 1u);
}

}  // namespace
}  // namespace caisson
