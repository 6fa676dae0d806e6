#include "session/output_pipes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace caisson::session {
namespace {

TEST(OutputPipes, OnlyTheReadersNeverBlock) {
  OutputPipes made = OutputPipes::make().value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(::fcntl(made.readers[i].get(), F_GETFL) & O_NONBLOCK);
    EXPECT_FALSE(::fcntl(made.writers[i].get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(made.writers[i].get(), F_GETFD) & FD_CLOEXEC);
  }
}

// What one call has left in its pipe is not in the next one's.
TEST(OutputPipes, EachCallHasItsOwn) {
  PipesAhead ahead;
  ahead.refill();
  OutputPipes first = ahead.take().value();
  ahead.refill();
  ahead.refill();
  OutputPipes second = ahead.take().value(), third = ahead.take().value();
  ASSERT_EQ(::write(first.writers[0].get(), "x", 1), 1);
  char found = 0;
  EXPECT_EQ(::read(second.readers[0].get(), &found, 1), -1);
  EXPECT_EQ(::read(third.readers[0].get(), &found, 1), -1);
  EXPECT_EQ(::read(first.readers[0].get(), &found, 1), 1);
}

}  // namespace
}  // namespace caisson::session
