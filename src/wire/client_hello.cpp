#include "wire/client_hello.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include <fmt/format.h>

#include "wire/byte_reader.h"

namespace caisson {

namespace {

constexpr uint8_t kHandshake = 22, kClientHello = 1, kMajorVersion = 3;
constexpr size_t kRecordHeader = 5, kMessageHeader = 4;
constexpr size_t kMaxRecord = 1 << 14;
constexpr size_t kMaxServerName = 255, kMaxSessionId = 32;

enum Extension : uint16_t {
  kServerName = 0,
  kAlpn = 16,
  kEarlyData = 42,
  kEncryptedClientHello = 0xfe0d,
  kOldEsni = 0xffce,
};

// "" while all is well.
using Complaint = std::string;

// Exactly one host_name (RFC 6066 3). Servers differ in which of two they would take.
Complaint read_server_name(ByteReader extension, ClientHello& out) {
  ByteReader list = extension.part(extension.u16());
  uint8_t kind = list.u8();
  size_t size = list.u16();
  out.server_name = list.text(size);
  bool good = extension.whole() && list.whole() && kind == 0 && size > 0 && size <= kMaxServerName;
  return good ? "" : "server_name that isn't one host name";
}

Complaint read_alpn(ByteReader extension, ClientHello& out) {
  ByteReader list = extension.part(extension.u16());
  if (!extension.whole() || list.left() == 0) return "broken list of protocols (ALPN)";
  while (list.left() > 0) {
    out.alpn.push_back(list.text(list.u8()));
    if (out.alpn.back().empty()) return "broken protocol name (ALPN)";
  }
  return "";
}

Complaint read_extension(uint16_t type, ByteReader body, ClientHello& out) {
  switch (type) {
    case kServerName:
      return read_server_name(body, out);
    case kAlpn:
      return read_alpn(body, out);
    case kEarlyData:
      out.has_early_data = true;
      return body.left() == 0 ? "" : "early_data that isn't empty";
    case kEncryptedClientHello:
    case kOldEsni:
      out.has_ech = true;
      return "";
    default:  // GREASE (RFC 8701) among it
      return "";
  }
}

Complaint read_extensions(ByteReader reader, ClientHello& out) {
  std::bitset<65536> seen;
  while (reader.left() > 0) {
    uint16_t type = reader.u16();
    ByteReader body = reader.part(reader.u16());
    if (!reader.good()) return "extension that is cut short";
    // RFC 8446 4.2 forbids it, and who takes the first where we take the last meets another host.
    if (seen[type]) return fmt::format("extension {} twice", type);
    seen.set(type);
    if (Complaint complaint = read_extension(type, body, out); !complaint.empty()) return complaint;
  }
  return "";
}

Complaint read_body(ByteReader reader, ClientHello& out) {
  uint8_t major = reader.u8();
  reader.u8();  // 1.3 hides behind 1.2 here
  reader.take(32);
  size_t session_id = reader.u8();
  reader.take(session_id);
  size_t suites = reader.u16();
  reader.take(suites);
  size_t compressions = reader.u8();
  reader.take(compressions);
  if (!reader.good() || major != kMajorVersion || session_id > kMaxSessionId || suites == 0 ||
      suites % 2 != 0 || compressions == 0)
    return "broken ClientHello";
  if (reader.left() == 0) return "";  // before extensions there were none
  ByteReader extensions = reader.part(reader.u16());
  if (!reader.whole()) return "extensions that don't fill the ClientHello";
  return read_extensions(extensions, out);
}

// The header that SSL 2.0 began with, which also carried a hello for later versions: no extensions.
HelloState judge_old(std::span<const uint8_t> bytes, std::string& why) {
  if (!(bytes[0] & 0x80)) return HelloState::kNotTls;
  if (bytes.size() > 2 && bytes[2] != kClientHello) return HelloState::kNotTls;
  if (bytes.size() > 3 && bytes[3] != kMajorVersion && bytes[3] != 0) return HelloState::kNotTls;
  if (bytes.size() < 5) return HelloState::kNeedMore;
  if (bytes[3] == 0 && bytes[4] != 2) return HelloState::kNotTls;
  why = "hello of SSL 2.0, which names no host";
  return HelloState::kBad;
}

struct Handshake {
  std::vector<uint8_t> bytes;  // what the records carry, without their headers
  Complaint complaint;

  bool has_size() const { return bytes.size() >= kMessageHeader; }
  size_t size() const { return ByteReader(std::span(bytes).subspan(1)).u24(); }
  bool whole() const { return has_size() && bytes.size() - kMessageHeader >= size(); }
};

// The size that a record's header promises; complains at the first byte that can't be right.
size_t read_record_header(ByteReader& reader, Complaint& complaint) {
  std::span<const uint8_t> header = reader.take(std::min(reader.left(), kRecordHeader));
  if (header[0] != kHandshake) complaint = "another record within the ClientHello";
  if (header.size() > 1 && header[1] != kMajorVersion) complaint = "record of an unknown version";
  if (header.size() < kRecordHeader) return 0;
  size_t size = static_cast<size_t>(header[3]) << 8 | header[4];
  // RFC 8446 5.1 forbids empty ones; without end they would keep us busy.
  if (size == 0 || size > kMaxRecord) complaint = "record of a wrong size";
  return size;
}

// A client may cut its hello into records as it likes, between any two bytes. What is behind it
// (early data, a change of cipher) is left alone.
Handshake join_records(std::span<const uint8_t> so_far) {
  Handshake joined;
  ByteReader reader(so_far);
  while (reader.left() > 0 && !joined.whole()) {
    size_t size = read_record_header(reader, joined.complaint);
    if (!joined.complaint.empty()) break;
    std::span<const uint8_t> part = reader.take(std::min(size, reader.left()));
    joined.bytes.insert(joined.bytes.end(), part.begin(), part.end());
    if (!joined.bytes.empty() && joined.bytes[0] != kClientHello)
      joined.complaint = "handshake that doesn't begin with a ClientHello";
    else if (joined.has_size() && joined.size() > kMaxClientHello)
      joined.complaint = "ClientHello that is too long";
    if (!joined.complaint.empty()) break;
  }
  return joined;
}

}  // namespace

HelloState parse_client_hello(std::span<const uint8_t> so_far, ClientHello& out, std::string& why) {
  out = {};
  why.clear();
  if (so_far.empty()) return HelloState::kNeedMore;
  if (so_far[0] != kHandshake) return judge_old(so_far, why);
  Handshake joined = join_records(so_far.first(std::min(so_far.size(), kMaxClientHello)));
  why = joined.complaint;
  if (why.empty() && !joined.whole()) {
    if (so_far.size() < kMaxClientHello) return HelloState::kNeedMore;
    why = "ClientHello that is too long";
  }
  if (why.empty()) {
    auto body = std::span(std::as_const(joined.bytes)).subspan(kMessageHeader, joined.size());
    why = read_body(ByteReader(body), out);
  }
  return why.empty() ? HelloState::kDone : HelloState::kBad;
}

}  // namespace caisson
