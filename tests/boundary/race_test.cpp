// Claim: what was looked at is what is mounted, however the host's folders change meanwhile.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "cell.h"

namespace caisson::boundary {
namespace {

// Two names that change places all the time.
class Flipper {
 public:
  Flipper(std::string one, std::string other)
      : one_(std::move(one)), other_(std::move(other)), thread_([this] { flip(); }) {}
  ~Flipper() {
    stop_ = true;
    thread_.join();
    if (flips_ % 2) exchange();  // leaves them as they were
  }
  long flips() const { return flips_; }

 private:
  void exchange() {
    ::renameat2(AT_FDCWD, one_.c_str(), AT_FDCWD, other_.c_str(), RENAME_EXCHANGE);
  }
  void flip() {
    while (!stop_) {
      exchange();
      ++flips_;
      std::this_thread::sleep_for(std::chrono::microseconds(flips_ % 7 * 40));
    }
  }
  std::string one_, other_;
  std::atomic<bool> stop_ = false;
  std::atomic<long> flips_ = 0;
  std::thread thread_;
};

// `slot` is a folder with a harmless source in it; `swap` a link to a place with a secret one.
struct Stage {
  TempFolder folder;
  Stage() {
    for (const char* place : {"slot", "vault"}) {
      make_folder(folder / place + "/source");
      write_file(folder / place + "/source/who", place);
    }
    if (::symlink((folder / "vault").c_str(), (folder / "swap").c_str()) != 0) ::perror("symlink");
  }
  Words options() const { return mount(folder / "slot/source", "/given", "rw"); }
};

struct Seen {
  std::string digest, content;
};

Seen look(const Stage& stage) {
  boost::json::object result = run_json({"/bin/cat", "/given/who"}, stage.options());
  if (result["status"] != "ok") return {};
  return {std::string(result["policy_digest"].as_string()),
          std::string(result["stdout"].as_string())};
}

// The digest says which source the policy named. A cell under the digest of the harmless source
// must show that one: the other would have slipped in between the look and the mount.
TEST(Race, T03_T04_AParentThatTurnsIntoALinkNeverSmugglesAnotherSourceIn) {
  Stage stage;
  std::map<std::string, std::string> content_of;
  Seen harmless = look(stage);
  ASSERT_EQ(harmless.content, "slot");
  content_of[harmless.digest] = "slot";
  { Flipper once(stage.folder / "slot", stage.folder / "swap"); }
  ASSERT_EQ(::renameat2(AT_FDCWD, (stage.folder / "slot").c_str(), AT_FDCWD,
                        (stage.folder / "swap").c_str(), RENAME_EXCHANGE),
            0);
  Seen linked = look(stage);  // control: a link that stands still is followed, and the digest tells
  ASSERT_EQ(linked.content, "vault");
  ASSERT_NE(linked.digest, harmless.digest);
  content_of[linked.digest] = "vault";
  ASSERT_EQ(::renameat2(AT_FDCWD, (stage.folder / "slot").c_str(), AT_FDCWD,
                        (stage.folder / "swap").c_str(), RENAME_EXCHANGE),
            0);

  int made = 0;
  Flipper flipper(stage.folder / "slot", stage.folder / "swap");
  for (int i = 0; i < 80; ++i) {
    Seen seen = look(stage);
    if (seen.digest.empty()) continue;  // refused: always a right answer here
    ++made;
    EXPECT_EQ(seen.content, content_of[seen.digest]) << "cell " << i;
  }
  EXPECT_GT(flipper.flips(), 80);
  RecordProperty("cells", made);
}

// The target lies in a folder that the cell (or another one) can write: it must not lead the mount
// to another place, and what was to be read-only must not stay writable.
TEST(Race, T03_ATargetThatTurnsIntoALinkDoesNotMoveTheMount) {
  TempFolder host;
  make_folder(host / "ws/protected");
  make_folder(host / "other");
  write_file(host / "ws/protected/keep", "as it was");
  ASSERT_EQ(::symlink("/usr/lib", (host / "swap").c_str()), 0);
  Words options =
      Words{"--workspace", host / "ws"} + mount(host / "other", "/workspace/protected", "ro");
  const std::string usr = in_cell({"list", "/usr/lib"}).detail;
  Flipper flipper(host / "ws/protected", host / "swap");
  for (int i = 0; i < 60; ++i) {
    Outcome outcome = run_cell({"/bin/sh", "-c",
                                "/probe/probe list /usr/lib; "
                                "/probe/probe create /workspace/protected/planted x"},
                               options);
    if (outcome.code == 125) continue;
    std::vector<Answer> answers = parse_answers(outcome);
    ASSERT_EQ(answers.size(), 2u) << outcome.out << outcome.err;
    EXPECT_EQ(answers[0].detail, usr) << "the mount landed on /usr/lib";
    EXPECT_TRUE(refused(answers[1]));
  }
  EXPECT_GT(flipper.flips(), 60);
}

TEST(Race, T03_ATargetThatIsALinkInAWritableFolderIsNotFollowed) {
  TempFolder host;
  make_folder(host / "ws");
  make_folder(host / "other");
  write_file(host / "other/marker", "of the mount");
  ASSERT_EQ(::symlink("/usr/lib", (host / "ws/link").c_str()), 0);
  Outcome outcome =
      run_cell({"/probe/probe", "read", "/usr/lib/marker"},
               Words{"--workspace", host / "ws"} + mount(host / "other", "/workspace/link", "ro"));
  if (outcome.code != 125) {
    EXPECT_TRUE(refused(parse_answer(outcome)));
  }
  // Control: a real folder in its place is mounted on.
  make_folder(host / "ws/real");
  EXPECT_TRUE(worked(
      in_cell({"read", "/workspace/real/marker"},
              Words{"--workspace", host / "ws"} + mount(host / "other", "/workspace/real", "ro"))));
}

// The masks of /proc are made while the cell starts; forty in a row never show one open.
TEST(Race, T20_NoCellIsSeenWithoutItsMasks) {
  for (int i = 0; i < 40; ++i) {
    Answer answer = in_cell({"read", "/proc/interrupts"});
    EXPECT_TRUE(answer.error != 0 || answer.detail.empty());
  }
  EXPECT_TRUE(worked(on_host({"read", "/proc/interrupts"})));
}

}  // namespace
}  // namespace caisson::boundary
