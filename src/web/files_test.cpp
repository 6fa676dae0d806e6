#include "web/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include "base/large_folder.h"
#include "session/frames.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::FileDeed;

Task<> count_turns(Loop& loop, const bool& done, size_t& turns) {
  for (; !done; ++turns) co_await boost::asio::post(loop.get_executor(), session::kAwait);
}

template <typename T>
Task<> keep(Task<T> work, std::optional<T>& to, bool& done) {
  to.emplace(co_await std::move(work));
  done = true;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class WebFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(top_), nullptr);
    folder_ = std::string(top_) + "/workspace";
    outside_ = std::string(top_) + "/outside";
    ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
    ASSERT_EQ(::mkdir(outside_.c_str(), 0700), 0);
    workspace_.emplace(Workspace::open(outside_).value());
    ASSERT_TRUE(write({"secret"}, "secret").ok());
    workspace_.emplace(Workspace::open(folder_).value());
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void link(const std::string& to, const std::string& name) {
    ASSERT_EQ(::symlink(to.c_str(), (folder_ + "/" + name).c_str()), 0);
  }

  // What it comes to; `turns_`: how often others had theirs.
  template <typename Make>
  auto run(Make make) {
    Loop loop{1};
    session::Slices slices(loop);
    auto work = make(loop, slices);
    std::optional<typename decltype(work)::value_type> result;
    bool done = false;
    turns_ = 0;
    spawn(loop, keep(std::move(work), result, done));
    spawn(loop, count_turns(loop, done, turns_));
    loop.run();
    return std::move(*result);
  }
  static Result<std::string> text_of(Result<UniqueFd> memory) {
    if (!memory) return memory.error();
    return session::read_sealed(session::ForeignFd(memory->release()), kLargestFile);
  }
  Result<std::string> read(const Workspace::Parts& parts) {
    return text_of(
        run([&](Loop&, session::Slices& slices) { return workspace_->read(slices, parts); }));
  }
  Result<json::array> list(const Workspace::Parts& parts) {
    Result<std::string> text = text_of(
        run([&](Loop&, session::Slices& slices) { return workspace_->list(slices, parts); }));
    if (!text) return text.error();
    return json::parse(*text).at("files").as_array();
  }
  Result<void> write(const Workspace::Parts& parts, std::string_view bytes) {
    UniqueFd memory = session::sealed_memfd("test", bytes).value();
    return run([&](Loop&, session::Slices& slices) {
      return workspace_->write(slices, parts, memory.get());
    });
  }
  Result<session::FileAnswer> work(session::FileDeed deed, const std::string& path,
                                   const std::string& bytes = {}) {
    UniqueFd memory = session::sealed_memfd("test", bytes).value();
    Result<session::FileDone> done = run([&](Loop& loop, session::Slices&) {
      return work_on_file(loop, {deed, folder_, path, std::move(memory)});
    });
    if (!done) return done.error();
    return session::FileAnswer{done->is_listing, text_of(std::move(done->bytes)).value()};
  }

  char top_[32] = "/tmp/caisson-files-XXXXXX";
  std::string folder_, outside_;
  std::optional<Workspace> workspace_;
  size_t turns_ = 0;
};

TEST_F(WebFiles, WritesReadsListsAndRemoves) {
  ASSERT_TRUE(write({"a", "b", "c"}, "text").ok());
  EXPECT_EQ(*read({"a", "b", "c"}), "text");
  EXPECT_TRUE(*workspace_->is_folder({"a"}));
  EXPECT_EQ(list({"a", "b"})->size(), 1u);
  ASSERT_TRUE(write({"a", "b", "c"}, "shorter").ok());
  EXPECT_EQ(*read({"a", "b", "c"}), "shorter");
  EXPECT_EQ(list({"a", "b"})->size(), 1u);  // no draft is left
  EXPECT_TRUE(workspace_->remove({"a", "b", "c"}).ok());
  EXPECT_TRUE(workspace_->remove({"a", "b"}).ok());
  EXPECT_EQ(read({"a", "b", "c"}).error().errnum, ENOENT);
}

TEST_F(WebFiles, FollowsNoLink) {
  link(outside_ + "/secret", "file");
  link(outside_, "folder");
  link("../outside", "relative");
  link("/proc/self/root", "magic");
  for (const Workspace::Parts& parts : {Workspace::Parts{"file"},
                                        {"folder", "secret"},
                                        {"relative", "secret"},
                                        {"magic", "etc", "passwd"}}) {
    EXPECT_FALSE(read(parts).ok()) << parts[0];
  }
  EXPECT_FALSE(write({"folder", "planted"}, "x").ok());
  EXPECT_FALSE(workspace_->remove({"folder", "secret"}).ok());
  EXPECT_FALSE(list({"folder"}).ok());
  EXPECT_EQ(::access((outside_ + "/secret").c_str(), F_OK), 0);
  EXPECT_NE(::access((outside_ + "/planted").c_str(), F_OK), 0);
}

