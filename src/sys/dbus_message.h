// As much of the D-Bus wire format as one method call and its answer need (D-Bus specification,
// "Message protocol"). Little-endian only: the peer is on this machine.
#pragma once

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

// Appends marshalled values; alignment counts from the start of the text.
class DbusWriter {
 public:
  void byte(uint8_t value) { out_ += static_cast<char>(value); }
  void u32(uint32_t value);
  void string(std::string_view text);     // also object paths
  void signature(std::string_view text);  // a variant is this and its value
  void align(size_t to) { out_.resize((out_.size() + to - 1) / to * to); }

  // An array: its length counts from the first element's alignment to its end.
  struct Array {
    size_t length_at, begins;
  };
  Array begin_array(size_t element_alignment);
  void end_array(Array array);

  const std::string& text() const { return out_; }

 private:
  void set_u32(size_t at, uint32_t value);
  std::string out_;
};

struct DbusCall {
  std::string destination, path, interface, member;
  std::string signature, body;  // body as written by a DbusWriter
  uint32_t serial = 1;
};
std::string to_wire(const DbusCall& call);

struct DbusMessage {
  enum Type : uint8_t { kCall = 1, kReturn = 2, kError = 3, kSignal = 4 };
  uint8_t type = 0;
  uint32_t serial = 0, reply_to = 0;
  std::string error_name, member, signature, body;

  std::string first_string() const;  // of the body, when the signature begins with one; else ""
};

// Takes one whole message off the front of `input`; nothing while it is not all there. An error
// when the bytes are no message, or one that is larger than any answer we ask for.
Result<std::optional<DbusMessage>> take_dbus_message(std::string& input);

}  // namespace caisson
