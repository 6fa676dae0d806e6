// The first bytes of a client that is connected to its host, looked at before anything passes.
#pragma once

#include <string>

#include "gateway/core.h"
#include "gateway/event.h"
#include "gateway/sniff.h"
#include "gateway/stream.h"

namespace caisson {

// Collects bytes until it is clear what they are, or until the host speaks first (ssh, smtp,
// mysql): then it is no protocol whose client names a host. A client that stops in the middle of
// what could still become a request line or a ClientHello may be waiting for the host: after a
// while the bytes are let through, one by one as they come, but never the one that would complete a
// request.
class FirstLook {
 public:
  enum class HostSide { kMaySpeakFirst, kWaits };

  FirstLook(Core& core, Stream& client, Stream& upstream, HostSide host);

  // Afterwards the client's unread bytes are those that the host hasn't got.
  Task<> run();

  FirstBytes kind() const { return host_spoke_ ? FirstBytes::kOpaque : sniffed_.kind; }
  const Sniffed& sniffed() const { return sniffed_; }
  bool failed() const { return failed_; }
  // Some of it was let through undecided: too late to write a request anew.
  bool has_leaked() const { return leaked_ > 0; }

 private:
  void look();
  Task<> collect();
  Task<> take_bytes();
  Task<> wait_for_bytes();
  Task<> let_through();
  Task<> watch_host();
  Task<> watch_quiet();
  bool decided() const { return failed_ || host_spoke_ || sniffed_.kind != FirstBytes::kNeedMore; }

  Core& core_;
  Stream& client_;
  Stream& upstream_;
  HostSide host_;
  Deadline deadline_;
  std::string bytes_;
  size_t leaked_ = 0;
  Sniffed sniffed_;
  bool host_spoke_ = false, failed_ = false, quiet_ = false;
  bool over_ = false;
  Event host_done_, quiet_done_;
  Timer quiet_timer_;
  bool quiet_watched_ = false;
};

}  // namespace caisson
