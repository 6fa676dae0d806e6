#include "warden/match.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace caisson::warden {

namespace {

// The parts after `head`, as launch/compile_warden.cpp makes them.
struct Made {
  std::string head;
  std::deque<std::string> words;
  std::vector<Part> parts;
  Pattern pattern() const {
    return {.head = head.c_str(),
            .head_size = static_cast<uint32_t>(head.size()),
            .parts = parts.data(),
            .count = static_cast<uint32_t>(parts.size()),
            .only_in_older_folder = false,
            .first = 1,
            .itself_only = false};
  }
};

Made make(std::string head, std::vector<std::string> words) {
  Made made{std::move(head), {words.begin(), words.end()}, {}};
  for (const std::string& word : made.words)
    made.parts.push_back({word.c_str(), static_cast<uint16_t>(word.size()),
                          word == "**"                                     ? Part::kAnyDepth
                          : word.find_first_of("*?[") == std::string::npos ? Part::kLiteral
                                                                           : Part::kGlob});
  return made;
}

Match match_text(const Made& made, const std::string& path) {
  return match(made.pattern(), path.c_str(), static_cast<uint32_t>(path.size()));
}
bool hits(const Made& made, const std::string& path) { return match_text(made, path).hit; }

bool glob(const std::string& text, const std::string& name) {
  Part part{text.c_str(), static_cast<uint16_t>(text.size()), Part::kGlob};
  return part_matches(part, name.c_str(), static_cast<uint32_t>(name.size()));
}

}  // namespace

TEST(WardenMatch, ALiteralCoversItselfAndWhatLiesBelow) {
  Made made = make("/a/b", {});
  EXPECT_TRUE(hits(made, "/a/b"));
  EXPECT_TRUE(hits(made, "/a/b/c"));
  EXPECT_FALSE(hits(made, "/a/bc"));
  EXPECT_FALSE(hits(made, "/a"));
}

TEST(WardenMatch, TwoStarsStandForAnyNumberOfFolders) {
  Made made = make("/p", {"**", ".bashrc"});
  EXPECT_TRUE(hits(made, "/p/.bashrc"));
  EXPECT_TRUE(hits(made, "/p/x/y/.bashrc"));
  EXPECT_TRUE(hits(made, "/p/.bashrc/below"));
  EXPECT_FALSE(hits(made, "/p/x.bashrc"));
  EXPECT_FALSE(hits(made, "/q/.bashrc"));
}

TEST(WardenMatch, AWildcardAtTheFrontNeedsNoHead) {
  Made made = make("", {"**", "*.pem"});
  EXPECT_TRUE(hits(made, "/a.pem"));
  EXPECT_TRUE(hits(made, "/x/y/b.pem"));
  EXPECT_FALSE(hits(made, "/x/b.pem2"));
}

TEST(WardenMatch, MatchedSaysHowMuchOfThePathThePatternIs) {
  EXPECT_EQ(match_text(make("/p", {"**", ".git", "hooks"}), "/p/r/.git/hooks/pre").matched,
            std::string("/p/r/.git/hooks").size());
}

TEST(WardenMatch, AncestorsAreFoldersThatLeadToTheNameByWhatTheyAre) {
  Made made = make("/home/ann", {"**", ".git", "hooks"});
  for (const char* path : {"/", "/home", "/home/ann", "/home/ann/.git", "/home/ann/x/.git"})
    EXPECT_TRUE(match_text(made, path).ancestor) << path;
  for (const char* path : {"/home/an", "/home/ann/x", "/home/ann/x/git", "/var"})
    EXPECT_FALSE(match_text(made, path).ancestor) << path;
}

TEST(WardenMatch, LoopsTellWhoLiesInThePatternsReach) {
  Made made = make("/p", {"**", ".bashrc"});
  EXPECT_EQ(match_text(made, "/p/a").loops, match_text(made, "/p/b/c").loops);
  EXPECT_NE(match_text(made, "/p/a").loops, match_text(made, "/q/a").loops);
}

