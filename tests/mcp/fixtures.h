// What the official conformance suite expects to find in a server.
#pragma once

#include <string>

#include "mcp/call.h"
#include "mcp/server.h"

namespace caisson::mcp {

class FixtureOffer : public Offer {
 public:
  Server* server = nullptr;  // that tells of changed lists

  json::object info() const override;
  std::string_view instructions() const override { return "Fixtures of the conformance suite."; }
  json::object capabilities(Era era) const override;
  json::array tools() const override;
  json::array resources(const Call& call) const override;
  json::array templates() const override;
  json::array prompts() const override;
  Task<Answer> call_tool(Call& call, std::string name, json::object arguments) override;
  Task<Answer> read_resource(Call& call, std::string uri) override;
  Task<Answer> get_prompt(Call& call, std::string name, json::object arguments) override;
  Answer complete(Call& call) override;
};

// A 1 x 1 picture and 0.01 s of silence, in base64.
extern const std::string_view kPicture, kSilence;

json::object content_of(json::array blocks);
json::object text_block(std::string_view text);

// The tools named test_input_required_result_…; nullopt when it is none of them.
std::optional<Answer> input_required_tool(Call& call, const std::string& name);
Answer input_required_prompt(Call& call);

}  // namespace caisson::mcp
