// Results that ask for input first (2026-07-28), with a state that nobody else can make up.
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/text.h"
#include "fixtures.h"

namespace caisson::mcp {

namespace {

std::string mac_of(std::string_view text) {
  static unsigned char key[32];
  static const int made = ::RAND_bytes(key, sizeof key);
  unsigned char mac[32];
  unsigned size = sizeof mac;
  if (made != 1 ||
      !::HMAC(EVP_sha256(), key, sizeof key, reinterpret_cast<const unsigned char*>(text.data()),
              text.size(), mac, &size))
    std::abort();
  return hex(mac);
}

std::string seal(std::string_view text) { return std::string(text) + "." + mac_of(text); }

// "" when there is no state; nullopt when it isn't ours.
std::optional<std::string> state_of(const Call& call) {
  const json::value* value = call.params().if_contains("requestState");
  if (!value) return "";
  if (!value->is_string()) return std::nullopt;
  std::string sealed(value->get_string());
  std::string text = sealed.substr(0, sealed.rfind('.'));
  if (sealed != seal(text)) return std::nullopt;
  return text;
}

// The answer under that key, when it has the form of one.
const json::object* response_at(const Call& call, std::string_view key) {
  const json::value* all = call.params().if_contains("inputResponses");
  const json::value* one = all && all->is_object() ? all->get_object().if_contains(key) : nullptr;
  return one ? one->if_object() : nullptr;
}

json::object elicit(std::string_view message, std::string_view field, std::string_view type) {
  return {{"method", "elicitation/create"},
          {"params",
           json::object{
               {"message", message},
               {"requestedSchema",
                json::object{{"type", "object"},
                             {"properties", json::object{{field, json::object{{"type", type}}}}},
                             {"required", json::array{field}}}}}}};
}

json::object sample(std::string_view text) {
  return {
      {"method", "sampling/createMessage"},
      {"params", json::object{{"messages", json::array{json::object{
                                               {"role", "user"}, {"content", text_block(text)}}}},
                              {"maxTokens", 100}}}};
}

json::object roots() { return {{"method", "roots/list"}, {"params", json::object{}}}; }

json::object ask(json::object requests, std::string_view state = {}) {
  json::object result{{"resultType", "input_required"}, {"inputRequests", std::move(requests)}};
  if (!state.empty()) result["requestState"] = seal(state);
  return result;
}

Answer multi_round(const Call& call, const std::string& state) {
  if (state == "2" && response_at(call, "step2")) return content_of({text_block("done")});
  if (state == "1" && response_at(call, "step1"))
    return ask({{"step2", elicit("Step 2: What is your favorite color?", "color", "string")}}, "2");
  return ask({{"step1", elicit("Step 1: What is your name?", "name", "string")}}, "1");
}

Answer by_capability(const Call& call) {
  json::object requests;
  if (call.capabilities.contains("sampling")) requests["greeting"] = sample("Say hello");
  if (call.capabilities.contains("elicitation"))
    requests["user_name"] = elicit("What is your name?", "name", "string");
  return ask(std::move(requests));
}

// One question: asked until it is answered.
Answer one_question(const Call& call, std::string_view key, json::object request,
                    std::string_view state = {}) {
  if (response_at(call, key)) return content_of({text_block("state-ok")});
  return ask({{key, std::move(request)}}, state);
}

}  // namespace

std::optional<Answer> input_required_tool(Call& call, const std::string& name) {
  std::optional<std::string> state = state_of(call);
  if (!state) return RpcError{Code::kInvalidParams, "this requestState isn't ours", nullptr};
  constexpr std::string_view kStart = "test_input_required_result_";
  if (name == "test_streaming_elicitation")
    return one_question(call, "user_name", elicit("What is your name?", "name", "string"));
  if (!name.starts_with(kStart)) return std::nullopt;
  std::string_view kind = std::string_view(name).substr(kStart.size());
  if (kind == "elicitation")
    return one_question(call, "user_name", elicit("What is your name?", "name", "string"));
  if (kind == "sampling")
    return one_question(call, "capital_question", sample("What is the capital of France?"));
  if (kind == "list_roots") return one_question(call, "client_roots", roots());
  if (kind == "request_state" || kind == "tampered_state")
    return one_question(call, "confirm", elicit("Please confirm", "ok", "boolean"), "asked");
  if (kind == "multi_round") return multi_round(call, *state);
  if (kind == "capabilities") return by_capability(call);
  if (kind != "multiple_inputs") return std::nullopt;
  if (response_at(call, "user_name") && response_at(call, "greeting") &&
      response_at(call, "client_roots"))
    return content_of({text_block("done")});
  return ask({{"user_name", elicit("What is your name?", "name", "string")},
              {"greeting", sample("Generate a greeting")},
              {"client_roots", roots()}},
             "asked");
}

Answer input_required_prompt(Call& call) {
  if (!response_at(call, "user_context"))
    return ask(
        {{"user_context", elicit("What context should the prompt use?", "context", "string")}});
  return json::object{
      {"messages",
       json::array{json::object{{"role", "user"}, {"content", text_block("With that context")}}}}};
}

}  // namespace caisson::mcp
