// SessionOffer: what a session may be, said by whoever starts the server and known to its launcher
// before there is a client. A server that was taken over can choose what is in it, and nothing
// else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/session.h"

namespace caisson::session {

enum class Choice {
  kNothing,   // every session is `base`, under a name of its own
  kWithin,    // limits and modules are free; the interpreter and the folder are of the lists
  kAnything,  // whatever `caisson exec` takes: for clients who are the user themselves
};

struct SessionOffer {
  Choice choice = Choice::kNothing;
  SessionSpec base;                     // what counts where a client chooses nothing
  std::vector<std::string> pythons;     // beside that of `base`
  std::vector<std::string> workspaces;  // beside a private one, and that of `base`
};

// Pure. What its state folder is called: what was remembered under one offer comes back under no
// other. Whoever takes a server over writes what the next one of the same name reads.
inline constexpr std::string_view kNameOfAnything = "any";
std::string name_of(const SessionOffer&);

// A client's wishes, with what the offer says where they are silent. An error for a wish that isn't
// on offer.
Result<SessionSpec> settle_spec(const SessionOffer&, SessionSpec wishes);
// Whether a whole specification is on offer.
Result<void> judge_spec(const SessionOffer&, const SessionSpec&);

}  // namespace caisson::session
