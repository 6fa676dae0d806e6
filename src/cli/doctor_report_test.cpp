#include "cli/doctor_report.h"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include "host/fake_facts.h"

namespace caisson {
namespace {

DoctorReport report_on(const DeepFacts& facts) {
  return {check_all(facts), landlock_tier_lacks(facts)};
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(DoctorReport, SaysThatTheDefaultPolicyHolds) {
  std::string text = report_text(report_on(fine_host()), Colour::kNever);
  EXPECT_TRUE(has(text, "\nthe default policy can be enforced in full\n"));
  EXPECT_TRUE(has(text, "ok    user namespaces        can be made\n"));
  EXPECT_TRUE(has(text, "tier landlock here: what it can't do\n"));
  EXPECT_FALSE(has(text, "how to fix it"));
}

TEST(DoctorReport, NamesWhatFailsAndHowToFixIt) {
  std::string text = report_text(report_on(ubuntu_24_04()), Colour::kNever);
  EXPECT_TRUE(has(text, "\nthe default policy cannot be enforced in full: user namespaces\n"));
  EXPECT_TRUE(has(text, "FAIL  user namespaces "));
  // At the margin: a shell takes the end of the here-document there only.
  EXPECT_TRUE(has(text, "\n}\nEOF\nsudo apparmor_parser"));
}

TEST(DoctorReport, TellsAFixThatSeveralChecksShareOnce) {
  DeepFacts facts = fine_host();
  facts.host.cgroup = {CgroupFacts::Version::kV2, {}, "not delegated", "/run/user/1000"};
  std::string text = report_text(report_on(facts), Colour::kNever);
  EXPECT_TRUE(has(text, "\n## memory limit, cpu limit\nsystemd-run "));
  EXPECT_EQ(text.find("systemd-run"), text.rfind("systemd-run"));
}

TEST(DoctorReport, IsColouredOnlyWhenAsked) {
  EXPECT_FALSE(has(report_text(report_on(ubuntu_24_04()), Colour::kNever), "\x1b"));
  EXPECT_TRUE(has(report_text(report_on(ubuntu_24_04()), Colour::kAlways), "\x1b[1;31mFAIL"));
}

TEST(DoctorReport, ShowsNoControlBytesOfTheHost) {
  DeepFacts facts = fine_host();
  facts.audit.folder = "/home/\x1b]52;c;x\x07";
  facts.audit.folder_facts->mode = 0755;
  EXPECT_FALSE(has(report_text(report_on(facts), Colour::kNever), "\x1b"));
}

TEST(DoctorReport, IsOneJsonObject) {
  namespace json = boost::json;
  json::object good = json::parse(report_json(report_on(fine_host()))).as_object();
  EXPECT_TRUE(good.at("ok").as_bool());
  EXPECT_TRUE(good.at("tiers").at("landlock").at("ok").as_bool());
  EXPECT_TRUE(good.at("tiers").at("process").at("missing").as_array().empty());

  json::object bad = json::parse(report_json(report_on(ubuntu_24_04()))).as_object();
  EXPECT_FALSE(bad.at("ok").as_bool());
  EXPECT_EQ(bad.at("tiers").at("process").at("missing").at(0).as_string(), "user namespaces");
  const json::value& failed = bad.at("checks").at(2);
  EXPECT_EQ(failed.at("name").as_string(), "user namespaces");
  EXPECT_EQ(failed.at("status").as_string(), "fail");
  EXPECT_GT(failed.at("fix").as_array().size(), 5u);
}

}  // namespace
}  // namespace caisson
