// Names as DNS writes them (RFC 1035 3.1, 4.1.4), and as text with dots between the labels. A label
// that holds a dot or a NUL is refused everywhere, so that one text is one name and the other way
// round: a\.b.c must not pass for a.b.c.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/byte_reader.h"

namespace caisson {

// A name without compression; fails the reader when it isn't one.
std::string read_plain_name(ByteReader& reader);

// The name at `reader`'s place in `packet` (which it reads), pointers followed. A pointer may only
// lead to before the labels that it ends, and there may be only so many: no loops, no long chases.
std::string read_packed_name(ByteReader& reader, std::span<const uint8_t> packet);

// Steps over a name, wherever its pointer may lead.
void skip_name(ByteReader& reader);

// False, and nothing appended, for a text that is no name.
bool append_name(std::vector<uint8_t>& out, std::string_view name);

bool same_name(std::string_view a, std::string_view b);  // ASCII letters alike in either case

}  // namespace caisson
