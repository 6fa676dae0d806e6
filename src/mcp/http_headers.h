// What the headers of a Streamable HTTP request say, and whether its body agrees. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "mcp/protocol.h"

namespace caisson::mcp {

// By the header, or by the body where there is none.
Era era_of(const http::Request& request, const Frame& frame);

// A proxy routes by the headers and the server obeys the body: where the two differ, one of them
// has been deceived. (Modern only.)
std::optional<RpcError> check_headers(const http::Request& request, const Message& message);

// A value as it stands, or out of "=?base64?…?=".
std::optional<std::string> header_value(std::string_view value);

// The status that an error is sent with.
int status_of(std::optional<Code> error, Era era);

}  // namespace caisson::mcp
