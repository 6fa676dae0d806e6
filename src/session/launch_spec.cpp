#include "session/launch_spec.h"

#include <string.h>

#include "session/frames.h"

namespace caisson::session {

namespace {

constexpr size_t kMostSpecInline = 8 * 1024;
constexpr size_t kMostSpec = 4 << 20;  // more than execve(2) would take as words
constexpr uint32_t kMostWords = 4096;
constexpr uint32_t kIpython = 1, kTakeUp = 2;

void put_number(std::string& to, uint64_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

void put_list(std::string& to, const std::vector<std::string>& list) {
  put_number(to, list.size());
  for (const std::string& one : list) put_text(to, one);
}

// Takes from the front; once something was wrong, nothing comes any more.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    if (left_.size() < sizeof value) return broken_ = true, 0;
    ::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  uint32_t small_number() {
    uint64_t value = number();
    if (value > UINT32_MAX) broken_ = true;
    return static_cast<uint32_t>(value);
  }
  std::string text() {
    uint64_t size = number();
    if (broken_ || size > left_.size()) return broken_ = true, std::string();
    std::string found(left_.substr(0, size));
    left_.remove_prefix(size);
    return found;
  }
  std::vector<std::string> list() {
    uint64_t count = number();
    std::vector<std::string> found;
    if (count > kMostWords) broken_ = true;
    for (uint64_t i = 0; i < count && !broken_; ++i) found.push_back(text());
    return found;
  }
  bool is_done() const { return !broken_ && left_.empty(); }

 private:
  std::string_view left_;
  bool broken_ = false;
};

Error broken_spec() { return Error::plain("a session that breaks the launcher's protocol"); }

}  // namespace

std::string encode_spec(const SessionSpec& spec) {
  std::string bytes;
  put_number(bytes, spec.memory_bytes);
  put_number(bytes, spec.cpu_millis);
  put_number(bytes, spec.pids);
  put_number(bytes, (spec.ipython ? kIpython : 0) | (spec.take_up_snapshot ? kTakeUp : 0));
  for (const std::string* one : {&spec.name, &spec.python, &spec.workspace}) put_text(bytes, *one);
  put_list(bytes, spec.policy_words);
  put_list(bytes, spec.preload);
  return bytes;
}

Result<SessionSpec> decode_spec(std::string_view bytes) {
  Reader reader(bytes);
  SessionSpec spec;
  spec.memory_bytes = reader.number();
  spec.cpu_millis = reader.small_number();
  spec.pids = reader.small_number();
  uint64_t flags = reader.number();
  spec.ipython = (flags & kIpython) != 0;
  spec.take_up_snapshot = (flags & kTakeUp) != 0;
  for (std::string* one : {&spec.name, &spec.python, &spec.workspace}) *one = reader.text();
  spec.policy_words = reader.list();
  spec.preload = reader.list();
  if (!reader.is_done() || flags > (kIpython | kTakeUp)) return broken_spec();
  return spec;
}

std::string encode_limits(const ForkLimits& limits) {
  std::string bytes;
  put_number(bytes, limits.memory_bytes);
  put_number(bytes, limits.cpu_millis);
  put_number(bytes, limits.pids);
  return bytes;
}

Result<ForkLimits> decode_limits(std::string_view bytes) {
  Reader reader(bytes);
  ForkLimits limits;
  limits.memory_bytes = reader.number();
  limits.cpu_millis = reader.small_number();
  limits.pids = reader.small_number();
  if (!reader.is_done()) return broken_spec();
  return limits;
}

Result<void> put_spec(LaunchPacket& order, const SessionSpec& spec) {
  std::string bytes = encode_spec(spec);
  if (bytes.size() > kMostSpec) return Error::plain("a session with too long a policy");
  if (bytes.size() > kMostSpecInline) {
    order.descriptors.push_back(TRY(sealed_memfd("caisson-order", bytes)));
    bytes.clear();
  }
  order.texts.push_back(std::move(bytes));
  return {};
}

Result<SessionSpec> take_spec(LaunchPacket& order) {
  if (order.texts.empty()) return broken_spec();
  std::string bytes = std::move(order.texts.back());
  order.texts.pop_back();
  if (!bytes.empty()) return decode_spec(bytes);
  if (order.descriptors.empty()) return broken_spec();
  ForeignFd memory(order.descriptors.back().release());
  order.descriptors.pop_back();
  return decode_spec(TRY(read_sealed(memory, kMostSpec)));
}

}  // namespace caisson::session
