// What a server could ask of its launcher if somebody had taken the server over.
#include "session/launcher.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "session/launch_spec.h"
#include "session/launch_wire.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const char* text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

class LauncherTest : public testing::Test {
 protected:
  LauncherTest() {
    char name[] = "/tmp/caisson-launcher-XXXXXX";
    top_ = ::mkdtemp(name);
    ::chmod(top_.c_str(), 0700);
    state_ = top_ / "caisson" / "mcp";
    put(state_ / "workspaces" / "main" / "note", "its own");
    ::chmod(state_.c_str(), 0700);
    ::chmod((state_ / "workspaces").c_str(), 0700);
    put(state_ / "snapshots" / "other", "a snapshot");
    put(top_ / "caisson" / "token", "a token");
    SessionHostOptions options;
    options.state_folder = state_;
    options.home = top_ / "home";
    SessionSpec spec;
    spec.memory_bytes = 64 << 20;
    Result<Launcher> started = Launcher::start(spec, options);
    EXPECT_TRUE(started.ok());
    socket_ = started->take_socket();
    launcher_.emplace(std::move(*started));
  }
  ~LauncherTest() override {
    tell({.word = LaunchWord::kBye});
    launcher_.reset();
    fs::remove_all(top_);
  }

  void tell(const LaunchPacket& packet) {
    EXPECT_EQ(send_packet(socket_.get(), encode_packet(packet), packet.descriptors), Sent::kYes);
  }

