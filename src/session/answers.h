// From what the inside said to what a caller is told. Pure; every word of the interpreter is taken
// for what user code wants it to be.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_size.h"
#include "base/result.h"
#include "session/frames.h"
#include "session/session.h"

namespace caisson::session {

// JSON of a cell: bounded in depth and in values, an object or nothing.
Result<boost::json::object> parse_object(std::string_view text,
                                         size_t most_values = kMostJsonValues);

// How the host itself had a part in the end of a call.
struct CallFacts {
  bool interrupt_asked = false;
};

CallAnswer answer_from_result(uint8_t flags, std::string_view body, const CallFacts&);
CallAnswer answer_from_ended(std::string_view body);
// The session is gone; `why` is the host's own word.
CallAnswer answer_lost(std::string why);
// The interpreter died while no call ran: told with the next answer.
std::string text_of_note(std::string_view body);

// What a person is to be told: the host's own notes first, then those of the interpreter, bounded.
// Theirs may be any bytes: who shows them cleans them.
std::vector<std::string> all_notes(const CallAnswer&);

// Why a call gave nothing, in one line: the last one of its traceback, or what the host notes.
std::string reason_of(const CallAnswer&);
// Variables by name, where one is left out with its type and the reason; empty for no list.
std::string named_variables(const boost::json::value* list);

// Of a checkpoint's entry: what it could not hold, in one line; empty when it holds everything.
std::string not_kept(const boost::json::object& checkpoint);

// The error of a cell that could not be made or has ended, out of what `caisson exec` said.
Error cell_error(std::string_view doing, std::string_view said);

}  // namespace caisson::session
