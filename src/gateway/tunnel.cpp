#include "gateway/tunnel.h"

#include "gateway/event.h"

namespace caisson {
namespace {

struct Tunnel {
  Core& core;
  Stream& cell;
  Stream& other;
  Deadline deadline;
  Event down_done;
  PumpEnd down_end = PumpEnd::kEnd;
  std::optional<PlaceholderScan> scan;
  std::optional<WebSocketMask> mask;

  Tunnel(Core& all, Stream& cell_side, Stream& other_side)
      : core(all),
        cell(cell_side),
        other(other_side),
        deadline(all.deadlines, &cell_side.socket(), &other_side.socket()),
        down_done(all.loop) {
    deadline.after(kIdleTime);
  }

  Task<PumpEnd> one_way(Way way) {
    Pump pump{core.loop, core.pipes, core.traffic, deadline, way};
    if (way == Way::kUp && scan) pump.scan = &*scan;
    if (way == Way::kDown && mask) pump.mask = &*mask;
    Stream& from = way == Way::kUp ? cell : other;
    Stream& to = way == Way::kUp ? other : cell;
    PumpEnd end = co_await run_pump(pump, from, to);
    if (end == PumpEnd::kEnd) {
      co_await to.finish();
    } else {
      // Wakes the other direction, whichever of the two it waits for.
      from.socket().abort();
      to.socket().abort();
    }
    co_return end;
  }

  static bool is_refusal(PumpEnd end) {
    return end == PumpEnd::kBudget || end == PumpEnd::kPlaceholder || end == PumpEnd::kUnmaskable;
  }

  Task<> down() {
    down_end = co_await one_way(Way::kDown);
    down_done.set();
  }

  Task<PumpEnd> both() {
    spawn(core.loop, down());
    PumpEnd up_end = co_await one_way(Way::kUp);
    co_await down_done.wait();
    // A refusal of one direction breaks the other: the refusal is what is to be told.
    if (is_refusal(down_end)) co_return down_end;
    co_return up_end != PumpEnd::kEnd ? up_end : down_end;
  }
};

void tell(Core& core, PumpEnd end, const HostPort& where, std::string_view protocol) {
  if (end == PumpEnd::kBudget) {
    core.deny({false, "byte budget", "the cell's byte budget is spent",
               "--upload-limit or --download-limit with a larger number"},
              where, protocol);
  } else if (end == PumpEnd::kPlaceholder) {
    core.deny({false, "secret", "the placeholder of a secret was sent where it isn't replaced", ""},
              where, protocol);
  } else if (end == PumpEnd::kUnmaskable) {
    core.deny(
        {false, "secret",
         "what could be a secret came in so many or so broken frames that it can't be masked", ""},
        where, protocol);
  }
}

}  // namespace

Task<bool> run_tunnel(Core& core, Stream& cell, Stream& other, const HostPort& where,
                      std::string_view protocol, TunnelLooks looks) {
  Tunnel tunnel(core, cell, other);
  if (looks.for_placeholders && !core.secrets->empty()) tunnel.scan.emplace(*core.secrets);
  if (looks.for_secrets) tunnel.mask.emplace(*core.secrets);
  PumpEnd end = co_await tunnel.both();
  if (end != PumpEnd::kEnd) tell(core, end, where, protocol);
  co_return end == PumpEnd::kEnd;
}

Task<> tunnel_or_reset(Core& core, Stream& cell, Stream& other, const HostPort& where,
                       std::string_view protocol, TunnelLooks looks) {
  bool whole = co_await run_tunnel(core, cell, other, where, protocol, looks);
  if (!whole) {
    cell.socket().reset();
    other.socket().reset();
  }
}

}  // namespace caisson
