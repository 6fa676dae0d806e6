#include "cli/gateway_masks.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <optional>

#include "base/control.h"
#include "base/text.h"
#include "gateway/placeholder.h"
#include "gateway/token_mask.h"
#include "rules/extract.h"

namespace caisson {

namespace {

constexpr size_t kMostFile = 1 << 20;
constexpr size_t kMostPlaces = 4096;
constexpr size_t kMostFound = 256;  // secrets of one variable or file

struct Found {
  size_t begin = 0, end = 0;
};

// Letters, digits and '_': it goes into placeholders and denials.
std::string name_of_mask(const MaskSpec& spec) {
  if (spec.source == SecretSource::kEnvironment) return spec.from.substr(0, kMaxSecretName);
  std::string name;
  for (char c : spec.from.substr(spec.from.rfind('/') + 1)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (name.size() < kMaxSecretName - 8) name += plain ? c : '_';
  }
  return "file_" + name;
}

std::string label_of(const MaskSpec& spec) {
  return spec.source == SecretSource::kEnvironment ? "$" + spec.from : spec.from;
}

// The parts of a text that are to be hidden.
Result<std::vector<Found>> find_parts(const MaskSpec& spec, std::string_view text) {
  std::vector<Found> parts;
  if (spec.extract.empty()) {
    size_t end = text.size();
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
    if (end > 0) parts.push_back({0, end});
    return parts;
  }
  Extractor extractor = TRY(Extractor::make(spec.extract));
  for (size_t from = 0; from <= text.size();) {
    std::optional<Extract> one = extractor.find(text, from);
    if (!one) break;
    // What would not be hidden would be shown.
    if (parts.size() == kMostFound)
      return Error::plain(fmt::format("{}: more than {} secrets in it", label_of(spec), kMostFound),
                          "hide the whole of it, or deny it");
    if (one->end > one->begin) parts.push_back({one->begin, one->end});
    from = std::max(one->match_end, from + 1);
  }
  return parts;
}

// The same text again, wherever it stands. False: more often than is looked for.
bool find_duplicates(std::string_view text, std::vector<Found>& parts) {
  size_t known = parts.size();
  for (size_t i = 0; i < known; ++i) {
    std::string_view value = text.substr(parts[i].begin, parts[i].end - parts[i].begin);
    if (value.size() < kMinSecretValue) continue;
    for (size_t at = text.find(value); at != text.npos; at = text.find(value, at + value.size())) {
      auto overlaps = [&](const Found& one) {
        return at < one.end && one.begin < at + value.size();
      };
      if (parts.size() > kMostPlaces) return false;
      if (std::ranges::none_of(parts, overlaps)) parts.push_back({at, at + value.size()});
    }
  }
  std::ranges::sort(parts, {}, &Found::begin);
  return true;
}

class MaskMaker {
 public:
  MaskMaker(const NetworkDetails& details, const Caller& caller, const HostFiles& files)
      : details_(details), caller_(caller), files_(files) {}

  Result<Masks> run() {
    for (const MaskSpec& spec : details_.masks) TRY(mask(spec));
    pair_keys();
    return std::move(made_);
  }

 private:
  Result<void> mask(const MaskSpec& spec) {
    std::optional<std::string> text = read(spec);
    if (!text) return {};
    if (text->size() > kMostFile)
      return Error::plain(fmt::format("{}: larger than {} bytes", label_of(spec), kMostFile),
                          "deny it instead: a file of that size is not masked");
    std::vector<Found> parts = TRY(find_parts(spec, *text));
    if (spec.duplicates && !find_duplicates(*text, parts))
      return Error::plain(
          fmt::format("{}: its secrets stand in more than {} places", label_of(spec), kMostPlaces),
          "deny it instead");
    std::string shown;
    size_t at = 0;
    bool whole = !parts.empty();
    for (const Found& part : parts) {
      std::string_view value = std::string_view(*text).substr(part.begin, part.end - part.begin);
      Result<std::string> placeholder = placeholder_for(spec, value);
      whole = whole && placeholder.ok();
      if (!placeholder.ok()) break;
      shown.append(*text, at, part.begin - at).append(*placeholder);
      at = part.end;
    }
    if (whole) {
      shown.append(*text, at);
      show(spec, std::move(shown));
      ::explicit_bzero(text->data(), text->size());
      return {};
    }
    return without_match(spec, std::move(*text));
  }

