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

TEST(CellWords, LimitsComeFromTheSpecAndThePolicysWordsAreApart) {
  SessionSpec spec;
  spec.memory_bytes = 1000;
  spec.cpu_millis = 1500;
  spec.policy_words = {"--memory", "2G", "--env", "KEY=secret"};
  std::string line = join(cell_words(spec, "/w"), " ");
  EXPECT_NE(line.find("--memory 1000 --cpu 1.500 --pids 256 --timeout none"), std::string::npos);
  EXPECT_TRUE(line.ends_with(" --workspace /w")) << line;
  EXPECT_EQ(line.find("secret"), std::string::npos) << line;
  EXPECT_EQ(private_words(spec), spec.policy_words);
  EXPECT_EQ(join(cell_command(spec, {"keeper", "3"}), " "), "python3 -I /proc/self/fd/4 keeper 3");
}

TEST(CellWords, AKeeperMayOpenMoreFilesThanTheCodeThatItKeeps) {
  SessionSpec spec;
  auto files = [&spec] { return join(private_words(spec), " "); };
  std::string line = join(cell_words(spec, ""), " ");
  EXPECT_NE(line.find("--files 4096 "), std::string::npos) << line;
  spec.policy_words = {"--files", "2000"};
  EXPECT_EQ(files(), "--files 8000");
  spec.policy_words = {"--files", "100"};  // fewer than is usual: then for both
  EXPECT_EQ(files(), "--files 100");
  spec.policy_words = {"--files", "9999999999"};  // for the policy to refuse
  EXPECT_EQ(files(), "--files 9999999999");
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

TEST(CellWords, FilesOfSecrets) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(
      files_of_secrets({"--secret", "A=file:/k@x@h.example", "--secret=B=file:~/l@h", "--tty"}),
      (Words{"/k@x", "~/l"}));
  EXPECT_EQ(files_of_secrets({"--secret", "A=file:k@h"}), Words{"/k"});
  EXPECT_EQ(files_of_secrets({"--secret", "A=env:K@h", "--secret=no", "--secret", "A=file:@h",
                              "A=file:/k@h", "--secret"}),
            Words{});
}

}  // namespace
}  // namespace caisson::session
