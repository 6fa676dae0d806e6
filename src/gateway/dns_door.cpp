// The cell's resolver: allowed names get an address that stands for them, at once and without a
// question to anybody; everything else is refused. So a name that isn't allowed carries nothing
// out.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/control.h"
#include "gateway/doors.h"
#include "gateway/endpoint.h"
#include "wire/dns_message.h"
#include "wire/dns_records.h"

namespace caisson {
namespace {

constexpr uint32_t kTtl = 60;
constexpr std::chrono::seconds kTcpTime{30};
constexpr int kQuestionBurst = 64;
constexpr int kMaxForwarded = 64;  // questions on their way to the host's servers

struct DnsAnswer {
  DnsCode code = DnsCode::kRefused;
  std::vector<DnsRecord> records;
};

bool is_forwarded(const Core& core, uint16_t type) {
  std::string_view name = type == kDnsTypeSrv ? "SRV" : type == kDnsTypeTxt ? "TXT" : "";
  return !name.empty() && std::ranges::count(core.config.dns_types, name) > 0;
}

// What can be answered from here; nullopt: the host's servers must be asked.
std::optional<DnsAnswer> answer_here(Core& core, const DnsQuestion& question) {
  if (question.klass != kDnsClassIn) return DnsAnswer{};
  Result<Host> host = parse_host(question.name);
  if (!host.ok() || host->is_address()) return DnsAnswer{};
  Verdict verdict = core.rules.resolve(*host);
  if (!control_enabled("gateway-look-ups")) verdict.allowed = true;
  if (!verdict.allowed) {
    core.deny(verdict, host->text(), 0, "dns");
    return DnsAnswer{};
  }
  if (is_forwarded(core, question.type)) return std::nullopt;
  DnsAnswer answer{.code = DnsCode::kOk};
  if (question.type != kDnsTypeA && question.type != kDnsTypeAaaa) return answer;  // none of these
  std::optional<FakeAddresses::Pair> pair = core.fakes.address_of(host->name);
  if (!pair) return DnsAnswer{.code = DnsCode::kFailed};
  answer.records.push_back(address_record(question.type == kDnsTypeA ? pair->v4 : pair->v6, kTtl));
  return answer;
}

Task<DnsAnswer> answer_for(Core& core, const DnsQuestion& question) {
  if (auto here = answer_here(core, question)) co_return std::move(*here);
  DnsAnswer answer;
  Result<Host> host = parse_host(question.name);
  DnsReply reply = co_await core.resolver.records(host->name, question.type);
  answer.code = reply.code;
  answer.records = std::move(reply.records);
  for (DnsRecord& record : answer.records) record.ttl = std::min(record.ttl, kTtl);
  co_return answer;
}

struct Client {
  sockaddr_storage address{};
  socklen_t size = 0;
};

void reply(int fd, const Client& client, std::span<const uint8_t> packet) {
  if (packet.empty()) return;
  // A datagram that doesn't fit is lost, as datagrams are: the client asks again.
  sendto(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&client.address), client.size);
}

struct Forwarding {
  int running = 0;
};

Task<> forward_question(Core& core, Socket& socket, Client client, DnsQuestion question,
                        Forwarding& forwarding) {
  DnsAnswer answer = co_await answer_for(core, question);
  reply(socket.fd(), client, dns_answer(question, answer.code, answer.records, question.udp_size));
  --forwarding.running;
}

void serve_datagram(Core& core, Socket& socket, const Client& client,
                    std::span<const uint8_t> packet, Forwarding& forwarding) {
  Result<DnsQuestion> question = parse_dns_query(packet);
  if (!question.ok()) return reply(socket.fd(), client, dns_error(packet));
  if (auto answer = answer_here(core, *question)) {
    return reply(socket.fd(), client,
                 dns_answer(*question, answer->code, answer->records, question->udp_size));
  }
  if (forwarding.running >= kMaxForwarded)
    return reply(socket.fd(), client, dns_answer(*question, DnsCode::kFailed, {}, kMinDnsUdp));
  ++forwarding.running;
  spawn(core.loop, forward_question(core, socket, client, std::move(*question), forwarding));
}

}  // namespace

Task<> serve_dns_udp(Core& core, Socket socket) {
  Forwarding forwarding;
  std::array<uint8_t, kMaxDnsQuery> packet;
  for (int burst = 0;;) {
    Client client;
    client.size = sizeof client.address;
    ssize_t got = recvfrom(socket.fd(), packet.data(), packet.size(), MSG_DONTWAIT,
                           reinterpret_cast<sockaddr*>(&client.address), &client.size);
    if (got >= 0) {
      serve_datagram(core, socket, client, std::span<const uint8_t>(packet).first(got), forwarding);
      if (++burst < kQuestionBurst) continue;
    } else if (errno != EAGAIN) {
      // An ICMP error about an earlier answer: nothing to do with the next question.
      if (++burst < kQuestionBurst) continue;
    }
    burst = 0;
    if (co_await socket.readable() != 0) co_return;
  }
}

Task<> serve_dns_tcp(Core& core, Socket socket) {
  PlainStream client(std::move(socket));
  Deadline deadline(core.deadlines, &client.socket());
  std::vector<uint8_t> received;
  std::array<uint8_t, 1024> chunk;
  for (;;) {
    deadline.after(kTcpTime);
    auto frame = parse_dns_tcp_frame(received);
    if (!frame.ok()) co_return;
    if (!*frame) {
      Moved got = co_await client.read(chunk);
      if (got.error || got.ended()) co_return;
      received.insert(received.end(), chunk.begin(),
                      chunk.begin() + static_cast<ptrdiff_t>(got.bytes));
      continue;
    }
    std::span<const uint8_t> packet = (*frame)->message;
    Result<DnsQuestion> question = parse_dns_query(packet);
    std::vector<uint8_t> message = dns_error(packet);
    if (question.ok()) {
      DnsAnswer answer = co_await answer_for(core, *question);
      message = dns_answer(*question, answer.code, answer.records, kMaxDnsMessage);
    }
    received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>((*frame)->used));
    std::vector<uint8_t> out = dns_tcp_frame(message);
    if (message.empty() || co_await client.write(std::span<const uint8_t>(out)) != 0) co_return;
  }
}

}  // namespace caisson
