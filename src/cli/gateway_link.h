// Between one execution and the gateway of its cell: starts it, waits for it, takes its denials,
// and passes new rules on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/gateway_proxy_socket.h"
#include "cli/gateway_setup.h"
#include "cli/gateway_standby.h"
#include "cli/job.h"
#include "gateway/control_frames.h"
#include "gateway/gateway.h"
#include "launch/denial_list.h"
#include "launch/gateway_process.h"
#include "launch/supervise.h"

namespace caisson {

// What a person asked to see of it, and to say to it, while the cell runs.
struct GatewayTalk {
  int rules_fd = -1;    // --control-fd: each line a whole new set of rules
  int denials_fd = -1;  // --denials-fd: each denial as a line of JSON, as it happens
  std::function<void(const std::string&)> say;
  std::function<void(const Denial&)> heard;  // each denial, once, as it happens
  // Whose lines say more than rules: the network that a line asks for. Of it the gateway takes what
  // LiveRules has. None: a line is {"allow":[…],"deny":[…],…}.
  std::function<Result<NetworkPolicy>(std::string_view)> network_of_line;
};

class GatewayLink {
 public:
  // Starts the process, or has it ready to be started by the first who comes. The job's secrets are
  // read here and wiped once the gateway has them; the job's facts get what the gateway made for
  // the cell.
  static Result<std::unique_ptr<GatewayLink>> start(Job& job, const ProcessStart& process,
                                                    GatewayTalk talk);
  // To one that runs already, whoever made it: for tests.
  static std::unique_ptr<GatewayLink> to(GatewayProcess process, GatewayTalk talk);
  ~GatewayLink();

  UniqueFd cell_end() { return standby_ ? standby_->take_cell_end() : process_->take_cell_end(); }
  Result<void> await_ready();
  void watch(Supervision& how);
  // Ends the gateway and adds what it told to the outcome.
  void finish(Outcome& outcome);

 private:
  GatewayLink() = default;
  Result<void> begin();
  bool begin_late();
  bool take_received();
  bool take_frames();
  Result<std::string> await_certificate();
  Result<ControlFrame> next_frame(int patience_ms);
  bool receive();
  void take(const ControlFrame& frame);
  void take_denial(const std::string& text);
  void stream_denial(const std::string& line);
  void send(const std::string& frame, int descriptor = -1);
  void give_proxy(const std::string& question);
  Result<LiveRules> live_rules_in(std::string_view line);
  Result<void> hold_proxy(const NetworkPolicy& network);
  void take_usage(const std::string& text);
  bool read_rules();
  void apply_rules(std::string_view line);

  GatewaySetup setup_;  // what it is started with
  GatewayStart start_;
  std::optional<GatewayStandby> standby_;  // it was not started first
  std::string late_rules_;                 // told before it was: a frame
  std::optional<GatewayProcess> process_;
  GatewayTalk talk_;
  NetworkPolicy network_;
  std::optional<ProxySocket> proxy_;
  UniqueFd heard_;  // by which it is told that a denial was streamed
  std::string received_, rules_text_;
  bool over_ = false, told_usage_ = false, heard_rules_ = false;
  std::string broken_rules_;  // why --control-fd failed before it said anything
  DenialList denials_;
  Outcome told_;  // its usage, and how many denials it left out
};

}  // namespace caisson
