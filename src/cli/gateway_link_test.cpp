#include "cli/gateway_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace caisson {

namespace {

// A gateway that says this at once, and then nothing until its supervisor is gone.
Result<GatewayProcess> gateway_that_says(const std::string& words) {
  GatewayStart start;
  start.run = [&words](int control, int) {
    if (::send(control, words.data(), words.size(), 0) != static_cast<ssize_t>(words.size()))
      return 1;
    char byte;
    return ::recv(control, &byte, 1, 0) == 0 ? 0 : 1;
  };
  return GatewayProcess::start(std::move(start));
}

std::string denial_of(std::string_view host) {
  return control_frame(ControlType::kDenial,
                       R"({"denied":true,"rule":"default","port":80,"protocol":"http","host":")" +
                           std::string(host) + R"("})");
}

// Nothing wakes the supervisor for bytes that it has received already.
TEST(GatewayLink, DenialThatComesWithTheWordThatItListensIsHeardAtOnce) {
  std::vector<std::string> heard;
  GatewayTalk talk;
  talk.heard = [&heard](const Denial& denial) { heard.push_back(denial.resource); };
  Result<GatewayProcess> process =
      gateway_that_says(denial_of("before.test") + control_frame(ControlType::kReady, "") +
                        denial_of("behind.test") + denial_of("last.test"));
  ASSERT_TRUE(process.ok()) << process.error().what;
  std::unique_ptr<GatewayLink> link = GatewayLink::to(std::move(*process), std::move(talk));
  Result<void> ready = link->await_ready();
  ASSERT_TRUE(ready.ok()) << ready.error().what;
  EXPECT_EQ(heard, (std::vector<std::string>{"http before.test:80", "http behind.test:80",
                                             "http last.test:80"}));
}

}  // namespace

}  // namespace caisson
