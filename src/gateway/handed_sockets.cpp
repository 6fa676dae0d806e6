#include "gateway/handed_sockets.h"

#include <cstring>

namespace caisson {

std::string handed_question(uint32_t number) {
  std::string body(sizeof number, '\0');
  std::memcpy(body.data(), &number, sizeof number);
  return body;
}

std::optional<uint32_t> parse_handed_question(std::string_view body) {
  uint32_t number = 0;
  if (body.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, body.data(), sizeof number);
  return number;
}

std::string handed_answer(HandedAnswer answer) {
  return handed_question(answer.number) + (answer.with_socket ? '+' : '-');
}

std::optional<HandedAnswer> parse_handed_answer(std::string_view body) {
  if (body.empty()) return std::nullopt;
  std::optional<uint32_t> number = parse_handed_question(body.substr(0, body.size() - 1));
  if (!number) return std::nullopt;
  return HandedAnswer{*number, body.back() == '+'};
}

Task<UniqueFd> HandedSockets::ask(Loop& loop) {
  if (waiting_.size() >= kMaxWaiting) co_return UniqueFd();
  Waiter waiter(loop);
  if (++next_ == 0) ++next_;
  uint32_t number = next_;
  waiting_[number] = &waiter;
  control_.send(ControlType::kWantProxy, handed_question(number));
  co_await waiter.answered.wait();
  waiting_.erase(number);
  co_return std::move(waiter.fd);
}

void HandedSockets::take(uint32_t number, UniqueFd fd) {
  auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  found->second->fd = std::move(fd);
  found->second->answered.set();
}

}  // namespace caisson
