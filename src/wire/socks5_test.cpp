#include "wire/socks5.h"

#include <gtest/gtest.h>

#include "wire/samples.h"

namespace caisson {
namespace {

using samples::bytes_of;
using Bytes = std::vector<uint8_t>;

struct Greeted {
  SocksState state;
  SocksGreeting greeting;
  std::string why;
};
Greeted greet(const Bytes& bytes) {
  Greeted greeted;
  greeted.state = parse_socks_greeting(bytes, greeted.greeting, greeted.why);
  return greeted;
}

struct Requested {
  SocksState state;
  SocksRequest request;
  std::string why;
};
Requested request(const Bytes& bytes) {
  Requested requested;
  requested.state = parse_socks_request(bytes, requested.request, requested.why);
  return requested;
}
Requested request(std::string_view hex) { return request(bytes_of(hex)); }

TEST(Socks, CurlsGreetingOffersNoPassword) {
  Greeted greeted = greet(bytes_of(samples::kSocksGreeting));
  EXPECT_EQ(greeted.state, SocksState::kDone);
  EXPECT_EQ(greeted.greeting.size, 4u);
  EXPECT_TRUE(greeted.greeting.offers_none);
  EXPECT_FALSE(greeted.greeting.offers_password);
  EXPECT_EQ(greeted.greeting.choice(), SocksMethod::kNone);
}

TEST(Socks, AMethodIsChosenOutOfWhatIsOffered) {
  EXPECT_TRUE(greet(bytes_of(samples::kSocksPasswordGreeting)).greeting.offers_password);
  EXPECT_EQ(greet({5, 3, 1, 2, 0}).greeting.choice(), SocksMethod::kNone);
  EXPECT_EQ(greet({5, 2, 1, 2}).greeting.choice(), SocksMethod::kPassword);
  EXPECT_EQ(greet({5, 1, 1}).greeting.choice(), SocksMethod::kNoneAcceptable);
  EXPECT_EQ(greet({5, 0}).greeting.choice(), SocksMethod::kNoneAcceptable);
}

TEST(Socks, AGreetingOfAnotherVersionIsBadAtItsFirstByte) {
  EXPECT_EQ(greet({}).state, SocksState::kNeedMore);
  EXPECT_EQ(greet({4}).state, SocksState::kBad);
  EXPECT_EQ(greet({4}).why, "greeting that isn't SOCKS5");
  EXPECT_EQ(greet({5}).state, SocksState::kNeedMore);
  EXPECT_EQ(greet({5, 255}).state, SocksState::kNeedMore);
}

TEST(Socks, ALoginIsTakenAsItIs) {
  SocksLogin login;
  std::string why;
  Bytes bytes = bytes_of(samples::kSocksLogin);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(parse_socks_login(std::span(bytes).first(size), login, why), SocksState::kNeedMore);
  EXPECT_EQ(parse_socks_login(bytes, login, why), SocksState::kDone);
  EXPECT_EQ(login.user, "user");
  EXPECT_EQ(login.password, "secret");
  EXPECT_EQ(login.size, bytes.size());
  EXPECT_EQ(parse_socks_login(Bytes{1, 0, 0, 9}, login, why), SocksState::kDone);
  EXPECT_EQ(login.size, 3u);
  EXPECT_EQ(parse_socks_login(Bytes{5}, login, why), SocksState::kBad);
}

TEST(Socks, ADomainIsGivenAsSent) {
  Requested requested = request(samples::kSocksDomain);
  ASSERT_EQ(requested.state, SocksState::kDone) << requested.why;
  EXPECT_EQ(requested.request.domain, "www.example.com");
  EXPECT_FALSE(requested.request.address);
  EXPECT_EQ(requested.request.port, 8080);
  EXPECT_EQ(requested.request.size, 22u);
  // Whether this is a name is for the rules: nothing is cut at the NUL.
  EXPECT_EQ(request("05010003036100620050").request.domain, std::string("a\0b", 3));
}

TEST(Socks, AddressesAreTakenInBothKinds) {
  Requested four = request(samples::kSocksIpv4), six = request(samples::kSocksIpv6);
  ASSERT_EQ(four.state, SocksState::kDone);
  EXPECT_EQ(four.request.address, parse_ip("192.0.2.7"));
  EXPECT_EQ(four.request.port, 81);
  EXPECT_EQ(four.request.domain, "");
  ASSERT_EQ(six.state, SocksState::kDone);
  EXPECT_EQ(six.request.address, parse_ip("2001:db8::1"));
}

TEST(Socks, AnIpv4AddressInIpv6DressIsAnIpv4Address) {
  Requested requested = request("0501000400000000000000000000ffff7f0000010050");
  ASSERT_EQ(requested.state, SocksState::kDone);
  EXPECT_EQ(requested.request.address, parse_ip("127.0.0.1"));
  EXPECT_FALSE(requested.request.address->is_v6);
}

TEST(Socks, NoCutOfARequestIsARequestAndTheRestStays) {
  for (std::string_view hex : {samples::kSocksDomain, samples::kSocksIpv4, samples::kSocksIpv6}) {
    Bytes bytes = bytes_of(hex);
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_EQ(request(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))).state,
                SocksState::kNeedMore)
          << size;
    size_t whole = bytes.size();
    bytes.push_back(0x16);  // a client that doesn't wait
    EXPECT_EQ(request(bytes).state, SocksState::kDone);
    EXPECT_EQ(request(bytes).request.size, whole);
  }
}

