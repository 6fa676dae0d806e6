// What the gateway itself answers to an HTTP request.
#pragma once

#include <string>
#include <string_view>

#include "gateway/denials.h"
#include "gateway/dial.h"
#include "gateway/http_rewrite.h"

namespace caisson {

// 403 with {denied, rule, host, port, how_to_allow}.
std::string denial_answer(const ToldDenial& denial, Afterwards afterwards, std::string_view method);

// {"error":why}: 400, 431, 502, 504, …
std::string error_answer(unsigned status, std::string_view why, std::string_view method);

// 502 or 504, by why the dialling failed.
std::string dial_answer(const Dialed& dialed, std::string_view method);

}  // namespace caisson
