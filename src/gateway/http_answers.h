// What the gateway itself answers to an HTTP request.
#pragma once

#include <string>
#include <string_view>

#include "gateway/denials.h"
#include "gateway/dial.h"
#include "gateway/http_rewrite.h"

namespace caisson {

// 403 (or another refusal) with {denied, rule, host, port, how_to_allow}. A reason that whoever
// wrote the rule gave stands in the status line too: it is all that a client of CONNECT shows.
std::string denial_answer(const ToldDenial& denial, Afterwards afterwards, std::string_view method,
                          unsigned status = 403);

// {"error":why}: 400, 431, 502, 504, …
std::string error_answer(unsigned status, std::string_view why, std::string_view method);

// 502 or 504, by why the dialling failed.
std::string dial_answer(const Dialed& dialed, std::string_view method);

}  // namespace caisson
