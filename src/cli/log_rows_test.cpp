#include "cli/log_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "run/timestamp.h"

namespace caisson {
namespace {

namespace json = boost::json;

AuditEntry entry(json::object event, int64_t time_ms = 0) {
  AuditEntry made;
  made.time = format_timestamp(time_ms);
  made.event = std::move(event);
  return made;
}
AuditEntry start(std::string id, json::array argv = {"true"}, int64_t pid = 1) {
  return entry({{"kind", "start"},
                {"id", id},
                {"tier", "process"},
                {"who", json::object{{"pid", pid}}},
                {"argv", std::move(argv)}});
}
AuditEntry end(std::string id) {
  return entry({{"kind", "end"},
                {"id", id},
                {"status", "exited"},
                {"returncode", 3},
                {"duration_ms", 1.94}});
}

TEST(LogRows, AStartAndItsEndAreOneRow) {
  LogRows rows;
  LogRow begun = rows.add(start("a", {"sh", "-c", "echo 1; echo 2"}), 1);
  EXPECT_EQ(begun.status, "running");
  EXPECT_FALSE(begun.ended);
  rows.add(start("b"), 2);
  LogRow row = rows.add(end("a"), 3);
  EXPECT_TRUE(row.ended);
  EXPECT_EQ(row.first_line, 1u);
  EXPECT_EQ(row.last_line, 3u);
  EXPECT_EQ(format_log_row(row, {}),
            "1970-01-01T00:00:00Z  a         exited          3     1.9ms  "
            "sh -c 'echo 1; echo 2'\n");
  EXPECT_EQ(rows.open().size(), 1u);
}

TEST(LogRows, AStartWithoutEndIsRunningOrSaysSo) {
  LogRows rows([](int64_t pid, int64_t) { return pid == 7; });
  rows.add(start("alive", {"x"}, 7), 1);
  rows.add(start("dead", {"x"}, 8), 2);
  for (const LogRow& row : rows.open())
    EXPECT_EQ(row.status, row.id == "alive" ? "running" : "no-end");
  LogRow dead = rows.open()[rows.open()[0].id == "dead" ? 0 : 1];
  EXPECT_NE(format_log_row(dead, {}).find("no end on record"), std::string::npos);
}

TEST(LogRows, APidThatWentToAnotherProcessDoesNotCount) {
  EXPECT_TRUE(process_still_runs(::getpid(), now_ms()));
  EXPECT_FALSE(process_still_runs(::getpid(), 0));  // the event is older than the process
  EXPECT_FALSE(process_still_runs(0, now_ms()));
  EXPECT_FALSE(process_still_runs(-1, now_ms()));
}

TEST(LogRows, AnEndWithoutStartIsShown) {
  LogRow row = LogRows().add(end("a"), 1);
  EXPECT_TRUE(row.ended);
  EXPECT_NE(format_log_row(row, {}).find("no start on record"), std::string::npos);
}

TEST(LogRows, OtherEventsAreRowsOfTheirOwn) {
  LogRow row = LogRows().add(entry({{"kind", "chain_broken"}, {"reason", "cut at the end"}}), 1);
  EXPECT_EQ(row.status, "chain_broken");
  EXPECT_NE(format_log_row(row, {}).find("cut at the end"), std::string::npos);
}

// T42: what a cell was called with can't steer the terminal of whoever looks at the record.
TEST(LogRows, TextFromACellCannotSteerATerminal) {
  json::array argv{"\x1b]52;c;eA==\x07",
                   "\xc2\x9b"
                   "2J",
                   "a\nb", "\x7f"};
  LogRow row = LogRows().add(start("\x1b[2J", std::move(argv)), 1);
  row.status = row.tier = "\x1b[31m";
  std::string line = format_log_row(row, {});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  line.pop_back();
  for (char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos);
  EXPECT_NE(line.find("\\x1b]52"), std::string::npos);
}

TEST(LogRows, FitsTheWidthInCharacters) {
  LogRow row{.command = "ääääääääääääääääääääääääääääääääää"};
  std::string line = format_log_row(row, 90);
  size_t characters = 0;
  for (char c : line) characters += (c & 0xc0) != 0x80;
  EXPECT_EQ(characters, 91u);  // and the newline
}

TEST(LogRows, EventsOfAnyShapeAreTaken) {
  for (const json::value& odd :
       {json::value(nullptr), json::value(1), json::value("x"),
        json::value(json::array{1, nullptr}), json::value(json::object())}) {
    LogRows rows;
    for (const char* kind : {"start", "end", "other"}) {
      json::object event{{"kind", kind}};
      for (const char* key : {"id", "argv", "who", "tier", "status", "returncode", "duration_ms"})
        event[key] = odd;
      EXPECT_TRUE(format_log_row(rows.add(entry(event), 1), 200).ends_with("\n"));
    }
  }
  json::object large{{"kind", "end"}, {"duration_ms", 1e300}, {"returncode", UINT64_MAX}};
  EXPECT_FALSE(LogRows().add(entry(large), 1).returncode.has_value());
}

TEST(LogRows, FiltersMatchAllThatAreGiven) {
  LogRow row{.time_ms = 1000, .id = "abc", .status = "ok"};
  EXPECT_TRUE(matches(row, {}));
  EXPECT_TRUE(matches(row, {.since_ms = 1000, .status = "ok", .id_prefix = "ab"}));
  EXPECT_FALSE(matches(row, {.since_ms = 1001}));
  EXPECT_FALSE(matches(row, {.status = "exited"}));
  EXPECT_FALSE(matches(row, {.id_prefix = "b"}));
}

}  // namespace
}  // namespace caisson
