#include "mcp/call.h"

#include <fmt/format.h>

namespace caisson::mcp {

Call::Call(Loop& loop, std::shared_ptr<Client> client, std::shared_ptr<Outlet> outlet,
           Message message)
    : loop_(loop),
      client_(std::move(client)),
      outlet_(std::move(outlet)),
      message_(std::move(message)),
      token_(progress_token(message_.params)) {}

void Call::progress(double value, std::optional<double> total, std::string_view message) {
  if (!wants_progress() || cancelled_ || answered_ || value <= last_progress_) return;
  if (outlet_->congested()) return;
  last_progress_ = value;
  json::object params{{"progressToken", token_}, {"progress", value}};
  if (total) params["total"] = *total;
  // 2024-11-05 has no message.
  if (!message.empty() && version != kLegacyVersions.back()) params["message"] = message;
  notify("notifications/progress", std::move(params));
}

void Call::log(LogLevel level, std::string_view logger, json::value data) {
  std::optional<LogLevel> least = era == Era::kModern ? log_level : client_->log_level;
  if (!least || level < *least || outlet_->congested()) return;
  notify("notifications/message",
         {{"level", level_name(level)}, {"logger", logger}, {"data", std::move(data)}});
}

void Call::notify(std::string_view method, json::object params) {
  if (!cancelled_ && !answered_) outlet_->notify(notification_text(method, std::move(params)));
}

Task<std::variant<json::value, RpcError>> Call::ask(std::string_view method, json::object params) {
  json::value id = json::string(fmt::format("caisson-{}", ++client_->questions));
  auto question = std::make_shared<Question>(loop_);
  client_->asked[id_key(id)] = question;
  on_cancel([question] {
    if (!question->answer) question->answer = RpcError{Code::kInternal, "cancelled", nullptr};
    question->bell.ring();
  });
  outlet_->notify(request_text(id, method, std::move(params)));
  while (!question->answer) co_await question->bell.wait();
  client_->asked.erase(id_key(id));
  on_cancel(nullptr);
  co_return std::move(*question->answer);
}

void Call::on_cancel(std::function<void()> stop) {
  stop_ = std::move(stop);
  if (cancelled_ && stop_) std::exchange(stop_, nullptr)();
}

void Call::cancel() {
  if (cancelled_ || answered_) return;
  cancelled_ = true;
  outlet_->abandon();
  if (stop_) std::exchange(stop_, nullptr)();
}

void Call::respond(Answer answer) {
  if (answered_) return;
  answered_ = true;
  stop_ = nullptr;
  if (cancelled_) return;
  if (RpcError* error = std::get_if<RpcError>(&answer))
    outlet_->respond(error_text(id(), *error), error->code);
  else
    outlet_->respond(result_text(id(), std::move(std::get<json::object>(answer))), std::nullopt);
}

}  // namespace caisson::mcp
