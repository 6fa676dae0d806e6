// What a person says about one credential: where its value is, and the hosts that may have it.
//   NAME=env:VARIABLE@host[,host…][;body][;url]        NAME=file:PATH@host[,host…][;body][;url]
// Pure: nothing is read here. The supervisor reads the value and has it checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

enum class SecretSource { kEnvironment, kFile };

struct SecretSpec {
  std::string name;  // the cell finds the placeholder in $NAME
  SecretSource source = SecretSource::kEnvironment;
  std::string from;                // the host's variable, or the file
  std::vector<std::string> hosts;  // patterns, as in an allow rule; without a port 443 is meant
  bool in_body = false;            // placeholders in request bodies are replaced too
  bool in_url = false;             // and those in a request's path and query

  bool operator==(const SecretSpec&) const = default;
};

inline constexpr size_t kMaxSecretName = 64;
inline constexpr size_t kMaxSecretHosts = 64;
inline constexpr size_t kMinSecretValue = 8;  // a shorter one can't be masked without wrecking text
inline constexpr size_t kMaxSecretValue = 64 * 1024;

// PATH may hold '@', ',' and ';': the hosts begin behind the last '@'.
Result<SecretSpec> parse_secret(std::string_view text);

// The value as it will be sent: a file's one trailing newline is trimmed, and what can't stand in a
// header (control bytes) or can't be masked (too short) is refused. No error tells the value.
Result<std::string> check_secret_value(const SecretSpec& spec, std::string value);

}  // namespace caisson
