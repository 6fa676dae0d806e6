// Placeholders made values and values made placeholders, in streams cut anywhere: the same as in
// one piece, and the same as a plain search does. Byte 0 says how long the pieces are. A byte of
// the text from 0x80 on stands for (a part of) a placeholder or a spelling, so that matches, and
// what almost is one, are common; the byte behind it says how much of it is left out at the end.
#include <algorithm>
#include <cstdint>

#include "gateway/message_borders.h"
#include "gateway/placeholder.h"
#include "gateway/placeholder_substitution.h"
#include "gateway/response_mask.h"
#include "gateway/secret_examples.h"
#include "gateway/secret_spellings.h"
#include "gateway/websocket_mask.h"
#include "require.h"

namespace caisson {
namespace {

using Length = ResponseMask::Length;

// NESTED's placeholder begins with the beginning of others; PASS is the beginning of PASS_LONG, and
// HEADER may not stand in bodies.
const Secrets& the_secrets() {
  static const std::unique_ptr<Secrets> kTable = [] {
    using examples::secret;
    std::vector<Secret> all{secret("caisson_NESTED", "value/1+\"\xc3\xbc\"", {"api.example.com"}),
                            secret("PASS", "password", {"api.example.com"}, '1'),
                            secret("PASS_LONG", "password-passwordpass", {"api.example.com"}, '2'),
                            secret("HEADER", "aabaaabaaaab", {"api.example.com"}, '3')};
    for (Secret& each : all) each.in_body = each.name != "HEADER";
    return examples::table(std::move(all));
  }();
  return *kTable;
}

const std::vector<std::string>& fragments() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> all;
    for (const Secret& each : the_secrets().all()) {
      all.push_back(each.placeholder);
      for (std::string& text : spellings_of(each.value)) all.push_back(std::move(text));
    }
    return all;
  }();
  return kAll;
}

std::string expand(std::string_view input) {
  std::string text;
  for (size_t i = 0; i < input.size(); ++i) {
    auto byte = static_cast<unsigned char>(input[i]);
    if (byte < 0x80) {
      text += input[i];
      continue;
    }
    const std::string& fragment = fragments()[(byte - 0x80u) % fragments().size()];
    size_t less = i + 1 < input.size() ? static_cast<unsigned char>(input[++i]) : 0;
    text += fragment.substr(0, fragment.size() - std::min(fragment.size(), less));
  }
  return text;
}

struct Output {
  std::string text;
  bool refused = false;
  bool operator==(const Output&) const = default;
};

// At each place the longest pattern that stands there, found by looking at all of them.
template <typename Rewrite>
Output plainly(std::string_view text, const PatternSet& set, uint32_t count, Rewrite&& rewrite) {
  Output output;
  while (!text.empty()) {
    uint32_t best = count;
    for (uint32_t i = 0; i < count; ++i)
      if (text.starts_with(set.pattern(i)) &&
          (best == count || set.pattern(i).size() > set.pattern(best).size()))
        best = i;
    if (best != count) {
      if (!rewrite(best, output.text)) return output.refused = true, output;
      text.remove_prefix(set.pattern(best).size());
    } else {
      output.text += text[0];
      text.remove_prefix(1);
    }
  }
  return output;
}

Output substituted(std::string_view text, size_t step) {
  static const Host kHost = examples::host("api.example.com");
  Substitution substitution(the_secrets(), Scheme::kHttps, kHost, 443);
  Output output;
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size())))
    if (!substitution.body(text.substr(0, step), output.text).allowed)
      return output.refused = true, output;
  output.refused = !substitution.finish_body(output.text).allowed;
  return output;
}

void check_substitution(std::string_view text, size_t step) {
  const auto secrets = the_secrets().all();
  Output expected = plainly(text, the_secrets().placeholders(), secrets.size(),
                            [&secrets](uint32_t i, std::string& out) {
                              if (secrets[i].in_body) out += secrets[i].value;
                              return secrets[i].in_body;
                            });
  for (size_t each : {SIZE_MAX, step, size_t{1}}) REQUIRE(substituted(text, each) == expected);
}

