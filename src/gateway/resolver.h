// The gateway's own resolver: asks the host's DNS servers, after the host's file of names.
//
// Small on purpose: one question, one fresh UDP socket (the kernel picks its port at random), an id
// from getrandom(2), TCP when the answer was cut. It opens no file, so it works in a process that
// has none; the library that would be taken otherwise reads /dev/urandom and falls back to rand().
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/deadlines.h"
#include "gateway/endpoint.h"
#include "gateway/resolver_texts.h"
#include "wire/dns_message.h"

namespace caisson {

struct DnsReply {
  DnsCode code = DnsCode::kFailed;  // kFailed also when nobody answered
  std::vector<DnsRecord> records;
};

class Resolver {
 public:
  static constexpr size_t kMaxCached = 1024;
  static constexpr std::chrono::seconds kPatience{5};  // for one name of one type, in all

  Resolver(Loop& loop, Deadlines& deadlines, std::string resolv_conf, std::string hosts_file);

  // Of one family. Empty: there are none (kOk, kNoName), or nobody could say (kFailed).
  struct Addresses {
    DnsCode code = DnsCode::kFailed;
    std::vector<IpAddress> list;
  };
  enum class Family { kV4, kV6 };
  Task<Addresses> addresses(std::string name, Family family);

  // Records of one type for a name as it stands: no hosts file, no search list.
  Task<DnsReply> records(std::string name, uint16_t type);

 private:
  struct Cached {
    std::string key;
    Clock::time_point until;
    DnsReply reply;
  };
  void read_texts();
  const DnsReply* cached(const std::string& key);
  void keep(std::string key, const DnsReply& reply);
  Task<DnsReply> ask_servers(const std::string& name, uint16_t type);

  Loop& loop_;
  Deadlines& deadlines_;
  std::string resolv_conf_, hosts_file_;
  bool texts_read_ = false;  // at the first name: a gateway that resolves nothing parses nothing
  ResolvConf conf_;
  HostsTable hosts_;
  std::list<Cached> recent_;
  std::unordered_map<std::string, std::list<Cached>::iterator> by_key_;
};

}  // namespace caisson
