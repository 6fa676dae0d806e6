#include "gateway/doors.h"

#include "gateway/accept.h"

namespace caisson {
namespace {

Socket on_loop(Core& core, UniqueFd fd) { return Socket(core.loop, std::move(fd)); }

Result<void> check_door(const Core& core, const CellSockets& handover) {
  if (handover.forward.size() != core.config.forward.size() + core.config.loopback.size())
    return Error::plain("the cell handed over another number of listeners than ports to forward");
  if (core.config.publish_listeners.size() != core.config.publish.size())
    return Error::plain("another number of listeners than ports to publish");
  if (!core.config.publish.empty() && handover.pool.empty())
    return Error::plain("the cell handed over no sockets for its published ports");
  return {};
}

void open_forwards(Core& core, std::vector<UniqueFd> listeners) {
  const GatewayConfig& config = core.config;
  for (size_t i = 0; i < listeners.size(); ++i) {
    bool judged = i >= config.forward.size();
    uint16_t port = judged ? config.loopback[i - config.forward.size()] : config.forward[i];
    auto serve = judged ? &serve_loopback : &serve_forward;
    spawn(core.loop, accept_all(core, on_loop(core, std::move(listeners[i])),
                                [&core, serve, port](Socket client) {
                                  return serve(core, std::move(client), port);
                                }));
  }
}

void open_published(Core& core, PublishPool& pool) {
  for (size_t i = 0; i < core.config.publish.size(); ++i) {
    uint16_t port = core.config.publish[i].cell_port;
    UniqueFd listener(core.config.publish_listeners[i]);
    spawn(core.loop,
          accept_all(core, on_loop(core, std::move(listener)),
                     [&pool, port](Socket client) { return pool.serve(std::move(client), port); }));
  }
}

}  // namespace

Result<void> open_doors(Core& core, CellSockets handover, std::unique_ptr<PublishPool>& pool) {
  TRY(check_door(core, handover));
  for (UniqueFd& fd : handover.tcp)
    spawn(core.loop, accept_all(core, on_loop(core, std::move(fd)), [&core](Socket client) {
            return serve_tcp(core, std::move(client));
          }));
  for (UniqueFd& fd : handover.dns_udp)
    spawn(core.loop, serve_dns_udp(core, on_loop(core, std::move(fd))));
  for (UniqueFd& fd : handover.dns_tcp)
    spawn(core.loop, accept_all(core, on_loop(core, std::move(fd)), [&core](Socket client) {
            return serve_dns_tcp(core, std::move(client));
          }));
  open_forwards(core, std::move(handover.forward));
  pool = std::make_unique<PublishPool>(core, std::move(handover.pool));
  open_published(core, *pool);
  return {};
}

}  // namespace caisson
