// A result's content: text within its bound, images, and links to what didn't fit.
#include <utility>

#include <fmt/format.h>

#include "mcp/rlm_offer.h"

namespace caisson::mcp {

namespace {

// A result is read into a model's context: beyond this, images are links.
constexpr size_t kMaxInlineImages = 8;
constexpr size_t kMaxInlineBytes = 6 << 20;

}  // namespace

json::object RlmOffer::link(const Use& use, const std::string& uri, std::string_view mime,
                            std::string_view description) const {
  // Older clients know no links.
  const std::string& version = use.call.version;
  if (version == "2025-03-26" || version == "2024-11-05")
    return {{"type", "text"}, {"text", fmt::format("[{}: resource {}]", description, uri)}};
  return {{"type", "resource_link"},
          {"uri", uri},
          {"name", uri.substr(uri.find("//") + 2)},
          {"description", description},
          {"mimeType", mime}};
}

void RlmOffer::add_images(Use& use, std::vector<Image> images, json::array& content) {
  size_t count = 0, bytes = 0;
  for (Image& image : images) {
    if (count < kMaxInlineImages && bytes + image.base64.size() <= kMaxInlineBytes) {
      ++count;
      bytes += image.base64.size();
      content.push_back(json::object{
          {"type", "image"}, {"data", std::move(image.base64)}, {"mimeType", image.mime}});
      continue;
    }
    std::string uri =
        outputs_.keep(use.call.client().scope, use.name, image.mime, std::move(image.base64), true);
    content.push_back(link(use, uri, image.mime, "A figure"));
  }
}

json::object RlmOffer::present(Use& use, Shown shown) {
  if (use.fresh)
    shown.text += fmt::format("{}[session] {}: pass it as `session` to go on in this one",
                              shown.text.empty() ? "" : "\n", use.name);
  if (std::string notice = std::exchange(use.call.client().notice, {}); !notice.empty())
    shown.text += fmt::format("{}[note] {}", shown.text.empty() ? "" : "\n", notice);
  if (std::string notice = std::exchange(use.seat->notice, {}); !notice.empty())
    shown.text += fmt::format("{}[note] {}", shown.text.empty() ? "" : "\n", notice);
  json::array content;
  size_t characters = shown.text.size() > kMaxShown ? count_characters(shown.text) : 0;
  if (characters > kMaxShown) {
    std::string uri =
        outputs_.keep(use.call.client().scope, use.name, "text/plain", shown.text, false);
    std::string mark = fmt::format(
        "\n\n[... {} characters in all, the middle is left out; the whole is the resource "
        "{} ...]\n\n",
        characters, uri);
    content.push_back(
        json::object{{"type", "text"}, {"text", cut_middle(shown.text, kMaxShown - 1, mark)}});
    content.push_back(link(use, uri, "text/plain", "The whole of this output"));
  } else if (!shown.text.empty()) {
    content.push_back(json::object{{"type", "text"}, {"text", std::move(shown.text)}});
  }
  add_images(use, std::move(shown.images), content);
  json::object result{{"content", std::move(content)}};
  if (shown.is_error) result["isError"] = true;
  return result;
}

}  // namespace caisson::mcp
