#include "gateway/gateway.h"

#include <csignal>

#include "gateway/control.h"
#include "gateway/core.h"
#include "gateway/doors.h"
#include "gateway/event.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kTick{1};

Task<> tick(Core& core) {
  for (;;) {
    co_await pause(core.loop, kTick);
    core.deadlines.look(Clock::now());
    core.control.flush();
  }
}

Task<> take_over(Core& core, Socket cell, std::unique_ptr<PublishPool>& pool) {
  if (co_await cell.readable() != 0) co_return;
  Result<CellSockets> handover = receive_handover(cell.fd());
  Result<void> opened;
  if (handover.ok())
    opened = open_doors(core, std::move(*handover), pool);
  else
    opened = handover.error();
  if (opened.ok()) {
    core.control.send(ControlType::kReady, "");
  } else {
    core.control.send(ControlType::kFailed, opened.error().what);
    core.loop.stop();
  }
}

int fail_to_start(int control_fd, const Error& error) {
  ControlOut out;
  out.set_fd(control_fd);
  out.send(ControlType::kFailed, error.what);
  out.flush_and_wait(1000);
  return 1;
}

}  // namespace

int run_gateway(GatewayConfig config, int control_fd, int cell_fd) {
  // A pipe or socket whose reader is gone is an error code here, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  UniqueFd control(control_fd), cell(cell_fd);
  Result<std::unique_ptr<Core>> made = Core::make(std::move(config));
  if (!made.ok()) return fail_to_start(control.get(), made.error());
  Core& core = **made;
  std::unique_ptr<PublishPool> pool;
  core.control.set_fd(control.get());
  if (core.ca) core.control.send(ControlType::kCertificate, core.ca->ca_pem());
  spawn(core.loop, serve_control(core, Socket(core.loop, std::move(control))));
  spawn(core.loop, take_over(core, Socket(core.loop, std::move(cell)), pool));
  spawn(core.loop, tick(core));
  core.loop.run();
  return 0;
}

}  // namespace caisson
