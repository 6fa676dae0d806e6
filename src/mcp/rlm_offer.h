// The product's tools, resources and prompts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mcp/offer.h"
#include "mcp/outputs.h"
#include "mcp/reporter.h"
#include "mcp/rlm_texts.h"
#include "mcp/sessions.h"
#include "mcp/texts.h"

namespace caisson::mcp {

struct RlmPlaces {
  std::string project;  // relative paths start here
  std::string home;     // of "~"
  Reach reach = {};     // of the code, for the instructions
};

class RlmOffer : public Offer {
 public:
  // Gives a client without a scope its own, at its first call.
  using Settle = std::function<void(Client&)>;

  RlmOffer(Sessions& sessions, RlmPlaces places, Settle settle)
      : sessions_(sessions),
        places_(std::move(places)),
        settle_(std::move(settle)),
        instructions_(instructions_for(places_.reach)) {}

  json::object info() const override;
  std::string_view instructions() const override { return instructions_; }
  json::object capabilities(Era era) const override;
  json::array tools() const override;
  json::array resources(const Call& call) const override;
  json::array templates() const override;
  json::array prompts() const override;
  Task<Answer> call_tool(Call& call, std::string name, json::object arguments) override;
  Task<Answer> read_resource(Call& call, std::string uri) override;
  Task<Answer> get_prompt(Call& call, std::string name, json::object arguments) override;
  Answer complete(Call& call) override;

 private:
  // One call of a tool, with the turn in its session.
  struct Use {
    Call& call;
    json::object arguments;
    std::string name;    // of the session, as the client knows it
    bool fresh = false;  // named by us just now
    std::shared_ptr<Seat> seat;
    std::shared_ptr<session::Session> session;
    std::shared_ptr<Reporter> reporter;
    std::chrono::milliseconds waited{0};  // for its turn
    std::string text(std::string_view key) const;
    std::chrono::milliseconds timeout() const;
  };
  using Handler = Task<json::object> (RlmOffer::*)(Use&);
  static const Handler kHandlers[kToolCount];

  Task<json::object> use(Call& call, size_t number, json::object arguments);
  Task<json::object> handle(size_t number, Use& use);
  static void make_way(Seat& seat);
  static Task<Turn> take_turn(Use& use);
  static json::object without_turn(const Use& use, Turn turn);
  void explain(const Use& use, session::CallAnswer& answer) const;
  std::optional<std::string> choose_session(Use& use, size_t number);
  Task<json::object> exec(Use& use);
  Task<json::object> load(Use& use);
  Task<json::object> get(Use& use);
  Task<json::object> vars(Use& use);
  Task<json::object> sub_agent(Use& use);
  Task<json::object> reset(Use& use);
  Task<json::object> checkpoint(Use& use);
  Task<json::object> restore(Use& use);
  Task<json::object> branch(Use& use);

  std::string absolute(std::string path) const;
  std::vector<std::string> completions(const Call& call, std::string_view argument) const;
  json::object present(Use& use, Shown shown);
  void add_images(Use& use, std::vector<Image> images, json::array& content);
  json::object link(const Use& use, const std::string& uri, std::string_view mime,
                    std::string_view description) const;

  Sessions& sessions_;
  RlmPlaces places_;
  Settle settle_;
  std::string instructions_;
  Outputs outputs_;
};

// A result that the model sees as an error and can do something about.
json::object error_result(std::string text);
json::object text_result(std::string text);

}  // namespace caisson::mcp
