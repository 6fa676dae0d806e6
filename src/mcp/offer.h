// What a server offers: its tools, resources and prompts, behind one door. The product's are in
// rlm_offer.h; the conformance suite's fixtures are another.
#pragma once

#include <string_view>
#include <variant>

#include "loop/task.h"
#include "mcp/protocol.h"

namespace caisson::mcp {

class Call;

using Answer = std::variant<json::object, RpcError>;

class Offer {
 public:
  virtual ~Offer() = default;

  virtual json::object info() const = 0;  // name, title, version
  virtual std::string_view instructions() const = 0;
  virtual json::object capabilities(Era era) const = 0;

  // In the same order every time.
  virtual json::array tools() const = 0;
  virtual json::array resources(const Call& call) const = 0;
  virtual json::array templates() const = 0;
  virtual json::array prompts() const = 0;

  // The call's params say the rest. An unknown name or address is an RpcError; what went wrong
  // inside a tool is a result with isError, so that the model sees it.
  virtual Task<Answer> call_tool(Call& call, std::string name, json::object arguments) = 0;
  virtual Task<Answer> read_resource(Call& call, std::string uri) = 0;
  virtual Task<Answer> get_prompt(Call& call, std::string name, json::object arguments) = 0;
  virtual Answer complete(Call& call) = 0;
};

}  // namespace caisson::mcp
