#include "gateway/dns_exchange.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "wire/dns_name.h"
#include "wire/dns_records.h"

namespace caisson {
namespace {

constexpr uint8_t kTruncated = 0x02, kIsAnswer = 0x80, kCodeMask = 0x0f;
constexpr int kMaxStrays = 16;  // datagrams that aren't our answer

std::vector<uint8_t> query_packet(const DnsQuestion& question) {
  std::vector<uint8_t> packet;
  auto u16 = [&](unsigned value) {
    packet.push_back(static_cast<uint8_t>(value >> 8));
    packet.push_back(static_cast<uint8_t>(value));
  };
  u16(question.id);
  for (unsigned value : {0x0100u /* recursion desired */, 1u, 0u, 0u, 1u}) u16(value);
  if (!append_name(packet, question.name)) return {};
  u16(question.type);
  u16(kDnsClassIn);
  packet.push_back(0);  // EDNS (RFC 6891): answers up to kMaxDnsUdp by datagram
  for (unsigned value : {41u, unsigned{kMaxDnsUdp}, 0u, 0u, 0u}) u16(value);
  return packet;
}

bool is_answer_to(std::span<const uint8_t> packet, const DnsQuestion& question) {
  return packet.size() >= 12 && packet[0] == question.id >> 8 &&
         packet[1] == (question.id & 0xff) && (packet[2] & kIsAnswer);
}

std::optional<DnsReply> read_reply(std::span<const uint8_t> packet, const DnsQuestion& question) {
  DnsReply reply;
  reply.code = static_cast<DnsCode>(packet[3] & kCodeMask);
  if (reply.code == DnsCode::kNoName) return reply;
  if (reply.code != DnsCode::kOk) return std::nullopt;  // this server can't; another may
  Result<std::vector<DnsRecord>> records = parse_dns_records(packet, question);
  if (!records.ok()) return std::nullopt;
  reply.records = std::move(records).value();
  return reply;
}

Task<std::optional<DnsReply>> ask_by_tcp(Loop& loop, Deadlines& deadlines, Endpoint server,
                                         const DnsQuestion& question, std::chrono::seconds time) {
  Connected connected = co_await connect_tcp(loop, deadlines, server, time);
  if (!connected.socket) co_return std::nullopt;
  PlainStream stream(std::move(*connected.socket));
  Deadline deadline(deadlines, &stream.socket());
  deadline.after(time);
  std::vector<uint8_t> query = dns_tcp_frame(query_packet(question));
  if (co_await stream.write(std::span<const uint8_t>(query)) != 0) co_return std::nullopt;
  std::vector<uint8_t> received;
  std::array<uint8_t, 2048> chunk;
  for (;;) {
    Moved got = co_await stream.read(chunk);
    if (got.error || got.ended()) co_return std::nullopt;
    received.insert(received.end(), chunk.begin(),
                    chunk.begin() + static_cast<ptrdiff_t>(got.bytes));
    if (received.size() < 2) continue;
    size_t size = static_cast<size_t>(received[0] << 8 | received[1]);
    if (received.size() < 2 + size) continue;
    std::span<const uint8_t> packet = std::span<const uint8_t>(received).subspan(2, size);
    if (!is_answer_to(packet, question)) co_return std::nullopt;
    co_return read_reply(packet, question);
  }
}

std::optional<UniqueFd> open_udp(const Endpoint& server) {
  int family = server.address.is_v6 ? AF_INET6 : AF_INET;
  UniqueFd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  SocketAddress address = to_kernel(server);
  // Connected: the kernel drops datagrams of anybody else, and tells when the port is closed.
  if (!fd || ::connect(fd.get(), address.get(), address.size) != 0) return std::nullopt;
  return fd;
}

}  // namespace

Task<std::optional<DnsReply>> ask_dns_server(Loop& loop, Deadlines& deadlines, Endpoint server,
                                             std::string name, uint16_t type,
                                             std::chrono::seconds time) {
  DnsQuestion question;
  question.name = std::move(name);
  question.type = type;
  if (getrandom(&question.id, sizeof question.id, 0) != sizeof question.id) co_return std::nullopt;
  std::vector<uint8_t> query = query_packet(question);
  std::optional<UniqueFd> fd = open_udp(server);
  if (query.empty() || !fd) co_return std::nullopt;
  Socket socket(loop, std::move(*fd));
  Deadline deadline(deadlines, &socket);
  deadline.after(time);
  if (socket.try_write(query).error) co_return std::nullopt;

  std::array<uint8_t, 4096> packet;
  for (int strays = 0; strays < kMaxStrays;) {
    Moved got = socket.try_read(packet);
    if (got.would_block()) {
      // An aborted datagram socket is readable and has nothing to read.
      if (co_await socket.readable() != 0 || deadline.passed()) co_return std::nullopt;
      continue;
    }
    if (got.error || deadline.passed()) co_return std::nullopt;
    std::span<const uint8_t> answer = std::span<const uint8_t>(packet).first(got.bytes);
    if (!is_answer_to(answer, question)) {
      ++strays;
      continue;
    }
    if (answer[2] & kTruncated)
      co_return co_await ask_by_tcp(loop, deadlines, server, question, time);
    co_return read_reply(answer, question);
  }
  co_return std::nullopt;
}

}  // namespace caisson
