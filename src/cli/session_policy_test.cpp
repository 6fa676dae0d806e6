#include "cli/session_policy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/folder_fixture.h"

namespace caisson {
namespace {

using Words = std::vector<std::string>;

class SessionPolicyTest : public FolderFixture {
 protected:
  SessionPolicyTest() {
    caller_.home = "/home/ada";
    caller_.cwd = "/project";
  }
  Words whole(const Words& words) const {
    Result<Words> out = whole_session_words(words, caller_, "/folder");
    return out ? *out : Words{"an error"};
  }
  bool is_read(const Words& words) const {
    Result<std::optional<SessionPolicy>> read = read_session_policy(words, caller_);
    return read.ok();
  }

  Caller caller_;
};

TEST_F(SessionPolicyTest, FilesAreNamedFromWhereTheWordsWereWritten) {
  EXPECT_EQ(whole({"--secret", "A=file:k@h.example"}),
            (Words{"--secret", "A=file:/project/k@h.example"}));
  EXPECT_EQ(whole({"--secret=A=file:~/k@x,y@h.example;body", "--policy", "p"}),
            (Words{"--secret=A=file:/home/ada/k@x,y@h.example;body", "--policy", "/project/p"}));
  EXPECT_EQ(whole({"--settings", "s"}),
            (Words{"--settings-folder", "/folder", "--settings", "/project/s"}));
  for (const Words& same : {Words{"--secret", "A=file:/k@h"}, Words{"--secret", "A=env:k@h"},
                            Words{"--secret", "no secret"}, Words{"--secret"}, Words{}})
    EXPECT_EQ(whole(same), same);
}

TEST_F(SessionPolicyTest, ValuesOfOthersAreNoOptions) {
  for (const Words& same :
       {Words{"--env", "--secret", "--tty"}, Words{"--mount", "a:/b"},
        Words{"ls", "--secret", "A=file:k@h"}, Words{"--", "--secret", "A=file:k@h"}})
    EXPECT_EQ(whole(same), same);
  EXPECT_EQ(whole({"--tty", "--env", "A=--secret", "--secret", "A=file:k@h"}),
            (Words{"--tty", "--env", "A=--secret", "--secret", "A=file:/project/k@h"}));
}

TEST_F(SessionPolicyTest, AFolderThatIsGoneIsAnError) {
  caller_.cwd = "";
  EXPECT_EQ(whole({"--secret", "A=file:k@h"}), Words{"an error"});
  EXPECT_EQ(whole({"--secret", "A=file:/k@h"}), (Words{"--secret", "A=file:/k@h"}));
}

TEST_F(SessionPolicyTest, ASecretThatDependsOnWhereOneIsIsRefused) {
  EXPECT_FALSE(is_read({"--secret", "A=file:k@h.example"}));
  EXPECT_TRUE(is_read({"--secret", "A=file:/k@h.example"}));
  EXPECT_TRUE(is_read({"--secret", "A=file:~/k@h.example"}));
  std::string policy = top_ + "/policy.json";
  std::ofstream(policy) << R"({"network": {"secrets": ["A=file:k@h.example"]}})";
  EXPECT_FALSE(is_read({"--policy", policy}));
}

TEST_F(SessionPolicyTest, WhatExecRefusesIsNoPolicy) {
  for (const Words& words : {Words{"--nonsense"}, Words{"--policy", "/p", "--settings", "/s"}}) {
    Result<std::optional<SessionPolicy>> read = read_session_policy(words, caller_);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->has_value());
  }
}

TEST_F(SessionPolicyTest, OneSettingsFile) {
  EXPECT_EQ(*settings_of_sessions("", Words{"--settings", "/b"}), "/b");
  EXPECT_EQ(*settings_of_sessions("/a", Words{"--tty"}), "/a");
  EXPECT_EQ(*settings_of_sessions("/a", Words{"--settings=/a"}), "/a");
  EXPECT_FALSE(settings_of_sessions("/a", Words{"--settings", "/b"}).ok());
}

}  // namespace
}  // namespace caisson
