// What the warden judges by, flattened to plain data before clone: the warden allocates nothing.
#pragma once

#include <stdint.h>

namespace caisson::warden {

struct Part {
  enum Kind : uint8_t { kLiteral, kGlob, kAnyDepth };
  const char* text;
  uint16_t size;
  Kind kind;
};

// Letters of what is denied are compared without their case: a folder of ext4 or a share can be
// told to do the same, and then ".BASHRC" is ".bashrc" (T06). What is granted is that name and no
// other.
enum class Letters : uint8_t { kAnyCase, kExact };

constexpr unsigned kMostParts = 60;  // the states of a match are the bits of one word

struct Pattern {
  const char* head;  // "/home/ann/project": the literal start, without a slash at its end
  uint32_t head_size;
  const Part* parts;  // what comes after it
  uint32_t count;
  bool only_in_older_folder;
  // Which part's folder has to be older; `count`: that of the last name, whatever it is.
  uint32_t first;
  bool itself_only;       // not what lies below
  bool new_file_only;     // and only that a file comes to have the name
  bool way_only = false;  // not even itself: it and the folders above it stay where they are
  Letters letters = Letters::kAnyCase;
};

struct Rules {
  const Pattern* deny_write;
  uint32_t deny_write_count;
  const Pattern* deny_read;
  uint32_t deny_read_count;
  const Pattern* allow_read;
  uint32_t allow_read_count;
  const char* const* sockets;  // that may be connected to
  uint32_t socket_count;
  int report_fd;  // -1: nobody is told
  bool own_network;
  // Mutants clear one.
  bool judge_names, judge_renames, judge_links, judge_reads, judge_sockets, judge_places;
  bool judge_socket_places, judge_through_links;
};

// One refusal, as the supervisor hears of it.
enum class Refused : uint32_t { kWrite = 1, kRead, kReadOnly, kSocket, kFormerFolder };
struct Report {
  Refused what;
  uint32_t rule;  // the pattern's index; kNoRule for the last three
  uint32_t size;
  char path[1024];
};
constexpr uint32_t kNoRule = 0xffffffff;

}  // namespace caisson::warden
