// Patterns to extract with: a match lies within the text, and the next one behind it.
#include <cstdint>

#include "require.h"
#include "rules/extract.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, std::min<size_t>(size, 2048));
  size_t line = std::min(text.find('\n'), text.size());
  std::string_view rest = text.substr(std::min(line + 1, text.size()));
  Result<Extractor> made = Extractor::make(text.substr(0, line));
  if (!made.ok()) {
    fuzz::require_good(made.error());
    return 0;
  }
  size_t from = 0;
  for (int i = 0; i < 8 && from <= rest.size(); ++i) {
    std::optional<Extract> found = made->find(rest, from);
    if (!found) break;
    REQUIRE(found->begin <= found->end && found->end <= found->match_end);
    REQUIRE(from <= found->begin && found->match_end <= rest.size());
    from = std::max(found->match_end, from + 1);
  }
  return 0;
}
