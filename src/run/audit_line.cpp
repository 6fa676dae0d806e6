#include "run/audit_line.h"

#include <charconv>

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/sha256.h"

namespace caisson {

namespace {

constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr size_t kHashSize = 64;
constexpr size_t kTimeSize = 24;
constexpr size_t kDeepestLine = 32;

bool is_hash(std::string_view text) {
  return text.size() == kHashSize &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Takes the pieces of a line off its front.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  bool literal(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool number(uint64_t& value) {
    auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    size_t digits = end - rest_.data();
    bool padded = digits > 1 && rest_[0] == '0';  // one value, one spelling
    if (problem != std::errc() || padded) return false;
    rest_.remove_prefix(digits);
    return true;
  }
  bool text(size_t size, std::string& value) {
    if (rest_.size() < size) return false;
    value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

Error not_an_entry(const char* why) { return Error::plain(fmt::format("not an entry: {}", why)); }

bool plain_time(std::string_view time) {
  return time.find_first_not_of("0123456789-:.TZ") == std::string_view::npos;
}

Result<boost::json::object> parse_event(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDeepestLine;
  boost::json::error_code problem;
  boost::json::value value = boost::json::parse({text.data(), text.size()}, problem, {}, options);
  if (problem) return not_an_entry("the event is no JSON");
  if (!value.is_object()) return not_an_entry("the event is no object");
  return std::move(value.get_object());
}

// The line split at its trailer; nothing if it has none.
struct Halves {
  std::string_view hashed, hash;
};
std::optional<Halves> split_trailer(std::string_view line) {
  if (line.size() < kAuditTrailer - 1) return {};
  size_t at = line.size() - (kAuditTrailer - 1);
  std::string_view trailer = line.substr(at);
  std::string_view hash = trailer.substr(kHashKey.size(), kHashSize);
  if (!trailer.starts_with(kHashKey) || !trailer.ends_with("\"}") || !is_hash(hash)) return {};
  return Halves{line.substr(0, at), hash};
}

}  // namespace

std::string make_audit_line(AuditHead& head, std::string_view time, std::string_view event_json) {
  std::string line;
  line.reserve(event_json.size() + 256);
  line += "{\"seq\":";
  line += fmt::format_int(head.seq + 1).str();
  line += ",\"time\":\"";
  line += time;
  line += "\",\"prev\":\"";
  line += head.hash;
  line += "\",\"event\":";
  line += event_json;
  std::string hash = sha256_hex(line);
  line += kHashKey;
  line += hash;
  line += "\"}\n";
  head = {head.seq + 1, std::move(hash), head.end + line.size()};
  return line;
}

Result<AuditEntry> parse_audit_line(std::string_view line) {
  if (line.size() >= kMaxAuditLine) return not_an_entry("too long");
  std::optional<Halves> halves = split_trailer(line);
  if (!halves) return not_an_entry("no hash at its end");
  AuditEntry entry;
  entry.hash = halves->hash;
  Pieces pieces(halves->hashed);
  if (!pieces.literal("{\"seq\":") || !pieces.number(entry.seq)) return not_an_entry("no number");
  if (!pieces.literal(",\"time\":\"") || !pieces.text(kTimeSize, entry.time) ||
      !plain_time(entry.time))
    return not_an_entry("no time");
  if (!pieces.literal("\",\"prev\":\"") || !pieces.text(kHashSize, entry.prev) ||
      !is_hash(entry.prev))
    return not_an_entry("no hash of the entry before");
  if (!pieces.literal("\",\"event\":")) return not_an_entry("no event");
  entry.event = TRY(parse_event(pieces.rest()));
  return entry;
}

bool audit_hash_holds(std::string_view line) {
  std::optional<Halves> halves = split_trailer(line);
  return halves && sha256_hex(halves->hashed) == halves->hash;
}

std::string_view hash_in_trailer(std::string_view text) {
  if (!text.ends_with('\n')) return {};
  text.remove_suffix(1);
  std::optional<Halves> halves = split_trailer(text);
  return halves ? halves->hash : std::string_view();
}

std::string format_audit_head(const AuditHead& head) {
  std::string text =
      fmt::format("{{\"seq\":{},\"hash\":\"{}\",\"end\":{}}}", head.seq, head.hash, head.end);
  text.resize(kAuditHeadSize - 1, ' ');
  return text + '\n';
}

std::optional<AuditHead> parse_audit_head(std::string_view text) {
  AuditHead head;
  Pieces pieces(text);
  bool read = text.size() == kAuditHeadSize && pieces.literal("{\"seq\":") &&
              pieces.number(head.seq) && pieces.literal(",\"hash\":\"") &&
              pieces.text(kHashSize, head.hash) && is_hash(head.hash) &&
              pieces.literal("\",\"end\":") && pieces.number(head.end) && pieces.literal("}");
  if (!read || pieces.rest().find_first_not_of(" \n") != std::string_view::npos) return {};
  return head;
}

}  // namespace caisson