TEST(Socks, BindAndUdpAreRefusedByTheirCodeOnceAllIsRead) {
  for (uint8_t command : {0, 2, 3, 255}) {
    Bytes bytes = bytes_of(samples::kSocksIpv4);
    bytes[1] = command;
    Requested requested = request(bytes);
    EXPECT_EQ(requested.state, SocksState::kBad);
    EXPECT_EQ(requested.request.refusal, SocksCode::kCommandNotSupported);
    bytes.pop_back();
    EXPECT_EQ(request(bytes).state, SocksState::kNeedMore);
  }
}

TEST(Socks, UnknownKindsOfAddressAreRefusedByTheirCode) {
  for (std::string_view hex : {"05010002", "05010000", "050100ff"}) {
    EXPECT_EQ(request(hex).state, SocksState::kBad) << hex;
    EXPECT_EQ(request(hex).request.refusal, SocksCode::kAddressNotSupported) << hex;
  }
}

TEST(Socks, WhatIsMalformedIsAFailure) {
  for (std::string_view hex : {"04", "050101", "05010003000050"}) {
    EXPECT_EQ(request(hex).state, SocksState::kBad) << hex;
    EXPECT_EQ(request(hex).request.refusal, SocksCode::kFailed) << hex;
    EXPECT_FALSE(request(hex).why.empty()) << hex;
  }
}

TEST(Socks, RepliesHaveTheBytesOfTheSpecification) {
  EXPECT_EQ(socks_method_reply(SocksMethod::kNone), (Bytes{5, 0}));
  EXPECT_EQ(socks_method_reply(SocksMethod::kNoneAcceptable), (Bytes{5, 0xff}));
  EXPECT_EQ(socks_login_reply(), (Bytes{1, 0}));
  EXPECT_EQ(socks_reply(SocksCode::kOk), (Bytes{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(socks_reply(SocksCode::kNotAllowed)[1], 2);
  EXPECT_EQ(socks_reply(SocksCode::kHostUnreachable)[1], 4);
  EXPECT_EQ(socks_reply(SocksCode::kRefused)[1], 5);
}

TEST(Socks, TheOlderVersionIsReadToItsEndAndRefusedInItsOwnWords) {
  auto read = [](std::string_view hex, SocksRequest& out) {
    std::string why;
    Bytes bytes = bytes_of(hex);
    return parse_socks4_request(bytes, out, why);
  };
  SocksRequest out;
  EXPECT_EQ(read("040100500a4d00027800", out), SocksState::kDone);  // 10.77.0.2:80, user "x"
  EXPECT_EQ(out.address, IpAddress::v4({10, 77, 0, 2}));
  EXPECT_EQ(out.port, 80);
  EXPECT_EQ(out.size, 10u);
  EXPECT_EQ(read("040101bb0000000100612e62007a", out), SocksState::kDone);  // 4a: a.b:443
  EXPECT_EQ(out.domain, "a.b");
  EXPECT_FALSE(out.address);
  EXPECT_EQ(out.size, 13u);
  for (std::string_view part :
       {"", "04", "040100500a4d0002", "040100500a4d000278", "040101bb0000000100612e62"})
    EXPECT_EQ(read(part, out), SocksState::kNeedMore) << part;
  EXPECT_EQ(read("05", out), SocksState::kBad);
  EXPECT_EQ(socks4_refusal(), (Bytes{0, 0x5b, 0, 0, 0, 0, 0, 0}));
}

TEST(Socks, ClientsHalfHasTheBytesOfTheSpecification) {
  EXPECT_EQ(socks_client_hello(), (Bytes{5, 1, 0}));
  Result<Host> name = parse_host("a.test"), v4 = parse_host("10.1.2.3"), v6 = parse_host("[::1]");
  EXPECT_EQ(socks_client_request({*name, 443}),
            (Bytes{5, 1, 0, 3, 6, 'a', '.', 't', 'e', 's', 't', 1, 187}));
  EXPECT_EQ(socks_client_request({*v4, 80}), (Bytes{5, 1, 0, 1, 10, 1, 2, 3, 0, 80}));
  EXPECT_EQ(socks_client_request({*v6, 80}).size(), 4u + 16 + 2);
  EXPECT_EQ(socks_bound_rest(1, 0), 5u);  // three more of the address, and the port
  EXPECT_EQ(socks_bound_rest(3, 4), 6u);  // a name of four
  EXPECT_EQ(socks_bound_rest(4, 0), 17u);
  EXPECT_EQ(socks_bound_rest(2, 0), std::nullopt);
}

}  // namespace
}  // namespace caisson
