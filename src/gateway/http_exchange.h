// One request that was allowed, put to its host, and the answer brought back.
#pragma once

#include <optional>
#include <string>

#include "gateway/aws_resign.h"
#include "gateway/event.h"
#include "gateway/held_bytes.h"
#include "gateway/http_body.h"
#include "gateway/http_place.h"
#include "gateway/http_rewrite.h"
#include "gateway/upstream.h"

namespace caisson {

enum class ExchangeEnd {
  kKeep,       // another request may follow
  kClose,      // the answer is whole; close
  kAnswerIt,   // nothing was sent to the client yet: see what happened
  kGone,       // in the middle of an answer, or a budget is spent: reset
  kWebSocket,  // the answer was 101: both streams are the peers' own now
};

class HttpExchange {
 public:
  HttpExchange(Core& core, HttpReader& client, HttpUpstream& upstream, Deadline& deadline,
               HttpRequest& request);

  Task<ExchangeEnd> run();

  // Of kAnswerIt: one of these.
  bool too_large = false;  // the body
  std::optional<Verdict> refusal;
  std::optional<Dialed> dial_failure;
  std::string failure;  // of the upstream

  bool masks() const { return masks_; }

 private:
  bool rewrite_request();
  bool may_ask_for_parts() const;
  bool ask_for_whole_or_refuse(HttpHead& head);
  bool pass_placeholders(HttpHead& head);
  Task<std::optional<ExchangeEnd>> gather_request();
  Task<std::optional<ExchangeEnd>> gather_to_sign();
  Task<bool> invite_body();
  Task<std::optional<ExchangeEnd>> send_request();
  void address_proxy(const UpstreamProxy& proxy);
  Task<> send_body();
  Task<> stop_body();
  Task<ExchangeEnd> read_answers();
  Task<ExchangeEnd> pass_answer(HttpHead answer);
  Task<ExchangeEnd> pass_websocket(HttpHead answer);
  Task<bool> pass_interim(HttpHead answer);
  void strip_answer(HttpHead& answer) const;
  bool mask_head(HttpHead& answer);
  Task<ExchangeEnd> failed(std::string why);
  bool may_retry() const;
  std::optional<ExchangeEnd> end_of(RelayEnd end);
  void deny_budget();

  Core& core_;
  HttpReader& client_;
  HttpUpstream& upstream_;
  Deadline& deadline_;
  HttpRequest& request_;
  BodyFrame body_;
  int client_minor_;
  bool client_keeps_alive_;
  bool websocket_;
  bool started_ = false;  // something of the answer has been sent

  std::optional<AwsResign> resign_;
  std::optional<HeldBytes> held_;
  std::optional<Substitution> substitution_;
  std::optional<SubstitutionFilter> filter_;
  std::string gathered_;
  bool masks_ = false;  // the host may have a secret: its answers are looked through
  bool parts_ = true;   // and may come in parts

  Event body_done_;
  bool body_running_ = false;
  RelayEnd body_end_ = RelayEnd::kDone;
};

}  // namespace caisson
