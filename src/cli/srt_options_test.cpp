#include "cli/srt_options.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using Verb = SrtOptions::Verb;
using Words = std::vector<std::string>;

SrtOptions read(const Words& words) {
  Result<SrtOptions> options = read_srt_options(words);
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.error().what);
  return options.ok() ? *options : SrtOptions{};
}
bool refused(const Words& words) { return !read_srt_options(words).ok(); }

TEST(SrtOptions, EndAtTheFirstWordOfTheCommand) {
  SrtOptions options = read({"-d", "curl", "-sS", "-c", "-d", "--version", "URL"});
  EXPECT_TRUE(options.debug);
  EXPECT_EQ(options.verb, Verb::kRun);
  EXPECT_FALSE(options.has_shell_text);
  EXPECT_EQ(options.words, (Words{"curl", "-sS", "-c", "-d", "--version", "URL"}));
}

TEST(SrtOptions, EndAtTwoDashes) {
  EXPECT_EQ(read({"--", "-d"}).words, Words{"-d"});
  EXPECT_EQ(read({"--", "validate", "x"}).verb, Verb::kRun);
  EXPECT_EQ(read({"echo", "--", "x"}).words, (Words{"echo", "--", "x"}));
}

TEST(SrtOptions, ValuesStandBehindOrInTheWord) {
  EXPECT_EQ(read({"-s", "f", "true"}).settings_file, "f");
  EXPECT_EQ(read({"-sf", "true"}).settings_file, "f");
  EXPECT_EQ(read({"--settings=f", "true"}).settings_file, "f");
  EXPECT_EQ(read({"-c", "echo x"}).shell_text, "echo x");
  EXPECT_TRUE(read({"-c", ""}).has_shell_text);
}

TEST(SrtOptions, WhatIsWrongIsRefused) {
  EXPECT_TRUE(refused({"--setings", "f"}));
  EXPECT_TRUE(refused({"-s"}));
  EXPECT_TRUE(refused({"--settings="}));
  EXPECT_TRUE(refused({"--debug=1", "true"}));
  EXPECT_TRUE(refused({"--control-fd", "1", "true"}));       // not the standard ones
  EXPECT_TRUE(refused({"--control-fd", "999999", "true"}));  // nobody left it open
  EXPECT_TRUE(refused({"--control-fd", "x", "true"}));
  EXPECT_TRUE(refused({"proxy", "--listen", "x"}));
  EXPECT_TRUE(refused({"windows-install"}));
}

TEST(SrtOptions, VerbsTakeTheirOptionsOnEitherSide) {
  SrtOptions validate = read({"validate", "f", "--json"});
  EXPECT_EQ(validate.verb, Verb::kValidate);
  EXPECT_TRUE(validate.json);
  EXPECT_EQ(validate.words, Words{"f"});
  SrtOptions wrap = read({"wrap", "--json", "-s", "f", "--", "ls", "-l"});
  EXPECT_EQ(wrap.verb, Verb::kWrap);
  EXPECT_EQ(wrap.settings_file, "f");
  EXPECT_EQ(wrap.words, (Words{"ls", "-l"}));
  EXPECT_EQ(read({"--version", "x"}).verb, Verb::kVersion);
  EXPECT_EQ(read({"-h"}).verb, Verb::kHelp);
}

}  // namespace
}  // namespace caisson
