#include "gateway/chunks.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

struct Decoded {
  std::string body;
  bool done = false, bad = false;
  size_t used = 0;
};

// Gives the bytes in pieces of `step`.
Decoded decode(std::string_view bytes, size_t step) {
  Decoded result;
  ChunkDecoder decoder;
  std::string buffer;
  for (size_t at = 0; at < bytes.size(); at += step) {
    buffer += bytes.substr(at, step);
    for (;;) {
      ChunkDecoder::Step next = decoder.next(buffer);
      result.body += next.piece;
      result.used += next.used;
      buffer.erase(0, next.used);
      result.bad |= next.bad;
      result.done |= next.done;
      if (result.bad || result.done) return result;
      if (next.used == 0) break;
    }
  }
  return result;
}

TEST(Chunks, AreJoinedWhereverTheyAreCut) {
  std::string_view bytes = "5\r\nhello\r\nA;ext=\"x\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Decoded decoded = decode(bytes, step);
    EXPECT_EQ(decoded.body, "hello0123456789");
    EXPECT_TRUE(decoded.done);
    EXPECT_EQ(decoded.used, bytes.size() - 3);
  }
}

TEST(Chunks, RefusesWhatIsNotOne) {
  for (std::string_view bytes : {"\r\n", "x\r\n", "-1\r\n", "0x5\r\nhello\r\n", "5\nhello\r\n",
                                 "5\r\nhelloXX", "10000000000000000\r\n", "5 5\r\nhello\r\n",
                                 "5\r\nhello\n0\r\n\r\n", "0\r\nbad\x01trailer\r\n\r\n"})
    EXPECT_TRUE(decode(bytes, bytes.size()).bad) << bytes;
}

TEST(Chunks, BoundsSizeLinesAndTrailers) {
  EXPECT_TRUE(decode("5;" + std::string(5000, 'x'), 512).bad);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 2000; ++i) trailers += "Trailer: xx\r\n";
  EXPECT_TRUE(decode(trailers, 512).bad);
}

}  // namespace
}  // namespace caisson
