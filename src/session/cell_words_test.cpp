#include "session/cell_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace caisson::session {
namespace {

TEST(CellWords, ANameIsOnePathComponentAndNoOption) {
  for (const char* name : {"a", "A1", "my-session_2.x", "0"}) EXPECT_TRUE(check_name(name).ok());
  for (const char* name : {"", ".", "..", "-a", "_a", "a/b", "a b", "a\n", "é"})
    EXPECT_FALSE(check_name(name).ok()) << name;
  EXPECT_TRUE(check_name(std::string(64, 'x')).ok());
  EXPECT_FALSE(check_name(std::string(65, 'x')).ok());
}

TEST(CellWords, LimitsComeFromTheSpecAndThePolicysWordsAfter) {
  SessionSpec spec;
  spec.memory_bytes = 1000;
  spec.cpu_millis = 1500;
  spec.policy_words = {"--memory", "2G"};
  std::vector<std::string> words = cell_words(spec, "/w", {"keeper", "3"});
  std::string line = join(words, " ");
  EXPECT_NE(line.find("--memory 1000 --cpu 1.500 --pids 256 --timeout none"), std::string::npos);
  EXPECT_NE(line.find("--workspace /w --memory 2G -- python3 -I /proc/self/fd/4 keeper 3"),
            std::string::npos)
      << line;
}

TEST(CellWords, AKeeperMayOpenMoreFilesThanTheCodeThatItKeeps) {
  SessionSpec spec;
  auto line = [&spec] { return join(cell_words(spec, "", {"keeper", "3"}), " "); };
  EXPECT_NE(line().find("--files 4096 "), std::string::npos) << line();
  spec.policy_words = {"--files", "2000"};
  EXPECT_NE(line().find("--files 8000 -- "), std::string::npos) << line();
  spec.policy_words = {"--files", "100"};  // fewer than is usual: then for both
  EXPECT_NE(line().find("--files 100 -- "), std::string::npos) << line();
  spec.policy_words = {"--files", "9999999999"};  // for the policy to refuse
  EXPECT_NE(line().find("--files 9999999999 -- "), std::string::npos) << line();
}

TEST(CellWords, NothingOfTheSpecBecomesAnOptionOfItsOwn) {
  SessionSpec spec;
  spec.name = "a";
  spec.preload = {"--allow-network"};
  EXPECT_FALSE(check_spec(spec).ok());
  spec.preload = {"numpy.linalg"};
  EXPECT_TRUE(check_spec(spec).ok());
  spec.workspace = "--allow-network";
  EXPECT_FALSE(check_spec(spec).ok());
}

}  // namespace
}  // namespace caisson::session
