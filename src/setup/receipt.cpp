#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/sha256.h"
#include "setup/plan.h"

namespace caisson::setup {

namespace {

namespace json = boost::json;

json::array strings(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.push_back(json::string(one));
  return out;
}

bool read_strings(const json::object& from, json::string_view key, std::vector<std::string>& to) {
  const json::value* value = from.if_contains(key);
  const json::array* list = value ? value->if_array() : nullptr;
  if (!list) return false;
  for (const json::value& one : *list) {
    const json::string* text = one.if_string();
    if (!text) return false;
    to.emplace_back(text->begin(), text->end());
  }
  return true;
}

bool read_bool(const json::object& from, json::string_view key, bool& to) {
  const json::value* value = from.if_contains(key);
  if (!value || !value->is_bool()) return false;
  to = value->get_bool();
  return true;
}

bool read_string(const json::object& from, json::string_view key, std::string& to) {
  const json::value* value = from.if_contains(key);
  const json::string* text = value ? value->if_string() : nullptr;
  if (!text) return false;
  to.assign(text->begin(), text->end());
  return true;
}

}  // namespace

std::string to_json(const Receipt& receipt) {
  json::object out{{"path", receipt.path},       {"container", strings(receipt.container)},
                   {"existed", receipt.existed}, {"made", receipt.made},
                   {"exact", receipt.exact},     {"levels", static_cast<uint64_t>(receipt.levels)},
                   {"after", receipt.after},     {"folders", strings(receipt.folders)}};
  return json::serialize(out) + "\n";
}

Result<Receipt> parse_receipt(std::string_view text) {
  json::error_code problem;
  json::value value = json::parse({text.data(), text.size()}, problem);
  const json::object* object = value.if_object();
  Receipt receipt;
  const json::value* levels = object ? object->if_contains("levels") : nullptr;
  bool whole =
      object && levels && levels->is_int64() && levels->get_int64() >= 0 &&
      levels->get_int64() <= 8 && read_string(*object, "path", receipt.path) &&
      read_strings(*object, "container", receipt.container) &&
      read_bool(*object, "existed", receipt.existed) && read_bool(*object, "made", receipt.made) &&
      read_bool(*object, "exact", receipt.exact) && read_string(*object, "after", receipt.after) &&
      read_strings(*object, "folders", receipt.folders);
  if (problem || !whole) return Error::plain("the receipt of an earlier install can't be read");
  receipt.levels = static_cast<size_t>(levels->get_int64());
  return receipt;
}

Receipt make_receipt(const Edit& edit, const std::optional<Receipt>& earlier) {
  Receipt receipt{.path = edit.target.path, .container = edit.target.container};
  receipt.after = edit.after ? sha256_hex(*edit.after) : "";
  if (!earlier) {
    receipt.existed = edit.before.has_value();
    receipt.made = !receipt.existed;
    receipt.exact = true;
    receipt.levels = edit.levels;
    receipt.original = edit.before.value_or("");
    return receipt;
  }
  // The first original counts as long as nobody else wrote in between.
  receipt.existed = earlier->existed;
  receipt.made = earlier->made;
  receipt.exact = earlier->exact && edit.before && sha256_hex(*edit.before) == earlier->after;
  receipt.levels = std::max(edit.levels, earlier->levels);
  receipt.folders = earlier->folders;
  receipt.original = earlier->original;
  return receipt;
}

}  // namespace caisson::setup
