// What `caisson serve` needs before it listens: its folder, its locks, its token.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "policy/caller.h"
#include "session/offer.h"
#include "session/state_claim.h"

namespace caisson {

// Only one server per socket: held as long as it lives, gone with it however it ends.
Result<UniqueFd> lock_beside(const std::string& socket_path, const char* ending);

// The state folder of that offer, in the folder of all of them, as long as this process lives. Two
// servers with one state would give two cells the same files, and each would end what is the
// other's (T60). It doesn't go by the socket: sessions come back whichever socket they are asked
// for by.
Result<session::StateClaim> claim_state_of(const session::SessionOffer& offer,
                                           const std::string& top, const std::string& socket);

// From a file that only the caller can read.
Result<std::string> read_token(const std::string& path);
// A new one (256 bits), written to `path` (0600).
Result<std::string> make_token(const std::string& path);

// Of the environment, what `caisson exec` itself needs: to find programs, its record and the
// user's service manager. No secret is handed on.
std::vector<std::string> exec_environment(const Caller& caller);

}  // namespace caisson
