#include "gateway/response_mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "base/text.h"

namespace caisson {

bool ResponseMask::can_read(std::string_view content_encoding) {
  return std::ranges::all_of(split(content_encoding, ','), [](std::string_view each) {
    std::string_view coding = trim(each);
    return coding.empty() || same_header(coding, "identity");
  });
}

BodyPlan ResponseMask::plan(std::optional<uint64_t> content_length) {
  if (!content_length) return BodyPlan::kUnsized;
  return *content_length <= kMaxGathered ? BodyPlan::kGather : BodyPlan::kAsIs;
}

void ResponseMask::header(std::string& text) {
  if (!secrets_->values().find(text)) return;
  std::string out;
  PatternStream stream(secrets_->values());
  auto rewrite = [this](uint32_t pattern, std::string& to) {
    return hide(pattern, Length::kFree, to);
  };
  stream.feed(text, out, rewrite);
  stream.finish(out, rewrite);
  text = std::move(out);
}

void ResponseMask::fields(std::vector<HttpField>& fields) {
  size_t before = fields.size();
  std::erase_if(fields, [this](const HttpField& field) { return tells_by_name(field); });
  masked_ = masked_ || fields.size() < before;
  for (HttpField& field : fields) header(field.value);
}

// Services make names of what they are sent (httpbin's /response-headers). A value with a colon in
// it that such a one writes as it is begins in the name and ends in the field's value.
bool ResponseMask::tells_by_name(const HttpField& field) const {
  if (!control_enabled("gateway-header-names")) return false;
  const PatternSet& values = secrets_->folded_values();
  std::string_view start = std::string_view(field.value).substr(0, values.longest());
  for (std::string_view colon : {":", ": "}) {
    std::string line = folded_name(fmt::format("{}{}{}", field.name, colon, start));
    std::optional<PatternSet::Match> match = values.find(line);
    if (match && match->position < field.name.size()) return true;
  }
  return false;
}

void ResponseMask::body(std::string_view chunk, std::string& out) {
  body_.feed(chunk, out,
             [this](uint32_t pattern, std::string& to) { return hide(pattern, length_, to); });
}

void ResponseMask::finish_body(std::string& out) {
  body_.finish(out,
               [this](uint32_t pattern, std::string& to) { return hide(pattern, length_, to); });
}

OnMatch ResponseMask::hide(uint32_t pattern, Length length, std::string& out) {
  if (!control_enabled("gateway-mask")) {
    out += secrets_->values().pattern(pattern);
    return OnMatch::kGoOn;
  }
  const std::string& placeholder = secrets_->all()[secrets_->value_owner(pattern)].placeholder;
  if (length == Length::kFree) {
    out += placeholder;
  } else {
    size_t size = secrets_->values().pattern(pattern).size();
    size_t shown = std::min(size, placeholder.size());
    out.append(placeholder, 0, shown).append(size - shown, '*');
  }
  masked_ = true;
  return OnMatch::kGoOn;
}

}  // namespace caisson
