// The mount grammar and the cleaning of paths: what is taken has a clean absolute target.
#include <cstdint>
#include <vector>

#include "policy/units.h"
#include "require.h"

namespace caisson {
namespace {

using fuzz::require_good;

// What clean_path() promises, said another way: a list of names, each pushed or popped.
std::string reference_clean(std::string_view path, std::string_view base) {
  std::vector<std::string> names;
  std::string whole = path[0] == '/' ? std::string(path) : std::string(base) + "/";
  if (path[0] != '/') whole += path;
  std::string name;
  for (char c : whole + "/") {
    if (c != '/') {
      name += c;
      continue;
    }
    if (name == ".." && !names.empty()) names.pop_back();
    if (!name.empty() && name != "." && name != "..") names.push_back(name);
    name.clear();
  }
  std::string clean;
  for (const std::string& one : names) clean += "/" + one;
  return clean.empty() ? "/" : clean;
}

void require_clean(const std::string& path) {
  REQUIRE(path.starts_with('/') && path.size() <= kMaxPath);
  REQUIRE(path == "/" || !path.ends_with('/'));
  REQUIRE(path.find('\0') == std::string::npos);
  std::string closed = path + "/";
  for (const char* part : {"//", "/./", "/../"})
    REQUIRE(path == "/" || closed.find(part) == std::string::npos);
  Result<std::string> again = clean_path(path, "/elsewhere");
  REQUIRE(again.ok() && *again == path);
}

void check_path(std::string_view text, std::string_view base) {
  Result<std::string> clean = clean_path(text, base);
  if (!clean) return require_good(clean.error());
  REQUIRE(*clean == reference_clean(text, base));
  require_clean(*clean);
}

std::string escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void check_mount(std::string_view text) {
  Result<MountRequest> mount = parse_mount(text, "--mount");
  if (!mount) return require_good(mount.error());
  REQUIRE(!mount->source.empty() && mount->source.size() <= kMaxPath);
  REQUIRE(mount->source.find('\0') == std::string::npos);
  REQUIRE(mount->origin == "--mount");
  require_clean(mount->target);
  // Writable only when it was said.
  REQUIRE(mount->access == Access::kReadOnly || text.ends_with(":rw"));

  std::string printed = escaped(mount->source) + ":" + escaped(mount->target) +
                        (mount->access == Access::kReadWrite ? ":rw" : ":ro");
  Result<MountRequest> again = parse_mount(printed, "--mount");
  REQUIRE(again.ok() && again->source == mount->source && again->target == mount->target &&
          again->access == mount->access);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  check_mount(text);
  check_path(text, "/");
  check_path(text, "/some/folder");
  return 0;
}
