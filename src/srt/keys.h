// Every key of srt's settings, once: what it takes, where it means something, what it becomes here.
// The reader, `srt validate`, docs/srt.md and tests/srt/conformance.txt all come from this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::srt {

enum class Shape {
  kObject,
  kStrictObject,  // an unknown key in it is an error for srt as well
  kObjects,       // an array of them
  kStrictObjects,
  kBool,
  kCount,  // a whole number within `detail`: "1-65535"
  kString,
  kAbsolutePath,
  kStrings,
  kPaths,          // strings, or {"path": …, "literal": true}
  kDomains,        // "example.com", "*.example.com", "localhost", addresses; with or without a port
  kDeniedDomains,  // the same, and "*"
  kAddresses,      // addresses and ranges
  kChoice,         // one of `detail`: "deny|mask"
  kPorts,          // strings: "8000", "8000:9000"
  kQuantity,       // a string or a number, as in a policy file
  kReasons,        // {"entry of deniedDomains": "text"}
  kIgnores,        // {"part of a command, or *": ["part of a line", …]}
  kPortRange,      // [low, high]
  kAnything,
};

enum class Standing {
  kWorks,
  kNoMeaning,  // srt needs it for one of its parts; caisson has no such part
  kMac,
  kWindows,
  kLibrary,  // of srt's JavaScript library alone
  kOwn,      // srt doesn't know it
};

struct Key {
  std::string_view path;  // "network.allowedDomains", "credentials.files[].mode"
  Shape shape;
  Standing standing;
  std::string_view meaning;  // one line
  std::string_view test;     // of tests/srt
  std::string_view detail = {};
  bool required = false;
};

std::span<const Key> keys();
const Key* find_key(std::string_view path);
// The names that may stand in the object at `path` ("" is the file itself).
std::vector<std::string_view> names_in(std::string_view path);

// "an array of strings"
std::string shape_text(const Key& key);
std::string_view standing_text(Standing standing);

}  // namespace caisson::srt
