#include "policy/kept_ways.h"

#include <algorithm>

#include "policy/files.h"
#include "policy/link_walk.h"
#include "policy/pattern_names.h"

namespace caisson {

namespace {

constexpr const char* kMoved = "moved, it could be read by the next command";

class Ways {
 public:
  explicit Ways(const HostFiles& files) : files_(files) {}

  // A mount goes with the folder that is renamed above it, but not into the next run: that one
  // finds nothing by the name, or something harmless that was put there. The same with a link.
  void to(const std::string& path, const std::string& origin) {
    LinkWalk walk = walk_links(path, files_);
    for (const Link& link : walk.links) keep(link.path, FilePattern::Covers::kItself, origin);
    if (walk.complete && files_.name_at(walk.end()) != HostFiles::Name::kMissing)
      keep(walk.end(), FilePattern::Covers::kWay, origin);
  }
  // Of a pattern: its head is a folder that is kept by the pattern itself.
  void to_head(const std::string& path, const std::string& origin) {
    for (const Link& link : walk_links(path, files_).links)
      keep(link.path, FilePattern::Covers::kItself, origin);
  }

  std::vector<FilePattern> take() { return std::move(kept_); }

 private:
  void keep(const std::string& path, FilePattern::Covers covers, const std::string& origin) {
    bool known = std::ranges::any_of(kept_, [&](const auto& one) { return one.text == path; });
    if (known || path == "/") return;
    FilePattern& one = kept_.emplace_back(FilePattern{
        .text = path, .literal = true, .covers = covers, .origin = origin, .reason = kMoved});
    one.literal_head = literal_components(one);
  }

  const HostFiles& files_;
  std::vector<FilePattern> kept_;
};

}  // namespace

std::vector<FilePattern> kept_ways(const std::vector<FilePattern>& deny_read,
                                   const std::vector<MaskSpec>& masks, const HostFiles& files) {
  Ways ways(files);
  for (const FilePattern& pattern : deny_read) {
    if (pattern.untold) continue;           // caisson's own, which looks for it anew
    ways.to(pattern.text, pattern.origin);  // with wildcards: when a thing of that name is there
    std::vector<std::string> names = leading_names(pattern, pattern.text);
    std::string path = path_of(Components(names.begin(), names.end()), names.size());
    if (only_path(pattern, pattern.text))
      ways.to(path, pattern.origin);
    else
      ways.to_head(path, pattern.origin);
  }
  for (const MaskSpec& mask : masks)
    if (mask.source == SecretSource::kFile) ways.to(mask.from, "credentials.files");
  return ways.take();
}

}  // namespace caisson
