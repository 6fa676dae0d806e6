#include "session/offer.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <set>

#include "session/launch_spec.h"

namespace caisson::session {
namespace {

SessionSpec named(SessionSpec spec = {}) {
  spec.name = "one";
  return spec;
}

SessionOffer within() {
  SessionOffer offer;
  offer.choice = Choice::kWithin;
  offer.base.python = "/usr/bin/python3";
  offer.base.policy_words = {"--settings", "/etc/settings.json"};
  offer.pythons = {"/opt/python"};
  offer.workspaces = {"/srv/data"};
  return offer;
}

TEST(SessionOffer, OfNothingHasItsOneSessionUnderAnyName) {
  SessionOffer offer;
  offer.base.memory_bytes = 64 << 20;
  SessionSpec spec = named(offer.base);
  EXPECT_TRUE(judge_spec(offer, spec).ok());
  spec.take_up_snapshot = true;
  EXPECT_TRUE(judge_spec(offer, spec).ok());
  for (auto change :
       {+[](SessionSpec& one) { one.python = "/bin/sh"; },
        +[](SessionSpec& one) { one.workspace = "/home"; },
        +[](SessionSpec& one) { one.policy_words = {"--allow-nested"}; },
        +[](SessionSpec& one) { one.preload = {"json"}; },
        +[](SessionSpec& one) { one.memory_bytes *= 2; },
        +[](SessionSpec& one) { one.cpu_millis = 1; }, +[](SessionSpec& one) { one.pids = 9; },
        +[](SessionSpec& one) { one.ipython = false; },
        +[](SessionSpec& one) { one.name = "../x"; }}) {
    SessionSpec other = spec;
    change(other);
    EXPECT_FALSE(judge_spec(offer, other).ok());
  }
}

TEST(SessionOffer, WithinItLimitsAndWhatIsOnTheListsAreFree) {
  SessionOffer offer = within();
  SessionSpec wishes = named();
  wishes.memory_bytes = 1 << 30;
  wishes.preload = {"json"};
  Result<SessionSpec> settled = settle_spec(offer, wishes);
  ASSERT_TRUE(settled.ok());
  EXPECT_EQ(settled->python, "/usr/bin/python3");
  EXPECT_EQ(settled->policy_words, offer.base.policy_words);
  EXPECT_TRUE(judge_spec(offer, *settled).ok());
  settled->python = "/opt/python";
  settled->workspace = "/srv/data";
  EXPECT_TRUE(judge_spec(offer, *settled).ok());
}

TEST(SessionOffer, WithinItNoOtherFolderProgramOrPolicyCanBeHad) {
  SessionOffer offer = within();
  SessionSpec good = named(offer.base);
  for (auto change : {+[](SessionSpec& one) { one.python = "/bin/sh"; },
                      +[](SessionSpec& one) { one.workspace = "/srv"; },
                      +[](SessionSpec& one) { one.workspace = "/srv/data/"; },
                      +[](SessionSpec& one) { one.workspace = "/srv/data/.."; },
                      +[](SessionSpec& one) { one.policy_words.push_back("--allow-nested"); },
                      +[](SessionSpec& one) { one.policy_words.pop_back(); }}) {
    SessionSpec other = good;
    change(other);
    EXPECT_EQ(judge_spec(offer, other).error().errnum, EACCES);
    EXPECT_EQ(settle_spec(offer, other).error().errnum, EACCES);
  }
  // Where nothing would be left of the policy, it isn't asked for, but filled in.
  good.policy_words.clear();
  EXPECT_FALSE(judge_spec(offer, good).ok());
}

TEST(SessionOffer, OfAnythingStillHasNoCommandNoNulAndNoBoundlessLimit) {
  SessionOffer offer;
  offer.choice = Choice::kAnything;
  SessionSpec spec = named();
  spec.policy_words = {"--mount", "/home:/home:rw"};
  spec.workspace = "/";
  EXPECT_TRUE(judge_spec(offer, spec).ok());
  for (auto change : {+[](SessionSpec& one) { one.policy_words.push_back("--"); },
                      +[](SessionSpec& one) { one.policy_words.emplace_back("a\0b", 3); },
                      +[](SessionSpec& one) { one.workspace = std::string("/a\0b", 4); },
                      +[](SessionSpec& one) { one.workspace = "relative"; },
                      +[](SessionSpec& one) { one.memory_bytes = UINT64_MAX; },
                      +[](SessionSpec& one) { one.preload = {"--allow-nested"}; },
                      +[](SessionSpec& one) { one.preload.assign(1000, "json"); },
                      +[](SessionSpec& one) { one.name.clear(); }}) {
    SessionSpec other = spec;
    change(other);
    EXPECT_FALSE(judge_spec(offer, other).ok());
  }
}

TEST(LaunchSpec, ComesOutAsItWentIn) {
  SessionSpec spec = named();
  spec.python = "/usr/bin/python3";
  spec.workspace = "/srv";
  spec.policy_words = {"--env", "", "A=1"};
  spec.preload = {"json", "re"};
  spec.memory_bytes = 123;
  spec.cpu_millis = 4;
  spec.pids = 5;
  spec.ipython = false;
  spec.take_up_snapshot = true;
  for (size_t padding : {0, 20'000}) {
    spec.policy_words.back() = "A=" + std::string(padding, 'x');
    LaunchPacket order;
    ASSERT_TRUE(put_spec(order, spec).ok());
    EXPECT_EQ(order.descriptors.size(), padding ? 1u : 0u);
    Result<SessionSpec> back = take_spec(order);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(encode_spec(*back), encode_spec(spec));
    EXPECT_EQ(back->policy_words, spec.policy_words);
    EXPECT_TRUE(order.descriptors.empty());
  }
}

TEST(LaunchSpec, EveryCutAndEveryExtraByteIsRefused) {
  SessionSpec spec = named();
  spec.policy_words = {"--env", "A=1"};
  std::string bytes = encode_spec(spec);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_spec(std::string_view(bytes).substr(0, size)).ok()) << size;
  EXPECT_FALSE(decode_spec(bytes + "x").ok());
  std::string limits = encode_limits({1, 2, 3});
  EXPECT_TRUE(decode_limits(limits).ok());
  for (size_t size = 0; size < limits.size(); ++size)
    EXPECT_FALSE(decode_limits(std::string_view(limits).substr(0, size)).ok()) << size;
}

TEST(LaunchSpec, LengthsThatLieAreRefused) {
  std::string bytes = encode_spec(named());
  for (size_t at = 0; at < bytes.size(); at += 8)
    for (uint64_t lie : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 40}) {
      std::string other = bytes;
      other.replace(at, 8, reinterpret_cast<const char*>(&lie), 8);
      Result<SessionSpec> read = decode_spec(other);
      EXPECT_TRUE(!read.ok() || at == 0) << at;  // the memory is judged later
    }
}

TEST(SessionOffer, HasAStateThatNoOtherOfferHas) {
  SessionOffer anything;
  anything.choice = Choice::kAnything;
  EXPECT_EQ(name_of(anything), "any");
  std::vector<SessionOffer> all(11, within());
  all[1].base.policy_words = {"--settings", "/etc/other.json"};
  all[2].base.policy_words = {"--settings"};
  all[3].base.policy_words.clear();
  all[4].base.python = "/usr/bin/python4";
  all[5].pythons.clear();
  all[6].workspaces = {"/srv/data", "/srv/more"};
  all[7].pythons = {"/srv/data"}, all[7].workspaces = {"/opt/python"};
  all[8].base.policy_words = {"--settings", "/etc/settings.json", "/opt/python"};
  all[8].pythons.clear();
  all[9].choice = Choice::kNothing;
  all[10].base.memory_bytes = 1 << 20;
  std::set<std::string> names;
  for (const SessionOffer& one : all) names.insert(name_of(one));
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(names.count("any"), 0u);
  EXPECT_EQ(name_of(within()), name_of(within()));
}

}  // namespace
}  // namespace caisson::session
