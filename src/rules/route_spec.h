// How connections that the rules allow are made and read: through whom, and whose TLS is ended.
// Whatever stands here, the rules come first: it never lets a cell reach more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

// The proxy that the host has to go through, in place of the one that its environment names.
struct ParentProxy {
  std::string http, https;  // "http://user:password@proxy.example:3128"; "": none
  std::string no_proxy;     // as in NO_PROXY
  bool operator==(const ParentProxy&) const = default;
};

// A proxy of somebody else's, which reads what goes to these hosts. The supervisor connects to its
// socket and hands the connection over: the gateway has no files.
struct MitmProxy {
  std::string socket_path;
  std::vector<std::string> domains;  // patterns, as in an allow rule
  bool operator==(const MitmProxy&) const = default;
};

// TLS is ended for every allowed host but those named.
struct TlsEnding {
  // The authority that the cell trusts; both or neither. None: one is made for this cell alone.
  std::string certificate_path, key_path;
  std::vector<std::string> exclude;         // patterns, as in an allow rule
  std::vector<std::string> extra_ca_paths;  // more authorities: for the gateway and for the cell
  uint32_t max_tunnels = 256;               // connections whose TLS is ended, at once
  uint32_t handshake_ms = 10'000;           // for the cell's side of it
  bool operator==(const TlsEnding&) const = default;
};

}  // namespace caisson
