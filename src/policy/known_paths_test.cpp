#include "policy/known_paths.h"

#include <gtest/gtest.h>

#include "policy/fake_host_files.h"

namespace caisson {

namespace {

// Counts what is asked of the host.
class CountedFiles : public FakeHostFiles {
 public:
  Name name_at(const std::string& path) const override {
    ++asked;
    return FakeHostFiles::name_at(path);
  }
  mutable int asked = 0;
};

TEST(KnownPaths, AnswersAsTheHostDoes) {
  FakeHostFiles files;
  files.folder("/home/ann/project").link("/home/ann/link", "/home/ann/project");
  files.file("/home/ann/project/file");
  KnownPaths paths(files);
  for (const char* path :
       {"/", "/home", "/home/ann/project/file", "/home/ann/link", "/home/ann/link/file",
        "/home/ann/absent", "/home/ann/absent/below", "/home/ann/link/absent"})
    EXPECT_EQ(paths.canonical(path), files.canonical(path)) << path;
}

TEST(KnownPaths, LooksAtEachNameOnce) {
  CountedFiles files;
  files.folder("/home/ann/project");
  KnownPaths paths(files);
  EXPECT_EQ(paths.canonical("/home/ann/project"), "/home/ann/project");
  int folders = files.asked;
  EXPECT_EQ(paths.canonical("/home/ann/project"), "/home/ann/project");
  EXPECT_EQ(files.asked, folders);
  EXPECT_EQ(paths.canonical("/home/ann/project/**/.bashrc"), std::nullopt);
  EXPECT_EQ(paths.canonical("/home/ann/project/**/.profile"), std::nullopt);
  EXPECT_EQ(files.asked, folders + 1);  // "**" is not there, and so is nothing below it
}

}  // namespace

}  // namespace caisson