  LaunchPacket answer(const LaunchPacket& order) {
    tell(order);
    pollfd readable{socket_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 10'000), 1);
    Result<std::optional<LaunchPacket>> got = receive_packet(socket_.get());
    EXPECT_TRUE(got.ok() && got->has_value());
    return std::move(**got);
  }

  LaunchWord answer_to_load(const fs::path& path, const fs::path& workspace) {
    LaunchWord first =
        answer({.word = LaunchWord::kLoad, .id = 1, .texts = {path, workspace}}).word;
    for (LaunchWord word = first; word != LaunchWord::kFailed && word != LaunchWord::kLoaded;) {
      pollfd readable{socket_.get(), POLLIN, 0};
      ::poll(&readable, 1, 10'000);
      Result<std::optional<LaunchPacket>> got = receive_packet(socket_.get());
      if (!got || !got->has_value()) break;
      word = (*got)->word;
    }
    return first;
  }

  fs::path top_, state_;
  UniqueFd socket_;
  std::optional<Launcher> launcher_;
};

TEST_F(LauncherTest, AFileOfItsWorkspaceIsLoaded) {
  fs::path workspace = state_ / "workspaces" / "main";
  EXPECT_EQ(answer_to_load(workspace / "note", workspace), LaunchWord::kFile);
}

// Their copies are memory of no cell. Of a session with 64 MiB one may be 32, and all together as
// much, beside the 16 that each has free.
TEST_F(LauncherTest, LoadsWaitUntilThereIsMemoryForThem) {
  fs::path workspace = state_ / "workspaces" / "main", large = workspace / "large";
  put(large, "");
  fs::resize_file(large, 30 << 20);
  auto order = [&](uint32_t id, const fs::path& path) {
    return LaunchPacket{.word = LaunchWord::kLoad, .id = id, .texts = {path, workspace}};
  };
  auto next = [&]() -> std::optional<LaunchPacket> {
    pollfd readable{socket_.get(), POLLIN, 0};
    if (::poll(&readable, 1, 10'000) != 1) return {};
    Result<std::optional<LaunchPacket>> got = receive_packet(socket_.get());
    return got ? std::move(*got) : std::nullopt;
  };
  for (uint32_t id : {1, 2}) {
    EXPECT_EQ(answer(order(id, large)).word, LaunchWord::kFile);
    EXPECT_EQ(next()->word, LaunchWord::kLoaded);
  }
  tell(order(3, large));
  EXPECT_EQ(answer(order(4, workspace / "note")).id, 4u);
  EXPECT_EQ(next()->word, LaunchWord::kLoaded);
  pollfd readable{socket_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 500), 0);
  LaunchPacket third = answer({.word = LaunchWord::kLoadOver, .id = 1});
  EXPECT_EQ(third.id, 3u);
  EXPECT_EQ(third.word, LaunchWord::kFile);
}

TEST_F(LauncherTest, NoOtherFolderBecomesAWorkspaceBecauseTheServerSaysSo) {
  fs::path workspaces = state_ / "workspaces";
  for (const fs::path& told :
       {fs::path("/"), top_, top_ / "caisson", state_, workspaces, state_ / "snapshots",
        workspaces / "..", workspaces / ".." / "snapshots", workspaces / "main" / ".." / ".."}) {
    EXPECT_EQ(answer_to_load(state_ / "snapshots" / "other", told), LaunchWord::kFailed) << told;
    EXPECT_EQ(answer_to_load(top_ / "caisson" / "token", told), LaunchWord::kFailed) << told;
  }
}

TEST_F(LauncherTest, AnotherSessionsFilesAreNoPartOfAWorkspace) {
  put(state_ / "workspaces" / "other" / "note", "another's");
  EXPECT_EQ(
      answer_to_load(state_ / "workspaces" / "other" / "note", state_ / "workspaces" / "main"),
      LaunchWord::kFailed);
}

TEST_F(LauncherTest, ALinkInAWorkspaceIsNoWorkspaceAndLeadsToNone) {
  fs::path main = state_ / "workspaces" / "main";
  fs::create_directories(state_ / "rooms" / "main" / "layers");
  for (const fs::path& link :
       {main / "w", state_ / "workspaces" / "w", state_ / "rooms" / "main" / "layers" / "w"}) {
    fs::create_directory_symlink(top_ / "caisson", link);
    EXPECT_EQ(answer_to_load(top_ / "caisson" / "token", link), LaunchWord::kFailed) << link;
  }
}

// What the launcher works on is what it opened before there was a server, under whatever name.
TEST_F(LauncherTest, ARoomIsNotReachedThroughALinkOrANameThatWasMoved) {
  fs::path home = top_ / "home";
  put(home / "Documents" / "secret", "a document");
  fs::create_directories(state_ / "forks" / "x");
  fs::create_directory_symlink(home, state_ / "forks" / "x" / "out");
  fs::create_directory_symlink(home, state_ / "workspaces" / "main" / "layers");
  fs::rename(state_ / "rooms", state_ / "rooms.old");
  fs::rename(state_ / "workspaces", state_ / "rooms");
  tell({.word = LaunchWord::kNoteSession, .texts = {"forks/x/out", "evil"}});
  tell({.word = LaunchWord::kNoteSession, .texts = {"rooms/main", "evil"}});
  tell({.word = LaunchWord::kKeepWorkspace, .number = 1, .texts = {"rooms/main", "Documents"}});
  EXPECT_EQ(answer({.word = LaunchWord::kTakeUp, .id = 7, .texts = {"forks/x/out", "main"}}).word,
            LaunchWord::kFailed);
  EXPECT_TRUE(fs::exists(home / "Documents" / "secret"));
  EXPECT_FALSE(fs::exists(home / "sessions"));
  EXPECT_FALSE(fs::exists(state_ / "rooms" / "main" / "sessions"));
}

TEST_F(LauncherTest, NoWayIntoACgroupIsHandedOut) {
  LaunchPacket order{.word = LaunchWord::kMakeFork, .id = 9};
  order.texts = {"0123456789abcdef", encode_limits({64 << 20, 1000, 16})};
  LaunchPacket told = answer(order);
  EXPECT_EQ(told.word, LaunchWord::kFailed);  // there is no zygote that could join
  EXPECT_TRUE(told.descriptors.empty());
}

}  // namespace
}  // namespace caisson::session