TEST_F(WebFiles, AWriteReplacesALinkAndNotItsTarget) {
  link(outside_ + "/secret", "file");
  ASSERT_TRUE(write({"file"}, "mine").ok());
  EXPECT_EQ(content(outside_ + "/secret"), "secret");
  EXPECT_EQ(*read({"file"}), "mine");
}

TEST_F(WebFiles, RefusesNamesThatLeadElsewhere) {
  for (const Workspace::Parts& parts : {Workspace::Parts{".."},
                                        {"..", "outside", "secret"},
                                        {"a/../../outside"},
                                        {"."},
                                        {""},
                                        {std::string("a\0b", 3)},
                                        {std::string(300, 'x')}}) {
    EXPECT_FALSE(read(parts).ok());
    EXPECT_FALSE(write(parts, "x").ok());
    EXPECT_FALSE(workspace_->remove(parts).ok());
  }
  EXPECT_FALSE(write({}, "x").ok());
}

TEST_F(WebFiles, ReadsPlainFilesOnly) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read({"pipe"}).ok());  // and doesn't wait for a writer
  EXPECT_FALSE(read({}).ok());
}

// A lease makes open(2) wait or fail until its holder lets go: in a cell that is never.
TEST_F(WebFiles, AFileWithALeaseIsInUseAndNotWaitedFor) {
  ASSERT_TRUE(write({"leased"}, "x").ok());
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGIO, &ignore, &before);  // how the holder of a lease is asked to let go
  UniqueFd holder(::open((folder_ + "/leased").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
  EXPECT_EQ(read({"leased"}).error().errnum, EAGAIN);
  ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_EQ(*read({"leased"}), "x");
  ::sigaction(SIGIO, &before, nullptr);
}

TEST_F(WebFiles, BoundsWhatItReads) {
  ASSERT_TRUE(write({"huge"}, "").ok());
  ASSERT_EQ(::truncate((folder_ + "/huge").c_str(), 1LL << 40), 0);
  EXPECT_EQ(read({"huge"}).error().errnum, EFBIG);
}

// What a cell has filled and emptied is as large as before, and takes as long to be read.
TEST_F(WebFiles, DoesNotListAFolderThatIsTooLarge) {
  ASSERT_TRUE(write({"large", "first"}, "").ok());
  std::string folder = folder_ + "/large/";
  struct stat info {};
  for (int i = 0; i < 40'000 && info.st_size <= kLargestFolder; ++i) {
    std::string name = folder + std::string(240, 'x') + std::to_string(i);
    ASSERT_EQ(::symlink("x", name.c_str()), 0);
    ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  }
  if (info.st_size <= kLargestFolder) GTEST_SKIP() << "folders stay small on this file system";
  EXPECT_EQ(list({"large"}).error().errnum, E2BIG);
  EXPECT_TRUE(read({"large", "first"}).ok());
}

TEST_F(WebFiles, WorkForAServerGoesTheSameWay) {
  std::string path = path_of({"a", "b"});
  ASSERT_TRUE(work(FileDeed::kWrite, path, "text").ok());
  EXPECT_EQ(work(FileDeed::kLook, path)->bytes, "text");
  Result<session::FileAnswer> listed = work(FileDeed::kLook, "");
  ASSERT_TRUE(listed.ok());
  EXPECT_TRUE(listed->is_listing);
  EXPECT_NE(listed->bytes.find("\"name\":\"a\""), std::string::npos);
  for (const char* bad : {"a/b", "/../secret", "/a/../../secret", "//a", "/"})
    EXPECT_FALSE(work(FileDeed::kLook, bad).ok()) << bad;
  EXPECT_TRUE(work(FileDeed::kRemove, path).ok());
  EXPECT_FALSE(work(FileDeed::kLook, path).ok());
  EXPECT_FALSE(work(static_cast<FileDeed>(9), "").ok());
}

// Sessions wait for the loop that this is done on.
TEST_F(WebFiles, OthersHaveTheirTurnMeanwhile) {
  const std::string large(kLargestFile, 'x');
  ASSERT_TRUE(work(FileDeed::kWrite, "/large", large).ok());
  EXPECT_GT(turns_, 1u);
  Result<session::FileAnswer> read = work(FileDeed::kLook, "/large");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->bytes == large);
  EXPECT_GT(turns_, 1u);
}

}  // namespace
}  // namespace caisson::web