TEST(WardenMatch, T06_LettersAreComparedWithoutTheirCase) {
  EXPECT_TRUE(hits(make("/p", {"**", ".bashrc"}), "/p/.BashRC"));
}

TEST(WardenMatch, GlobsKnowStarsQuestionMarksAndSets) {
  EXPECT_TRUE(glob("*.p[ek]m", "a.b.pem"));
  EXPECT_TRUE(glob("?x*", "axe"));
  EXPECT_TRUE(glob("[!a-c]*", "dog"));
  EXPECT_FALSE(glob("[!a-c]*", "bee"));
  EXPECT_TRUE(glob("[]x]", "]"));
  EXPECT_TRUE(glob("a[b", "a[b"));  // a set without an end is what it says
  EXPECT_FALSE(glob("?", ""));
  EXPECT_TRUE(glob("*", ""));
}

TEST(WardenMatch, WhatRepositoriesCarryIsNotMeantBelowNodeModules) {
  Made made = make("/p", {"**", ".vscode"});
  auto match_older = [&](const std::string& path) {
    Pattern pattern = made.pattern();
    pattern.only_in_older_folder = true;
    return match(pattern, path.c_str(), static_cast<uint32_t>(path.size()));
  };
  EXPECT_TRUE(match_older("/p/x/.vscode").hit);
  EXPECT_FALSE(match_older("/p/node_modules/x/.vscode/y").hit);
  EXPECT_TRUE(match_older("/p/my_node_modules/.vscode").hit);
  EXPECT_TRUE(match_older("/p/node_modules2/.vscode").hit);
  // What enters or leaves it changes its reach; the folder itself has that of its neighbours.
  EXPECT_NE(match_older("/p/x").loops, match_older("/p/node_modules/x").loops);
  EXPECT_EQ(match_older("/p/x").loops, match_older("/p/node_modules").loops);
  // The project itself may lie in one, and other rules hold there.
  made = make("/p/node_modules/q", {"**", ".vscode"});
  EXPECT_TRUE(match_older("/p/node_modules/q/.vscode").hit);
  EXPECT_TRUE(hits(make("/p", {"**", ".bashrc"}), "/p/node_modules/x/.bashrc"));
}

TEST(WardenMatch, ANameBeginsInTheFolderOfItsFirstPart) {
  auto begins = [](const Made& made, const std::string& path) {
    std::vector<std::string> found;
    uint32_t at = 0;
    auto size = static_cast<uint32_t>(path.size());
    while ((at = begins_at(made.pattern(), path.c_str(), size, at)) != kNowhere)
      found.push_back(path.substr(0, at++));
    return found;
  };
  using Folders = std::vector<std::string>;
  Made hooks = make("/p", {"**", ".git", "hooks"});
  EXPECT_EQ(begins(hooks, "/p/.git/hooks/pre"), Folders{"/p"});
  EXPECT_EQ(begins(hooks, "/p/x/.git/hooks"), Folders{"/p/x"});
  EXPECT_EQ(begins(hooks, "/p/x/.git"), Folders{"/p/x"});  // it leads there
  // Another one stands above it, and is not the one that is meant.
  EXPECT_EQ(begins(hooks, "/p/.git/trees/x/.git/hooks"), Folders{"/p/.git/trees/x"});
  for (const char* path : {"/p", "/p/x", "/p/.git/config", "/q/.git/hooks", "/"})
    EXPECT_EQ(begins(hooks, path), Folders{}) << path;
  // Either could be meant.
  Made modules = make("/p", {"**", ".git", "modules", "**", "hooks"});
  EXPECT_EQ(begins(modules, "/p/.git/modules/a/.git/modules/b/hooks"),
            (Folders{"/p", "/p/.git/modules/a"}));
  EXPECT_EQ(begins(modules, "/p/.git/modules/a"), Folders{"/p"});
}

