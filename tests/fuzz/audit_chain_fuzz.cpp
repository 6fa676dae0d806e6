// A chain that a writer made, then changed by an adversary who can edit the file but not
// audit.head: verify never calls it whole.
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/sha256.h"
#include "require.h"
#include "run/audit_chain.h"
#include "run/audit_line.h"

namespace caisson {
namespace {

constexpr std::string_view kTime = "2026-07-31T09:30:05.042Z";

// The fuzzer's bytes as decisions.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  unsigned byte() { return empty() ? 0 : data_[at_++]; }
  // Below `limit`, which is not 0.
  size_t below(size_t limit) { return (byte() << 16 | byte() << 8 | byte()) % limit; }
  std::string bytes(size_t count) {
    std::string out;
    while (out.size() < count && !empty()) out += static_cast<char>(byte());
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

struct Chain {
  std::string text;
  AuditHead head;

  void add(std::string_view event) { text += make_audit_line(head, kTime, event); }
  // What a crash left, sealed by the next writer and told by it.
  void crash_and_mend(std::string cut) {
    if (cut.empty()) cut = "{\"seq\":";
    std::string digest = sha256_hex(cut);
    size_t size = cut.size();
    text += cut + "\n";
    head.end = text.size();
    add(fmt::format("{{\"kind\":\"tail_mended\",\"cut_bytes\":{},\"cut_sha256\":\"{}\"}}", size,
                    digest));
  }
};

Chain make_chain(Choices& choices) {
  Chain chain;
  size_t entries = 1 + choices.below(6);
  for (size_t i = 0; i < entries; ++i) {
    unsigned kind = choices.byte() % 4;
    if (kind == 0)
      chain.crash_and_mend(choices.bytes(choices.byte() % 48));
    else
      chain.add(fmt::format("{{\"kind\":\"{}\",\"id\":{}}}", kind == 1 ? "start" : "end", i));
  }
  return chain;
}

void swap_lines(std::string& text, Choices& choices) {
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();  // behind the last newline
  if (lines.size() < 2) return;
  std::swap(lines[choices.below(lines.size())], lines[choices.below(lines.size())]);
  text = join(lines, "\n") + "\n";
}

// A line with another event and the hash that belongs to it: the editor knows the format.
void forge_line(std::string& text, Choices& choices) {
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();
  if (lines.empty()) return;
  std::string& line = lines[choices.below(lines.size())];
  Result<AuditEntry> entry = parse_audit_line(line);
  if (!entry) return;
  AuditHead before{entry->seq - 1, entry->prev, 0};
  line = make_audit_line(before, kTime, "{\"kind\":\"forged\"}");
  line.pop_back();
  text = join(lines, "\n") + "\n";
}

void change(std::string& text, Choices& choices) {
  if (text.empty()) return;
  size_t at = choices.below(text.size());
  size_t count = 1 + choices.byte();
  switch (choices.byte() % 7) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 + choices.byte() % 255));
      break;
    case 1:
      text.erase(at, count);
      break;
    case 2:
      text.insert(at, text.substr(choices.below(text.size()), count));
      break;
    case 3:
      text.insert(at, choices.bytes(count % 32));
      break;
    case 4:
      swap_lines(text, choices);
      break;
    case 5:
      forge_line(text, choices);
      break;
    case 6: {  // whole lines off the end
      size_t end = text.rfind('\n', at);
      text.resize(end == std::string::npos ? 0 : end + 1);
      break;
    }
  }
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  Choices choices(data, size);
  Chain chain = make_chain(choices);
  VerifyReport report = verify_lines(chain.text, chain.head);
  REQUIRE(report.whole() && report.head == chain.head);
  REQUIRE(verify_lines(chain.text, std::nullopt).whole());

  std::string changed = chain.text;
  for (int i = 0; i < 4 && !choices.empty(); ++i) change(changed, choices);
  if (changed == chain.text) return 0;
  REQUIRE(!verify_lines(changed, chain.head).whole());
  return 0;
}
