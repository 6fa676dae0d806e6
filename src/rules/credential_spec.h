// Credentials that a cell finds masked where it would have found them: in its variables and in the
// files that it sees. What is said about them, and nothing of their values.
#pragma once

#include <string>
#include <vector>

#include "rules/secret_spec.h"

namespace caisson {

// What becomes of a variable or a file in which nothing fits `extract`.
enum class NoMatch {
  kWarn,   // it is shown as it is, and that is told
  kDeny,   // the variable is not set, the file is empty
  kError,  // the cell isn't made
};

struct MaskSpec {
  SecretSource source = SecretSource::kEnvironment;
  std::string from;     // the host's variable, or the file's absolute path
  std::string extract;  // a pattern (rules/extract.h) whose group 1 is the secret; "": all of it
  NoMatch no_match = NoMatch::kWarn;
  bool jwt = false;                 // the secret is a JSON Web Token, and its placeholder looks so
  std::vector<std::string> claims;  // of it: these are masked, the others are shown. None: all
                                    // are shown, and only the signature is false
  bool duplicates = false;          // the same text elsewhere in the file is masked too
  // Who may have it: patterns as in an allow rule. Without a port: every port on which the gateway
  // reads requests. Never empty.
  std::vector<std::string> hosts;

  bool operator==(const MaskSpec&) const = default;
};

// Masked variables that sign requests together. What is signed with their placeholders is signed
// anew by the gateway.
struct AwsPair {
  std::string access_key_id, secret_access_key;  // names of variables
  std::string session_token;                     // "": none
  bool operator==(const AwsPair&) const = default;
};

// What becomes of signatures that can't be made anew. Passed on: the host will refuse them, since
// they were made with a placeholder.
enum class Unsignable { kDeny, kPassOn };
struct AwsSigning {
  Unsignable streaming = Unsignable::kDeny;  // bodies signed chunk by chunk
  Unsignable presigned = Unsignable::kDeny;  // signatures in the query
  Unsignable sigv4a = Unsignable::kDeny;     // with an asymmetric key
  bool operator==(const AwsSigning&) const = default;
};

}  // namespace caisson
