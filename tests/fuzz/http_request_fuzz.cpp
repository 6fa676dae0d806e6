// Requests to `caisson serve`: a head, and a body behind it by its length or in chunks. What is
// accepted holds nothing that another reader could take for a second request, and the same bytes
// give the same body however they come in.
#include <algorithm>
#include <cstdint>

#include "http/chunks.h"
#include "http/head.h"
#include "require.h"

namespace caisson::http {
namespace {

constexpr uint64_t kLimit = 4096;  // of a body; small, so that the fuzzer reaches it

bool is_plain(std::string_view text) {
  return std::ranges::none_of(text,
                              [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

void check_request(const Request& request) {
  REQUIRE(request.fields.size() <= kMaxFields && request.segments.size() <= kMaxSegments);
  for (const Field& field : request.fields) {
    REQUIRE(!field.name.empty() && field.name.find_first_of(": \t") == std::string::npos);
    REQUIRE(is_plain(field.name) && is_plain(field.value));
  }
  REQUIRE(request.count("Content-Length") + request.count("Transfer-Encoding") <= 1);
  for (const char* name : {"Host", "Authorization", "Origin", "Content-Type"})
    REQUIRE(request.count(name) <= 1);
  REQUIRE(is_plain(request.method) && is_plain(request.query) && request.path.starts_with('/'));
  for (const std::string& segment : request.segments) {
    REQUIRE(segment != "." && segment != "..");
    REQUIRE(segment.find('/') == std::string::npos && segment.find('\0') == std::string::npos);
  }
  (void)request.parameter("max_bytes");
  (void)request.has_type("application/json");
  (void)keeps_alive(request);
}

struct Read {
  std::string body;
  size_t taken = 0;
  ChunkReader::State state = ChunkReader::State::kSize;
  bool operator==(const Read&) const = default;
};

// As a connection does: what wasn't taken is given again with what has come since.
Read read_chunks(std::string_view bytes, size_t piece) {
  ChunkReader reader(kLimit);
  Read read;
  for (size_t come = std::min(piece, bytes.size());; come = std::min(come + piece, bytes.size())) {
    for (;;) {
      size_t took = reader.feed(bytes.substr(read.taken, come - read.taken), read.body);
      REQUIRE(took <= come - read.taken);
      read.taken += took;
      if (took == 0 || reader.ended()) break;
    }
    if (reader.ended() || come == bytes.size()) break;
  }
  REQUIRE(read.body.size() <= kLimit);
  read.state = reader.state();
  return read;
}

void check_chunks(std::string_view bytes) {
  Read whole = read_chunks(bytes, bytes.size() + 1), pieces = read_chunks(bytes, 5);
  if (whole.state == ChunkReader::State::kDone || pieces.state == ChunkReader::State::kDone)
    REQUIRE(whole == pieces);
}

}  // namespace
}  // namespace caisson::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view bytes = fuzz::as_text(data, size);
  http::check_chunks(bytes);
  std::optional<size_t> end = http::find_head_end(bytes);
  if (!end) return 0;
  REQUIRE(*end <= size && bytes.substr(0, *end).ends_with("\r\n\r\n"));
  Result<http::Request> request = http::parse_request_head(bytes.substr(0, *end));
  if (!request) {
    fuzz::require_good(request.error());
    REQUIRE(request.error().errnum >= 400 && request.error().errnum <= 599);
    return 0;
  }
  http::check_request(*request);
  if (http::body_frame(*request).chunked) http::check_chunks(bytes.substr(*end));
  return 0;
}
