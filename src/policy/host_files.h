// The one window through which policy code looks at the host's files: a real one (sys/) and a
// faked one (tests), so that resolving a policy stays a pure function of what it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace caisson {

struct FileIdentity {
  enum class Kind { kFile, kDirectory, kSocket, kOther };
  Kind kind;
  uint64_t device, inode;
  bool executable;
};

class HostFiles {
 public:
  virtual ~HostFiles() = default;
  // Follows links. Nothing if it is missing or can't be reached.
  virtual std::optional<FileIdentity> look(const std::string& path) const = 0;
  // The same, but no part of the path may be a link: what canonical() gave, looked at in one step,
  // so that a parent swapped for a link in between is not followed (T03, T04).
  virtual std::optional<FileIdentity> look_exactly(const std::string& path) const = 0;
  // All links resolved; nothing if it is missing.
  virtual std::optional<std::string> canonical(const std::string& path) const = 0;
  // What the last name of a path is, whose folder is canonical already.
  enum class Name { kMissing, kPlain, kLink };
  virtual Name name_at(const std::string& path) const {
    std::optional<std::string> found = canonical(path);
    return !found ? Name::kMissing : *found == path ? Name::kPlain : Name::kLink;
  }
  // The target of the link itself; nothing if it is no link.
  virtual std::optional<std::string> link_target(const std::string& path) const = 0;
  // At most `limit` bytes of a regular file.
  virtual std::optional<std::string> read(const std::string& path, size_t limit) const = 0;
  // The same of a name that is no link.
  virtual std::optional<std::string> read_plain(const std::string& path, size_t limit) const {
    return name_at(path) == Name::kPlain ? read(path, limit) : std::nullopt;
  }
  // Makes one directory (0700). Used for SANDBOX_WORK_DIR only.
  virtual bool make_directory(const std::string& path) const = 0;
};

}  // namespace caisson
