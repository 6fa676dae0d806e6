// Channel: frames over a control socket, both ways, without ever blocking the loop.
#pragma once

#include <sys/socket.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor_message.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"
#include "session/frames.h"

namespace caisson::session {

using LoopDescriptor = boost::asio::posix::basic_stream_descriptor<Loop::executor_type>;

struct SocketPair {
  UniqueFd ours, theirs;
};
Result<SocketPair> make_control_sockets();

// Who hears what comes.
class ChannelListener {
 public:
  virtual ~ChannelListener() = default;
  virtual void heard(Frame) = 0;
  virtual void ended(std::string why) = 0;  // once; nothing comes after it
};

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(Loop& loop, UniqueFd socket, Speaker = Speaker::kKeeper);
  void listen(std::weak_ptr<ChannelListener>);
  // Takes its turn behind what is still to be sent. A body beyond the bound is spilled; `head`
  // stays in the frame then.
  Result<void> send(FrameType, uint32_t request, std::string_view head, std::string_view body,
                    std::vector<UniqueFd> descriptors);
  // The spilled bodies of what was sent so far, when the other side is done with them.
  void take_back_bodies();
  void close();
  bool open() const { return socket_.is_open(); }

 private:
  struct Outgoing {
    std::string bytes;
    size_t sent = 0;
    std::vector<UniqueFd> descriptors;  // they go with the first byte
  };
  void wait_readable();
  void read_some();
  bool receive_once();  // false: nothing is there, or the channel has ended
  void wait_writable();
  bool write_some();  // false: the socket takes no more for now
  void end(std::string why);

  LoopDescriptor socket_;
  FrameReader reader_;
  std::deque<Outgoing> outgoing_;
  size_t outgoing_bytes_ = 0;
  std::vector<UniqueFd> lent_;
  bool waiting_to_write_ = false;
  std::weak_ptr<ChannelListener> listener_;
};

}  // namespace caisson::session