TEST(WardenMatch, ANameByItselfLeavesWhatIsBelowAlone) {
  Made made = make("/p", {"**", ".git"});
  auto hits_itself = [&](const std::string& path) {
    Pattern pattern = made.pattern();
    pattern.itself_only = true;
    return match(pattern, path.c_str(), static_cast<uint32_t>(path.size())).hit;
  };
  EXPECT_TRUE(hits_itself("/p/.git"));
  EXPECT_TRUE(hits_itself("/p/x/.GIT"));
  EXPECT_FALSE(hits_itself("/p/.git/index"));
  EXPECT_FALSE(hits_itself("/p/.git/x/y"));
  EXPECT_TRUE(hits_itself("/p/.git/x/.git"));
  EXPECT_FALSE(hits_itself("/p/.gitignore"));
}

TEST(WardenMatch, GitsOwnHeadsAreThoseOfRepositories) {
  auto lies = [](const std::string& path) {
    return lies_in_repository(path.c_str(), 2 /* "/p" */, static_cast<uint32_t>(path.size()));
  };
  for (const char* path :
       {"/p/.git/HEAD", "/p/x/.git/worktrees/y/HEAD", "/p/.git/modules/a/b/HEAD",
        "/p/x.git/refs/remotes/origin/HEAD", "/p/x.git/logs/HEAD", "/p/.bare/worktrees/y/HEAD"})
    EXPECT_TRUE(lies(path)) << path;
  for (const char* path :
       {"/p", "/p/HEAD", "/p/x/HEAD", "/p/x.git/HEAD", "/p/.bare/HEAD", "/p/x.git/src/refs/HEAD",
        "/p/x/refs/HEAD", "/p/.GIT/HEAD", "/p/.git", "/p/.gitx/HEAD", "/p/x/.git", "/p/x.git/refs"})
    EXPECT_FALSE(lies(path)) << path;
  // What stands above the pattern's reach is no excuse.
  std::string path = "/p/.git/x/HEAD";
  EXPECT_FALSE(lies_in_repository(path.c_str(), 7, static_cast<uint32_t>(path.size())));
}

TEST(WardenMatch, ManyStarsAreNoWorkWithoutEnd) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "*a";
  EXPECT_FALSE(glob(text + "b", std::string(255, 'a')));
}

TEST(WardenMatch, OneCharacterIsAWholeOneOfUtf8) {
  EXPECT_TRUE(glob("k?.key", "k\u00e9.key"));
  EXPECT_TRUE(glob("k?.key", "k\U0001f511.key"));
  EXPECT_FALSE(glob("k??.key", "k\u00e9.key"));
  EXPECT_TRUE(glob("*?", "\u00e9"));
  EXPECT_TRUE(glob("k[\u00e0-\u00ff]", "k\u00e9"));
  EXPECT_TRUE(glob("k[!a]", "k\u00e9"));
  EXPECT_FALSE(glob("k[!\u00e9]", "k\u00e9"));
  EXPECT_FALSE(glob("k[\u00e0\u00e1]", "k\u00e9"));
  // Bytes that are no character are one each.
  EXPECT_TRUE(glob("k?.key", "k\xff.key"));
  EXPECT_TRUE(glob("k??", "k\xc3z"));
}

TEST(WardenMatch, WhatIsGrantedIsGrantedWithItsLettersAsTheyAre) {
  Made made = make("/P", {"**", "pub*"});
  Pattern granted = made.pattern();
  granted.letters = Letters::kExact;
  auto hit = [&](const Pattern& pattern, const std::string& path) {
    return match(pattern, path.c_str(), static_cast<uint32_t>(path.size())).hit;
  };
  EXPECT_TRUE(hit(granted, "/P/x/public"));
  for (const char* path : {"/P/x/PUBLIC", "/p/x/public"}) {
    EXPECT_FALSE(hit(granted, path)) << path;
    EXPECT_TRUE(hit(made.pattern(), path)) << path;
  }
}

}  // namespace caisson::warden
