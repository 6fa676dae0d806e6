// What comes out of a session: bytes to frames. Every length is within its bound, every type one
// that this speaker may say, a broken stream is told as such, and pieces give what the whole gives.
#include <cstdint>
#include <vector>

#include "require.h"
#include "session/frames.h"

namespace caisson::session {
namespace {

struct Heard {
  std::vector<std::string> frames;  // as they would be sent again
  bool broken = false;
  bool operator==(const Heard&) const = default;
};

void check_frame(const Frame& frame, Speaker speaker) {
  REQUIRE(frame.body.size() <= kMostBody && !frame.spilled);
  bool of_zygote = frame.type == FrameType::kSpawned;
  REQUIRE(of_zygote == (speaker == Speaker::kZygote));
  REQUIRE(of_zygote || frame.type >= FrameType::kHello);
}

Heard hear(std::string_view bytes, size_t piece, Speaker speaker) {
  FrameReader reader(speaker);
  Heard heard;
  for (size_t at = 0; at < bytes.size() && !heard.broken; at += piece) {
    heard.broken = !reader.feed(bytes.substr(at, piece), {}).ok();
    while (!heard.broken) {
      Result<std::optional<Frame>> frame = reader.next();
      if (!frame) {
        fuzz::require_good(frame.error());
        heard.broken = true;
      } else if (!*frame) {
        break;
      } else {
        check_frame(**frame, speaker);
        heard.frames.push_back(
            encode_frame((*frame)->type, false, (*frame)->request, (*frame)->body));
      }
    }
  }
  return heard;
}

void check(std::string_view bytes, Speaker speaker) {
  Heard whole = hear(bytes, bytes.size() + 1, speaker);
  REQUIRE(whole == hear(bytes, 3, speaker));
  std::string again;
  for (const std::string& frame : whole.frames) again += frame;
  REQUIRE(bytes.starts_with(again));  // nothing was skipped, and nothing read twice
}

}  // namespace
}  // namespace caisson::session

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view bytes = fuzz::as_text(data, size);
  session::check(bytes, session::Speaker::kKeeper);
  session::check(bytes, session::Speaker::kZygote);
  return 0;
}
