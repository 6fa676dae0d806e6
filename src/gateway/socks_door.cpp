// SOCKS5 clients, and those of SOCKS4, who are turned away.
#include <array>
#include <vector>

#include "base/control.h"
#include "gateway/dial.h"
#include "gateway/doors.h"
#include "gateway/session.h"
#include "wire/socks5.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kSocksTime{60};
constexpr size_t kMaxMessage = 1024;

// Reads until `parse` has a whole message; what is behind it stays in `received`.
template <typename Message>
Task<bool> read_message(Stream& client, std::vector<uint8_t>& received, Message& message,
                        SocksState (*parse)(std::span<const uint8_t>, Message&, std::string&)) {
  std::string why;
  for (;;) {
    SocksState state = parse(received, message, why);
    if (state == SocksState::kBad) co_return false;
    if (state == SocksState::kDone) break;
    if (received.size() > kMaxMessage) co_return false;
    std::array<uint8_t, 512> chunk;
    Moved got = co_await client.read(chunk);
    if (got.error || got.ended()) co_return false;
    received.insert(received.end(), chunk.begin(),
                    chunk.begin() + static_cast<ptrdiff_t>(got.bytes));
  }
  received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>(message.size));
  co_return true;
}

Task<bool> send(Stream& client, std::vector<uint8_t> bytes) {
  co_return co_await client.write(std::span<const uint8_t>(bytes)) == 0;
}

Task<bool> greet(Stream& client, std::vector<uint8_t>& received) {
  SocksGreeting greeting;
  if (!co_await read_message(client, received, greeting, &parse_socks_greeting)) co_return false;
  SocksMethod method = greeting.choice();
  bool sent = co_await send(client, socks_method_reply(method));
  if (!sent || method == SocksMethod::kNoneAcceptable) co_return false;
  if (method != SocksMethod::kPassword) co_return true;
  SocksLogin login;
  if (!co_await read_message(client, received, login, &parse_socks_login)) co_return false;
  co_return co_await send(client, socks_login_reply());
}

SocksCode code_of(DialEnd end) {
  switch (end) {
    case DialEnd::kOk:
      return SocksCode::kOk;
    case DialEnd::kDenied:
      return SocksCode::kNotAllowed;
    case DialEnd::kNoName:
    case DialEnd::kNoAnswer:
      return SocksCode::kHostUnreachable;
    case DialEnd::kRefused:
      return SocksCode::kRefused;
    case DialEnd::kTimedOut:
      return SocksCode::kExpired;
    case DialEnd::kUnreachable:
      return SocksCode::kNetworkUnreachable;
  }
  return SocksCode::kFailed;
}

Result<Host> host_of(Core& core, const SocksRequest& request) {
  if (!request.address) return parse_host(request.domain);
  // A client may resolve names here and then name the address that it got.
  if (FakeAddresses::is_fake(*request.address))
    if (auto name = core.fakes.name_of(*request.address)) return Host{*name, std::nullopt};
  return Host::of(*request.address);
}

}  // namespace

// At once and in its own words: a client that hears nothing waits for its time to run out.
Task<> refuse_socks4(Core& core, Stream& client) {
  std::vector<uint8_t> received;
  SocksRequest request;
  Deadline deadline(core.deadlines, &client.socket());
  deadline.after(kSocksTime);
  bool whole = co_await read_message(client, received, request, &parse_socks4_request);
  if (whole) {
    Result<Host> host = host_of(core, request);
    Verdict verdict{false, "proxy protocol", "SOCKS4 isn't spoken here",
                    "speak SOCKS5 or HTTP to the same port: socks5h://127.0.0.1:3128"};
    core.deny(verdict, host.ok() ? host->text() : quoted(request.domain), request.port, "socks");
  }
  bool sent = co_await send(client, socks4_refusal());
  if (sent) co_await client.finish();
}

Task<> serve_socks(Core& core, Stream& client) {
  std::vector<uint8_t> received;
  SocksRequest request;
  {
    Deadline deadline(core.deadlines, &client.socket());
    deadline.after(kSocksTime);
    if (!co_await greet(client, received)) co_return;
    if (!co_await read_message(client, received, request, &parse_socks_request)) {
      co_await send(client, socks_reply(request.refusal));
      co_return;
    }
  }
  Result<Host> host = host_of(core, request);
  if (!host.ok()) {
    co_await send(client, socks_reply(SocksCode::kNotAllowed));
    co_return;
  }
  HostPort where{*host, request.port};
  Verdict verdict = core.rules.connect(where.host, where.port);
  if (!control_enabled("gateway-socks")) verdict.allowed = true;
  Dialed dialed{.end = DialEnd::kDenied, .verdict = verdict};
  if (verdict.allowed) dialed = co_await dial(core, where, Came::kBySocks);
  if (dialed.end == DialEnd::kDenied) core.deny(dialed.verdict, where, "socks");
  bool sent = co_await send(client, socks_reply(code_of(dialed.end)));
  if (!sent || dialed.end != DialEnd::kOk) co_return;
  client.unread({reinterpret_cast<const char*>(received.data()), received.size()});
  co_await serve_connected(core, client, std::move(dialed.stream), where);
}

}  // namespace caisson
