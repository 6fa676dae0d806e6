// Records of DNS answers: made for a cell, and read out of what an upstream server sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rules/host.h"
#include "wire/dns_message.h"

namespace caisson {

struct DnsService {
  uint16_t priority = 0, weight = 0, port = 0;
  std::string target;  // dots between labels, none at the end
  bool operator==(const DnsService&) const = default;
};

DnsRecord address_record(const IpAddress& address, uint32_t ttl);  // A or AAAA
// One or more texts of at most 255 bytes each.
Result<DnsRecord> text_record(std::span<const std::string> texts, uint32_t ttl);
Result<DnsRecord> service_record(const DnsService& service, uint32_t ttl);

// Out of a record of these types, such as parse_dns_records gives.
Result<DnsService> parse_service(const DnsRecord& record);
Result<std::vector<std::string>> parse_texts(const DnsRecord& record);

// The records that answer the question (A, AAAA, TXT, SRV; class IN), through CNAMEs if need be,
// with names in them written out. Whose answer it is by id and address, the asker has checked; that
// it is for this name and type is checked here. An answer with another code than "ok" is an error.
Result<std::vector<DnsRecord>> parse_dns_records(std::span<const uint8_t> packet,
                                                 const DnsQuestion& question);

}  // namespace caisson
