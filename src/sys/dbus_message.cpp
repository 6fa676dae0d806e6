#include "sys/dbus_message.h"

#include <string.h>

namespace caisson {

namespace {

constexpr size_t kFixedHeader = 16;
constexpr uint32_t kLargest =
    64 * 1024;  // the protocol allows 128 MiB; a bus has no need of it here
constexpr uint8_t kLittleEndian = 'l', kVersion = 1;
constexpr uint8_t kNoAutoStart = 2;  // who is not there can't help; nothing is started to find out

enum Field : uint8_t {
  kPath = 1,
  kInterface = 2,
  kMember = 3,
  kErrorName = 4,
  kReplySerial = 5,
  kDestination = 6,
  kSignature = 8,
};

size_t padded(size_t size) { return (size + 7) / 8 * 8; }

uint32_t load_u32(std::string_view bytes, size_t at) {
  uint32_t value;
  memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Reads marshalled values; after the first one that is not there, nothing more is.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  void fail() { good_ = false; }
  bool at_end() const { return !good_ || at_ >= bytes_.size(); }
  void align(size_t to) {
    at_ = (at_ + to - 1) / to * to;
    if (at_ > bytes_.size()) good_ = false;
  }
  uint8_t byte() {
    std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }
  uint32_t u32() {
    align(4);
    std::string_view four = take(4);
    return four.empty() ? 0 : load_u32(four, 0);
  }
  std::string_view string() { return terminated(u32()); }
  std::string_view signature() { return terminated(byte()); }

 private:
  std::string_view terminated(size_t size) {
    std::string_view text = take(size);
    if (take(1) != std::string_view("\0", 1)) good_ = false;
    return good_ ? text : std::string_view();
  }
  std::string_view take(size_t size) {
    if (!good_ || size > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

// One header field: a code and a variant, which for all known codes is a text or a number.
void read_field(Reader& reader, DbusMessage& message) {
  reader.align(8);
  uint8_t code = reader.byte();
  std::string_view type = reader.signature();
  if (type == "u") {
    uint32_t value = reader.u32();
    if (code == kReplySerial) message.reply_to = value;
  } else if (type == "s" || type == "o") {
    std::string_view value = reader.string();
    if (code == kErrorName) message.error_name = value;
    if (code == kMember) message.member = value;
  } else if (type == "g") {
    std::string_view value = reader.signature();
    if (code == kSignature) message.signature = value;
  } else {
    reader.fail();  // a type that no header field has
  }
}

void text_field(DbusWriter& writer, Field code, const char* type, const std::string& value) {
  writer.align(8);
  writer.byte(code);
  writer.signature(type);
  if (type[0] == 'g')
    writer.signature(value);
  else
    writer.string(value);
}

}  // namespace

void DbusWriter::set_u32(size_t at, uint32_t value) { memcpy(out_.data() + at, &value, 4); }

void DbusWriter::u32(uint32_t value) {
  align(4);
  out_.resize(out_.size() + 4);
  set_u32(out_.size() - 4, value);
}

void DbusWriter::string(std::string_view text) {
  u32(static_cast<uint32_t>(text.size()));
  out_ += text;
  out_ += '\0';
}

void DbusWriter::signature(std::string_view text) {
  byte(static_cast<uint8_t>(text.size()));
  out_ += text;
  out_ += '\0';
}

DbusWriter::Array DbusWriter::begin_array(size_t element_alignment) {
  u32(0);
  size_t length_at = out_.size() - 4;
  align(element_alignment);
  return {length_at, out_.size()};
}

void DbusWriter::end_array(Array array) {
  set_u32(array.length_at, static_cast<uint32_t>(out_.size() - array.begins));
}

std::string to_wire(const DbusCall& call) {
  DbusWriter writer;
  writer.byte(kLittleEndian);
  writer.byte(DbusMessage::kCall);
  writer.byte(kNoAutoStart);
  writer.byte(kVersion);
  writer.u32(static_cast<uint32_t>(call.body.size()));
  writer.u32(call.serial);
  DbusWriter::Array fields = writer.begin_array(8);
  text_field(writer, kPath, "o", call.path);
  text_field(writer, kInterface, "s", call.interface);
  text_field(writer, kMember, "s", call.member);
  text_field(writer, kDestination, "s", call.destination);
  if (!call.signature.empty()) text_field(writer, kSignature, "g", call.signature);
  writer.end_array(fields);
  writer.align(8);
  return writer.text() + call.body;
}

std::string DbusMessage::first_string() const {
  if (!signature.starts_with("s")) return {};
  Reader reader(body);
  std::string_view text = reader.string();
  return reader.good() ? std::string(text) : std::string();
}

Result<std::optional<DbusMessage>> take_dbus_message(std::string& input) {
  if (input.size() < kFixedHeader) return std::optional<DbusMessage>();
  uint32_t body_size = load_u32(input, 4), fields_size = load_u32(input, 12);
  if (static_cast<uint8_t>(input[0]) != kLittleEndian || input[3] != kVersion ||
      body_size > kLargest || fields_size > kLargest)
    return Error::plain("the bus sent what is not a message for us");
  size_t body_at = padded(kFixedHeader + fields_size), whole = body_at + body_size;
  if (input.size() < whole) return std::optional<DbusMessage>();

  DbusMessage message;
  message.type = static_cast<uint8_t>(input[1]);
  message.serial = load_u32(input, 8);
  // The header's alignment counts from its start, and its fixed part is a multiple of 8.
  Reader reader(std::string_view(input).substr(kFixedHeader, fields_size));
  while (!reader.at_end()) read_field(reader, message);
  if (!reader.good()) return Error::plain("the bus sent a message with a broken header");
  message.body = input.substr(body_at, body_size);
  input.erase(0, whole);
  return std::optional<DbusMessage>(std::move(message));
}

}  // namespace caisson
