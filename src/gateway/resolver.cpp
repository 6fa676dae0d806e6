#include "gateway/resolver.h"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/dns_exchange.h"

namespace caisson {
namespace {

constexpr uint16_t kDnsPort = 53;
constexpr std::chrono::seconds kOneServer{2};  // before the next is asked
constexpr uint32_t kMinTtl = 1, kMaxTtl = 60;
constexpr size_t kMaxAddresses = 16;

std::vector<IpAddress> addresses_in(const DnsReply& reply) {
  std::vector<IpAddress> list;
  for (const DnsRecord& record : reply.records) {
    if (list.size() == kMaxAddresses) break;
    if (record.type == kDnsTypeA && record.data.size() == 4) {
      std::array<uint8_t, 4> quad;
      std::copy_n(record.data.begin(), 4, quad.begin());
      list.push_back(IpAddress::v4(quad));
    } else if (record.type == kDnsTypeAaaa && record.data.size() == 16) {
      std::array<uint8_t, 16> bytes;
      std::copy_n(record.data.begin(), 16, bytes.begin());
      list.push_back(IpAddress::v6(bytes));
    }
  }
  return list;
}

uint32_t ttl_of(const DnsReply& reply) {
  uint32_t ttl = reply.records.empty() ? kMinTtl : kMaxTtl;
  for (const DnsRecord& record : reply.records) ttl = std::min(ttl, record.ttl);
  return std::max(ttl, kMinTtl);
}

}  // namespace

Resolver::Resolver(Loop& loop, Deadlines& deadlines, std::string resolv_conf,
                   std::string hosts_file)
    : loop_(loop),
      deadlines_(deadlines),
      resolv_conf_(std::move(resolv_conf)),
      hosts_file_(std::move(hosts_file)) {}

void Resolver::read_texts() {
  if (texts_read_) return;
  texts_read_ = true;
  conf_ = parse_resolv_conf(resolv_conf_);
  hosts_ = parse_hosts(hosts_file_);
  // RFC 6761: never a question to a server, whatever the file has.
  hosts_.try_emplace("localhost", std::vector<IpAddress>{kLoopback4, kLoopback6});
  hosts_file_ = {};
}

const DnsReply* Resolver::cached(const std::string& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  if (found->second->until <= Clock::now()) {
    recent_.erase(found->second);
    by_key_.erase(found);
    return nullptr;
  }
  return &found->second->reply;
}

void Resolver::keep(std::string key, const DnsReply& reply) {
  if (reply.code == DnsCode::kFailed || by_key_.contains(key)) return;
  if (recent_.size() >= kMaxCached) {
    by_key_.erase(recent_.back().key);
    recent_.pop_back();
  }
  recent_.push_front({key, Clock::now() + std::chrono::seconds(ttl_of(reply)), reply});
  by_key_.emplace(std::move(key), recent_.begin());
}

Task<DnsReply> Resolver::ask_servers(const std::string& name, uint16_t type) {
  read_texts();
  Clock::time_point give_up = Clock::now() + kPatience;
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < conf_.servers.size(); ++i) {
      if (Clock::now() >= give_up) co_return DnsReply{};
      Endpoint server{conf_.servers[i], kDnsPort};
      auto reply = co_await ask_dns_server(loop_, deadlines_, server, name, type, kOneServer);
      if (reply) co_return *reply;
    }
  }
  co_return DnsReply{};
}

Task<DnsReply> Resolver::records(std::string name, uint16_t type) {
  std::string key = fmt::format("{}/{}", type, name);
  if (const DnsReply* known = cached(key)) co_return *known;
  DnsReply reply = co_await ask_servers(name, type);
  keep(std::move(key), reply);
  co_return reply;
}

Task<Resolver::Addresses> Resolver::addresses(std::string name, Family family) {
  read_texts();
  Addresses result;
  if (auto found = hosts_.find(name); found != hosts_.end()) {
    for (const IpAddress& address : found->second)
      if (address.is_v6 == (family == Family::kV6)) result.list.push_back(address);
    result.code = DnsCode::kOk;
    co_return result;
  }
  std::vector<std::string> tries;
  if (name.find('.') == name.npos)
    for (const std::string& domain : conf_.search) tries.push_back(name + "." + domain);
  tries.push_back(name);
  uint16_t type = family == Family::kV4 ? kDnsTypeA : kDnsTypeAaaa;
  for (const std::string& full : tries) {
    DnsReply reply = co_await records(full, type);
    result = {reply.code, addresses_in(reply)};
    if (!result.list.empty() || reply.code == DnsCode::kFailed) break;
  }
  co_return result;
}

}  // namespace caisson
