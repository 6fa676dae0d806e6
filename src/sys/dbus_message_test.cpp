#include "sys/dbus_message.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

DbusCall hello() { return {"d", "/", "i", "Hi", "", "", 7}; }

// The answer to call 7 as a bus would send it, with one string.
std::string answer() {
  return bytes({'l', 2, 1,   1, 7,   0,   0, 0, 9, 0, 0,   0, 15, 0,   0, 0,  // fixed part
                5,   1, 'u', 0, 7,   0,   0, 0, 8, 1, 'g', 0, 1,  's', 0, 0,  // fields, padding
                2,   0, 0,   0, 'o', 'k', 0});                                // body
}

TEST(DbusMessage, ACallHasTheBytesOfTheSpecification) {
  EXPECT_EQ(to_wire(hello()), bytes({'l', 1, 2,   1, 0, 0, 0, 0, 7,   0,   0, 0, 58, 0, 0, 0,  //
                                     1,   1, 'o', 0, 1, 0, 0, 0, '/', 0,   0, 0, 0,  0, 0, 0,  //
                                     2,   1, 's', 0, 1, 0, 0, 0, 'i', 0,   0, 0, 0,  0, 0, 0,  //
                                     3,   1, 's', 0, 2, 0, 0, 0, 'H', 'i', 0, 0, 0,  0, 0, 0,  //
                                     6,   1, 's', 0, 1, 0, 0, 0, 'd', 0,   0, 0, 0,  0, 0, 0}));
}

TEST(DbusMessage, AnArrayCountsItsElementsNotThePaddingBeforeThem) {
  DbusWriter writer;
  DbusWriter::Array array = writer.begin_array(8);
  writer.u32(5);
  writer.end_array(array);
  EXPECT_EQ(writer.text(), bytes({4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}));
}

TEST(DbusMessage, AnAnswerIsTakenWholeAndTheRestStays) {
  std::string input = answer() + "rest";
  Result<std::optional<DbusMessage>> message = take_dbus_message(input);
  ASSERT_TRUE(message.ok()) << message.error().what;
  ASSERT_TRUE(message->has_value());
  EXPECT_EQ((*message)->type, DbusMessage::kReturn);
  EXPECT_EQ((*message)->serial, 9u);
  EXPECT_EQ((*message)->reply_to, 7u);
  EXPECT_EQ((*message)->first_string(), "ok");
  EXPECT_EQ(input, "rest");
}

TEST(DbusMessage, EveryCutIsIncompleteAndTakesNothing) {
  for (size_t size = 0; size < answer().size(); ++size) {
    std::string input = answer().substr(0, size);
    Result<std::optional<DbusMessage>> message = take_dbus_message(input);
    ASSERT_TRUE(message.ok()) << size;
    EXPECT_FALSE(message->has_value()) << size;
    EXPECT_EQ(input.size(), size);
  }
}

TEST(DbusMessage, WhatIsNoMessageIsAnError) {
  for (auto [at, value] : {std::pair{0, 'B'}, {3, '\x02'}, {6, '\x7f'}, {14, '\x7f'}}) {
    std::string input = answer();
    input[static_cast<size_t>(at)] = value;
    EXPECT_FALSE(take_dbus_message(input).ok()) << at;
  }
}

TEST(DbusMessage, AHeaderWhoseLengthsPointOutsideIsAnError) {
  std::string input = answer();
  input[18] = 'a';  // a field of a type that no field has
  EXPECT_FALSE(take_dbus_message(input).ok());
  input = answer();
  input[28] = 100;  // a signature longer than the header
  EXPECT_FALSE(take_dbus_message(input).ok());
}

// Any byte changed to any of a few values: an answer, more to come, or an error; never a bad read
// (the sanitizers of the test build watch).
TEST(DbusMessage, NoChangedByteLeadsOutsideTheMessage) {
  for (size_t at = 0; at < answer().size(); ++at) {
    for (char value : {'\x00', '\x01', '\x7f', '\x80', '\xff', 's', 'g', 'u'}) {
      std::string input = answer();
      input[at] = value;
      Result<std::optional<DbusMessage>> message = take_dbus_message(input);
      bool whole = message.ok() && message->has_value();
      EXPECT_LE(whole ? (*message)->first_string().size() : 0, answer().size());
    }
  }
}

}  // namespace
}  // namespace caisson
