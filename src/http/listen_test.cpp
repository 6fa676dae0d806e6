#include "http/listen.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace caisson::http {
namespace {

TEST(HttpListen, TakesLoopbackAddressesOnly) {
  EXPECT_EQ(parse_loopback("8080")->port, 8080);
  EXPECT_EQ(parse_loopback("127.0.0.1:0")->host, "127.0.0.1");
  EXPECT_EQ(parse_loopback("localhost:1")->host, "127.0.0.1");
  EXPECT_EQ(parse_loopback("[::1]:80")->host, "::1");
  for (std::string_view text : {"0.0.0.0:80", "[::]:80", "example.org:80", "192.168.0.1:80", ":80",
                                "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "", "x"})
    EXPECT_FALSE(parse_loopback(text).ok()) << text;
}

TEST(HttpListen, KnowsLoopbackHosts) {
  for (std::string_view host :
       {"localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:80"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (std::string_view host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80:80",
        "localhost:x", "localhost:", "127.0.0.2", "[::1", "::1", "localhost@evil", "[::2]"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

TEST(HttpListen, KnowsLoopbackOrigins) {
  EXPECT_TRUE(is_loopback_origin("http://localhost:3000"));
  EXPECT_TRUE(is_loopback_origin("https://127.0.0.1"));
  for (std::string_view origin :
       {"null", "", "localhost", "http://evil.example", "file://", "http://localhost/",
        "http://localhost.evil.example", "http://evil.example:80", "chrome-extension://localhost"})
    EXPECT_FALSE(is_loopback_origin(origin)) << origin;
}

TEST(HttpListen, ComparesSecrets) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
  EXPECT_FALSE(same_secret("", ""));  // no token is never the right one
}

TEST(HttpListen, ReadsABearerToken) {
  Request request;
  EXPECT_EQ(bearer_token(request), "");
  request.fields = {{"authorization", "bearer  abc "}};
  EXPECT_EQ(bearer_token(request), "abc");
  request.fields = {{"Authorization", "Basic abc"}};
  EXPECT_EQ(bearer_token(request), "");
}

class UnixListen : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_), nullptr); }
  void TearDown() override {
    ::unlink(path().c_str());
    ::rmdir(folder_);
  }
  std::string path() const { return std::string(folder_) + "/s"; }
  char folder_[32] = "/tmp/caisson-listen-XXXXXX";
};

TEST_F(UnixListen, IsForTheOwnerAlone) {
  Result<UniqueFd> first = listen_unix(path());
  ASSERT_TRUE(first.ok());
  struct stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(UnixListen, ReplacesADeadSocketButNotALivingOne) {
  Result<UniqueFd> first = listen_unix(path());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(listen_unix(path()).error().errnum, EADDRINUSE);
  first->reset();
  EXPECT_TRUE(listen_unix(path()).ok());
}

TEST_F(UnixListen, RefusesAFolderThatOthersCanWrite) {
  ASSERT_EQ(::chmod(folder_, 0777), 0);
  EXPECT_FALSE(listen_unix(path()).ok());
}

TEST_F(UnixListen, NeverRemovesAFile) {
  FILE* file = ::fopen(path().c_str(), "w");
  ASSERT_NE(file, nullptr);
  ::fclose(file);
  EXPECT_FALSE(listen_unix(path()).ok());
  EXPECT_EQ(::access(path().c_str(), F_OK), 0);
}

TEST(HttpPeer, IsToldByTheKernel) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  UniqueFd a(pair[0]), b(pair[1]);
  std::optional<Peer> peer = peer_of(a.get());
  ASSERT_TRUE(peer);
  EXPECT_TRUE(peer->is_unix);
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_TRUE(may_use_socket(*peer));
  EXPECT_FALSE(may_use_socket(Peer{.is_unix = true, .uid = ::geteuid() + 12345}));
  EXPECT_TRUE(may_use_socket(Peer{.is_unix = true, .uid = 0}));
  EXPECT_FALSE(may_use_socket(Peer{}));
}

}  // namespace
}  // namespace caisson::http
