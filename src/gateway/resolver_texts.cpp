#include "gateway/resolver_texts.h"

#include "base/text.h"

namespace caisson {
namespace {

constexpr size_t kMaxServers = 3, kMaxSearch = 6;  // as glibc has it
constexpr size_t kMaxHostsEntries = 1'000'000;

std::vector<std::string_view> words(std::string_view line, std::string_view comments) {
  line = line.substr(0, line.find_first_of(comments));
  std::vector<std::string_view> found;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != line.npos) {
    size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    found.push_back(line.substr(at, end - at));
    at = end;
  }
  return found;
}

void take_search(std::vector<std::string>& search, const std::vector<std::string_view>& line) {
  search.clear();  // the last line counts
  for (size_t i = 1; i < line.size() && search.size() < kMaxSearch; ++i) {
    Result<Host> host = parse_host(line[i]);
    if (host.ok() && !host->is_address()) search.push_back(host->name);
  }
}

}  // namespace

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf conf;
  for (std::string_view raw : split(text, '\n')) {
    std::vector<std::string_view> line = words(raw, "#;");
    if (line.size() < 2) continue;
    if (line[0] == "nameserver" && conf.servers.size() < kMaxServers) {
      if (auto address = parse_ip(line[1])) conf.servers.push_back(*address);
    } else if (line[0] == "search" || line[0] == "domain") {
      take_search(conf.search, line);
    }
  }
  if (conf.servers.empty()) conf.servers.push_back(IpAddress::v4({127, 0, 0, 1}));
  return conf;
}

HostsTable parse_hosts(std::string_view text) {
  HostsTable table;
  size_t entries = 0;
  for (std::string_view raw : split(text, '\n')) {
    std::vector<std::string_view> line = words(raw, "#");
    if (line.size() < 2) continue;
    std::optional<IpAddress> address = parse_ip(line[0]);
    if (!address) continue;
    for (size_t i = 1; i < line.size(); ++i) {
      if (++entries > kMaxHostsEntries) return table;
      Result<Host> host = parse_host(line[i]);
      if (host.ok() && !host->is_address()) table[host->name].push_back(*address);
    }
  }
  return table;
}

}  // namespace caisson