  std::optional<std::string> read(const MaskSpec& spec) const {
    if (spec.source == SecretSource::kFile) return files_.read(spec.from, kMostFile + 1);
    auto found = caller_.environment.find(spec.from);
    if (found == caller_.environment.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }

  void show(const MaskSpec& spec, std::string text) {
    if (spec.source == SecretSource::kFile) {
      if (control_enabled("gateway-file-masks"))
        made_.files.push_back({spec.from, std::move(text)});
    } else {
      made_.variables.emplace_back(spec.from, std::move(text));
    }
  }

  Result<void> without_match(const MaskSpec& spec, std::string text) {
    std::string what =
        fmt::format("{}: {} in it", label_of(spec),
                    spec.jwt ? "no JSON Web Token was found" : "no secret was found");
    if (spec.no_match == NoMatch::kError)
      return Error::plain(what, "correct its extract pattern, or say what else is to happen");
    if (spec.no_match == NoMatch::kWarn) {
      made_.warnings.push_back(what + ", so it is shown as it is");
      if (spec.source == SecretSource::kEnvironment) show(spec, std::move(text));
      return {};
    }
    made_.warnings.push_back(what + ", so it is hidden");
    if (spec.source == SecretSource::kFile) show(spec, "");
    return {};
  }

  // What stands for a value. One value has one placeholder per specification.
  Result<std::string> placeholder_for(const MaskSpec& spec, std::string_view value) {
    for (size_t i = 0; i < made_.secrets.size(); ++i)
      if (made_.secrets[i].value == value && made_.secrets[i].hosts == spec.hosts)
        return made_.secrets[i].placeholder;
    std::string name = name_of_mask(spec);
    if (spec.jwt) return token_for(spec, value, name);
    std::string placeholder = TRY(make_placeholder(name));
    keep(spec, std::string(value), placeholder);
    return placeholder;
  }

  Result<std::string> token_for(const MaskSpec& spec, std::string_view value,
                                const std::string& name) {
    TokenMask token = TRY(mask_token(value, spec.claims, name));
    keep(spec, std::string(value), token.placeholder);
    for (MaskedClaim& claim : token.claims)
      keep(spec, std::move(claim.value), std::move(claim.placeholder));
    return token.placeholder;
  }

  // What no request could carry (several lines, a few bytes) is hidden all the same, and never put
  // back.
  void keep(const MaskSpec& spec, std::string value, std::string placeholder) {
    if (spec.hosts.empty()) return;
    SecretSpec asked{.name = name_of_mask(spec), .source = spec.source, .from = spec.from};
    Result<std::string> checked = check_secret_value(asked, value);
    if (!checked.ok()) {
      made_.warnings.push_back(checked.error().what + ": it is hidden, and no host gets it");
      return;
    }
    made_.secrets.push_back({.name = std::move(asked.name),
                             .value = std::move(value),
                             .hosts = spec.hosts,
                             .placeholder = std::move(placeholder),
                             .in_body = true,
                             .any_port = true});
  }

  void pair_keys() {
    std::vector<AwsPair> pairs = details_.aws_pairs;
    AwsPair usual{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};
    auto same = [&](const AwsPair& one) {
      return one.secret_access_key == usual.secret_access_key;
    };
    if (std::ranges::none_of(pairs, same)) pairs.push_back(usual);
    for (const AwsPair& pair : pairs) {
      const std::string* key = shown(pair.secret_access_key);
      if (!key) continue;
      std::string id = caller_.env(pair.access_key_id);
      const std::string* masked = shown(pair.access_key_id);
      made_.aws_keys.push_back({masked ? *masked : id, *key, id});
    }
  }

  // A variable as the cell has it, when it is masked.
  const std::string* shown(const std::string& variable) const {
    for (const auto& [name, text] : made_.variables)
      if (name == variable) return &text;
    return nullptr;
  }

  const NetworkDetails& details_;
  const Caller& caller_;
  const HostFiles& files_;
  Masks made_;
};

}  // namespace

Result<Masks> make_masks(const NetworkDetails& details, const Caller& caller,
                         const HostFiles& files) {
  return MaskMaker(details, caller, files).run();
}

}  // namespace caisson