std::string masked(std::string_view text, size_t step, Length length) {
  const size_t longest = the_secrets().values().longest();
  ResponseMask mask(the_secrets(), length);
  std::string out;
  size_t fed = 0;
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
    mask.body(text.substr(0, step), out);
    fed += std::min(step, text.size());
    if (length == Length::kKept) REQUIRE(out.size() <= fed && fed - out.size() < longest);
  }
  mask.finish_body(out);
  return out;
}

void check_mask(std::string_view text, size_t step) {
  const PatternSet& values = the_secrets().values();
  uint32_t count = fragments().size() - the_secrets().all().size();
  std::string expected = plainly(text, values, count, [](uint32_t i, std::string& out) {
                           out += the_secrets().all()[the_secrets().value_owner(i)].placeholder;
                           return true;
                         }).text;
  for (size_t each : {SIZE_MAX, step, size_t{1}}) {
    REQUIRE(masked(text, each, Length::kFree) == expected);
    REQUIRE(masked(text, each, Length::kKept).size() == text.size());
  }
  for (uint32_t i = 0; i < count; ++i)
    REQUIRE(expected.find(values.pattern(i)) == std::string::npos);
}

void check_scan(std::string_view text, size_t step) {
  bool expected = std::ranges::any_of(the_secrets().all(), [text](const Secret& each) {
    return text.find(each.placeholder) != std::string_view::npos;
  });
  REQUIRE((PlaceholderScan::find(the_secrets(), text) != nullptr) == expected);
  PlaceholderScan scan(the_secrets());
  bool found = false;
  for (; !text.empty() && !found; text.remove_prefix(std::min(step, text.size())))
    found = scan.feed(text.substr(0, step)) != nullptr;
  REQUIRE(found == expected);
}

// Where messages end does not depend on how they come, and every step goes on.
template <typename Borders>
std::vector<size_t> borders_of(std::string_view text, size_t step) {
  Borders borders;
  std::vector<size_t> ends;
  for (size_t at = 0; at < text.size();) {
    BorderStep taken = borders.next(text.substr(at, step));
    REQUIRE(taken.used > 0 && taken.used <= std::min(step, text.size() - at));
    REQUIRE(taken.ends_message || taken.used == std::min(step, text.size() - at));
    at += taken.used;
    if (taken.ends_message) ends.push_back(at);
  }
  return ends;
}

template <typename Borders>
void check_borders(std::string_view text, size_t step) {
  std::vector<size_t> whole = borders_of<Borders>(text, SIZE_MAX);
  for (size_t each : {step, size_t{1}}) REQUIRE(borders_of<Borders>(text, each) == whole);
}

// The frames stay what they are, and what is masked in them does not depend on how they come.
std::optional<std::string> masked_websocket(std::string_view text, size_t step) {
  WebSocketMask mask(the_secrets());
  std::string out;
  size_t size = text.size();
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size())))
    if (!mask.feed(text.substr(0, step), out)) return std::nullopt;
  out += mask.finish();
  REQUIRE(out.size() == size);
  return out;
}

// One message in frames of that size.
std::string in_frames(std::string_view text, size_t size) {
  std::string framed;
  for (bool first = true; !text.empty(); first = false) {
    std::string_view payload = text.substr(0, size);
    text.remove_prefix(payload.size());
    framed += static_cast<char>((first ? 1 : 0) | (text.empty() ? 0x80 : 0));
    framed += static_cast<char>(payload.size());
    framed += payload;
  }
  return framed;
}

void check_websocket(std::string_view text, size_t step) {
  std::optional<std::string> whole = masked_websocket(text, SIZE_MAX);
  for (size_t each : {step, size_t{1}}) REQUIRE(masked_websocket(text, each) == whole);
  for (size_t size : {std::min(step, size_t{125}), size_t{1}})
    REQUIRE(masked_websocket(in_frames(text, size), step) ==
            in_frames(masked(text, SIZE_MAX, Length::kKept), size));
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  if (size == 0 || size > 4096) return 0;
  size_t step = 1 + data[0] % 128;
  std::string text = expand(fuzz::as_text(data + 1, size - 1));
  check_substitution(text, step);
  check_mask(text, step);
  check_scan(text, step);
  check_websocket(text, step);
  check_websocket(fuzz::as_text(data + 1, size - 1), step);
  check_borders<GrpcBorders>(fuzz::as_text(data + 1, size - 1), step);
  return 0;
}
