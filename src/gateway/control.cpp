#include "gateway/control.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "gateway/control_frames.h"

namespace caisson {
namespace {

Result<void> take_list(const boost::json::object& object, std::string_view key,
                       std::vector<std::string>& list) {
  const boost::json::value* value = object.if_contains(key);
  if (!value) return {};
  const boost::json::array* array = value->if_array();
  if (!array) return Error::plain("a list of rules that is no list");
  for (const boost::json::value& each : *array) {
    const boost::json::string* text = each.if_string();
    if (!text) return Error::plain("a rule that is no text");
    list.emplace_back(text->data(), text->size());
  }
  return {};
}

Result<void> take_rules(Core& core, std::string_view json) {
  core.rules = TRY(Rules::make(TRY(parse_rule_texts(json))));
  return {};
}

// False: it is over.
bool obey(Core& core, const ControlFrame& frame) {
  switch (static_cast<ControlType>(frame.type)) {
    case ControlType::kRules:
      // Rules that can't be read change nothing: the old ones stay.
      if (auto taken = take_rules(core, frame.body); !taken.ok())
        core.control.send(ControlType::kFailed, taken.error().what);
      return true;
    case ControlType::kEnd:
      core.denials.tell_counts();
      core.control.send(ControlType::kUsage, usage_json(core));
      core.control.flush_and_wait(1000);
      return false;
    default:
      return false;
  }
}

}  // namespace

Result<RuleTexts> parse_rule_texts(std::string_view json) {
  boost::system::error_code failed;
  boost::json::parse_options options;
  options.max_depth = 4;
  boost::json::value value = boost::json::parse({json.data(), json.size()}, failed, {}, options);
  if (failed || !value.is_object()) return Error::plain("rules that are no JSON object");
  RuleTexts texts;
  const boost::json::object& object = value.get_object();
  TRY(take_list(object, "allow", texts.allow));
  TRY(take_list(object, "deny", texts.deny));
  TRY(take_list(object, "requests", texts.requests));
  TRY(take_list(object, "denied_addresses", texts.denied_addresses));
  return texts;
}

std::string usage_json(const Core& core) {
  boost::json::object usage;
  usage["connections"] = core.traffic.connections;
  usage["up"] = core.traffic.up();
  usage["down"] = core.traffic.down();
  usage["denied"] = core.denials.total();
  return boost::json::serialize(usage);
}

Task<> serve_control(Core& core, Socket control) {
  std::string received;
  std::array<uint8_t, 4096> chunk;
  for (bool over = false; !over;) {
    Moved got = control.try_read(chunk);
    if (got.would_block()) {
      over = co_await control.readable() != 0;
      continue;
    }
    if (got.error || got.ended()) break;
    received.append(reinterpret_cast<const char*>(chunk.data()), got.bytes);
    bool broken = false;
    while (!over) {
      auto frame = take_control_frame(received, broken);
      if (!frame) break;
      over = !obey(core, *frame);
    }
    over = over || broken;
  }
  core.control.set_fd(-1);
  core.loop.stop();
}

}  // namespace caisson
