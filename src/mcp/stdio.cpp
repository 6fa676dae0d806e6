#include "mcp/stdio.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/basic_signal_set.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

#include "mcp/framing.h"

namespace caisson::mcp {

namespace {

using Await = boost::asio::use_awaitable_t<Loop::executor_type>;
using Descriptor = boost::asio::posix::basic_stream_descriptor<Loop::executor_type>;
using Signals = boost::asio::basic_signal_set<Loop::executor_type>;
using boost::asio::redirect_error;

constexpr size_t kReadSize = 256 << 10;
constexpr size_t kCongestedPipe = 1 << 20;  // bytes that wait for a client that doesn't read
constexpr size_t kStopReading = 4 << 20;    // then its own messages wait, too
constexpr auto kFlushTime = std::chrono::milliseconds(50);

// One end of a pipe that may be shared with others (a terminal): its blocking mode is put back.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {
    ::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~NonBlocking() { ::fcntl(fd_, F_SETFL, flags_); }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int fd_, flags_;
};

class Pipe : public Outlet, public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Loop& loop, const StdioOptions& options)
      : input_mode_(options.input),
        output_mode_(options.output),
        input_(loop, ::fcntl(options.input, F_DUPFD_CLOEXEC, 3)),
        output_(loop, ::fcntl(options.output, F_DUPFD_CLOEXEC, 3)),
        drained_(loop),
        ended_(loop),
        loop_(loop) {}

  void notify(std::string message) override { send(std::move(message)); }
  void respond(std::string message, std::optional<Code>) override { send(std::move(message)); }
  bool congested() const override { return waiting_ > kCongestedPipe; }

  Task<> read_all(Server& server, std::shared_ptr<Client> client);
  Task<> flush();
  // The client went, or a signal came.
  Task<> until_end() {
    while (!over_) co_await ended_.wait();
  }
  void end() {
    over_ = true;
    boost::system::error_code ignored;
    input_.cancel(ignored);
    ended_.ring();
    drained_.ring();
  }

 private:
  void send(std::string message);
  size_t write_now(std::string_view bytes);
  Task<> write_all();

  NonBlocking input_mode_, output_mode_;
  Descriptor input_, output_;
  std::deque<std::string> queue_;
  size_t waiting_ = 0;
  bool writing_ = false, over_ = false;
  http::Bell drained_, ended_;
  Loop& loop_;
};

size_t Pipe::write_now(std::string_view bytes) {
  boost::system::error_code error;
  size_t sent = output_.write_some(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error && error != boost::asio::error::would_block && error != boost::asio::error::try_again)
    end();
  return error ? 0 : sent;
}

void Pipe::send(std::string message) {
  if (over_) return;
  message += '\n';
  size_t sent = writing_ ? 0 : write_now(message);
  if (over_ || sent == message.size()) return;
  message.erase(0, sent);
  waiting_ += message.size();
  queue_.push_back(std::move(message));
  if (std::exchange(writing_, true)) return;
  spawn(loop_, [](std::shared_ptr<Pipe> self) -> Task<> {
    co_await self->write_all();
  }(shared_from_this()));
}

Task<> Pipe::write_all() {
  while (!queue_.empty() && !over_) {
    boost::system::error_code error;
    co_await output_.async_wait(Descriptor::wait_write, redirect_error(Await{}, error));
    if (error) break;
    size_t sent = write_now(queue_.front());
    waiting_ -= sent;
    if (sent == queue_.front().size())
      queue_.pop_front();
    else
      queue_.front().erase(0, sent);
    if (waiting_ <= kStopReading) drained_.ring();
  }
  writing_ = false;
  drained_.ring();
}

Task<> Pipe::read_all(Server& server, std::shared_ptr<Client> client) {
  LineFramer framer(kMaxFrame);
  std::string buffer(kReadSize, '\0');
  while (!over_) {
    while (waiting_ > kStopReading && !over_) co_await drained_.wait();
    boost::system::error_code error;
    size_t got = co_await input_.async_read_some(boost::asio::buffer(buffer),
                                                 redirect_error(Await{}, error));
    if (error) break;
    framer.feed(std::string_view(buffer.data(), got));
    while (std::optional<LineFramer::Line> line = framer.next()) {
      Frame frame = line->too_long ? too_long_frame(std::move(line->id)) : parse_frame(line->text);
      server.receive(client, std::move(frame), shared_from_this());
    }
  }
  end();
}

// What was answered goes out, if the client still reads.
Task<> Pipe::flush() {
  over_ = false;
  auto end = http::Clock::now() + kFlushTime;
  while (!queue_.empty() && http::Clock::now() < end && !over_) {
    size_t sent = write_now(queue_.front());
    if (sent == queue_.front().size()) {
      queue_.pop_front();
      continue;
    }
    queue_.front().erase(0, sent);
    http::Bell pause(loop_);
    co_await pause.wait_until(http::Clock::now() + std::chrono::milliseconds(2));
  }
  over_ = true;
}

// A handler, and not SIG_IGN: what is ignored stays ignored in the programs that are started.
void survive_broken_pipes() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace

Task<> serve_stdio(Server& server, std::shared_ptr<Client> client, StdioOptions options) {
  survive_broken_pipes();
  Loop& loop = server.loop();
  auto pipe = std::make_shared<Pipe>(loop, options);
  client->outlet = pipe;
  server.add(client);
  Signals signals(loop, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([pipe](boost::system::error_code failed, int) {
    if (!failed) pipe->end();
  });
  spawn(loop,
        [](std::shared_ptr<Pipe> pipe, Server* server, std::shared_ptr<Client> client) -> Task<> {
          co_await pipe->read_all(*server, client);
        }(pipe, &server, client));
  co_await pipe->until_end();
  server.close(client);
  if (options.at_end) co_await options.at_end();
  co_await pipe->flush();
}

}  // namespace caisson::mcp
