// What a session is to be, in an order for the launcher. Of a SessionSpec it has what is the
// cell's; times, bounds of output and functions are the server's own business.
#pragma once

#include <string>
#include <string_view>

#include "session/cell_maker.h"
#include "session/launch_wire.h"
#include "session/session.h"

namespace caisson::session {

// Pure.
std::string encode_spec(const SessionSpec&);
Result<SessionSpec> decode_spec(std::string_view bytes);
std::string encode_limits(const ForkLimits&);
Result<ForkLimits> decode_limits(std::string_view bytes);

// As the last text of an order, or, when it is long, as sealed memory behind its descriptors.
Result<void> put_spec(LaunchPacket&, const SessionSpec&);
Result<SessionSpec> take_spec(LaunchPacket&);

}  // namespace caisson::session
