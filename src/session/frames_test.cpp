#include "session/frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace caisson::session {
namespace {

std::string frame(uint8_t type, uint32_t request, std::string_view body) {
  return encode_frame(static_cast<FrameType>(type & 0x7f), type & 0x80, request, body);
}

Result<std::optional<Frame>> read_one(std::string_view bytes, std::vector<ForeignFd> fds = {}) {
  FrameReader reader;
  if (Result<void> fed = reader.feed(bytes, std::move(fds)); !fed) return fed.error();
  return reader.next();
}

std::vector<ForeignFd> one_descriptor() {
  std::vector<ForeignFd> fds;
  fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fds;
}

TEST(Frames, AFrameIsLengthTypeRequestBodyLittleEndian) {
  EXPECT_EQ(encode_frame(FrameType::kExec, false, 0x01020304, "ab"),
            std::string("\x02\0\0\0\x02\x04\x03\x02\x01"
                        "ab",
                        11));
  EXPECT_EQ(encode_frame(FrameType::kExec, true, 0, "")[4], static_cast<char>(0x82));
  EXPECT_EQ(encode_prefix({.timeout_ms = 1, .grace_ms = 2, .descriptors = 3}),
            std::string("\x01\0\0\0\x02\0\0\0\0\x03", 10));
}

TEST(Frames, WhatComesInPiecesIsPutTogether) {
  std::string bytes = frame(66, 7, "\0{}") + frame(69, 8, "x");
  FrameReader reader;
  std::vector<Frame> seen;
  for (char byte : bytes) {
    ASSERT_TRUE(reader.feed({&byte, 1}, {}).ok());
    Result<std::optional<Frame>> next = reader.next();
    ASSERT_TRUE(next.ok());
    if (*next) seen.push_back(std::move(**next));
  }
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].type, FrameType::kResult);
  EXPECT_EQ(seen[0].request, 7u);
  EXPECT_EQ(seen[1].body, "x");
}

TEST(Frames, AFrameBeyondTheBoundIsRefusedBeforeItsBodyComes) {
  std::string head("\x01\0\x10\0\x42\0\0\0\0", 9);  // 1 MiB and one byte
  EXPECT_FALSE(read_one(head).ok());
  head[0] = 0;
  EXPECT_TRUE(read_one(head).ok());  // the bound itself is waited for
}

TEST(Frames, ATypeThatIsNotTheKeepersIsRefused) {
  for (int type : {0, 1, 2, 16, 17, 64, 75, 96, 127})
    EXPECT_FALSE(read_one(frame(static_cast<uint8_t>(type), 0, "")).ok()) << type;
  for (int type = 65; type <= 74; ++type)
    EXPECT_TRUE(read_one(frame(static_cast<uint8_t>(type), 0, "")).ok()) << type;
}

TEST(Frames, AZygoteSaysOneWordOnly) {
  for (int type : {1, 2, 3, 65, 66, 72}) {
    FrameReader reader(Speaker::kZygote);
    ASSERT_TRUE(reader.feed(frame(static_cast<uint8_t>(type), 0, "{}"), {}).ok());
    EXPECT_EQ(reader.next().ok(), type == 2) << type;
  }
}

TEST(Frames, ASpilledBodyNeedsItsDescriptor) {
  EXPECT_FALSE(read_one(frame(66 | 0x80, 1, "\0")).ok());
  Result<std::optional<Frame>> whole = read_one(frame(66 | 0x80, 1, "\0"), one_descriptor());
  ASSERT_TRUE(whole.ok() && *whole);
  EXPECT_TRUE((*whole)->spilled);
}

TEST(Frames, DescriptorsThatBelongToNothingEndTheLane) {
  FrameReader reader;
  bool refused = false;
  for (int i = 0; i < 100 && !refused; ++i) refused = !reader.feed("", one_descriptor()).ok();
  EXPECT_TRUE(refused);
}

TEST(Frames, ASealedMemfdIsReadBack) {
  std::string bytes(3 << 20, 'x');
  Result<UniqueFd> made = sealed_memfd("test", bytes);
  ASSERT_TRUE(made.ok());
  ForeignFd fd(made->release());
  Result<std::string> back = read_sealed(fd, bytes.size());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, bytes);
  EXPECT_FALSE(read_sealed(fd, bytes.size() - 1).ok());
  EXPECT_EQ(::write(fd.get(), "y", 1), -1);
}

TEST(Frames, WhatCanStillChangeIsNotRead) {
  ForeignFd open{::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(::write(open.get(), "abc", 3), 3);
  EXPECT_FALSE(read_sealed(open, 100).ok());
  ASSERT_EQ(::fcntl(open.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_FALSE(read_sealed(open, 100).ok());
  ASSERT_EQ(::fcntl(open.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_TRUE(read_sealed(open, 100).ok());
}

TEST(Frames, WhatWouldBeWaitedForIsNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ForeignFd reader{ends[0]}, writer{ends[1]};
  EXPECT_FALSE(read_sealed(reader, 100).ok());
  ForeignFd zero{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
  EXPECT_FALSE(read_sealed(zero, 100).ok());
}

}  // namespace
}  // namespace caisson::session
