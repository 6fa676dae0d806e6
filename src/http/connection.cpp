#include "http/connection.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"
#include "http/chunks.h"
#include "http/listen.h"

namespace caisson::http {
namespace {

constexpr size_t kReadAtOnce = 16 * 1024;
constexpr size_t kReadBodyAtOnce = 256 * 1024;
constexpr size_t kLingerBytes = 1 << 20;
constexpr std::chrono::seconds kLingerTime{2};
constexpr int kWentAway = 0;

Error with_status(int status, std::string what, std::string hint = {}) {
  return {std::move(what), std::move(hint), status};
}

Error too_large(uint64_t limit) {
  return with_status(413, "the body is too large",
                     "at most " + std::to_string(limit) + " bytes here");
}

Error no_room() {
  return with_status(503, "bodies of other requests take all the memory that there is for them",
                     "try again in a while");
}

// What has come so far goes into the request's memory, if it has one.
bool spill(Request& request) {
  if (!request.memory) return true;
  for (std::string_view rest = request.body; !rest.empty();) {
    ssize_t done = ::write(request.memory.get(), rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(done));
  }
  request.body.clear();
  return true;
}

}  // namespace

Connection::Connection(std::shared_ptr<Server::Shared> shared, UniqueFd fd, Peer peer,
                       const Stream* door)
    : shared_(std::move(shared)),
      stream_(shared_->loop, std::move(fd)),
      peer_(peer),
      door_(door),
      known_(peer.is_unix) {
  shared_->open.push_back(this);
  shared_->counts.open = shared_->open.size();
}

Connection::~Connection() {
  std::erase(shared_->open, this);
  shared_->counts.open = shared_->open.size();
}

void Connection::look(Clock::time_point now) {
  if (due_ > now) return;
  due_ = Clock::time_point::max();
  late_ = true;
  // A client that sends too slowly may still be told so; one that doesn't read can't.
  if (reading_)
    ::shutdown(stream_.fd(), SHUT_RD);
  else
    stream_.abort();
}

Task<> Connection::run() {
  Next next = Next::kGoOn;
  while (next == Next::kGoOn && !shared_->stopped) next = co_await one_request();
  if (next == Next::kClose) co_await linger();
}

// Closing with bytes unread makes the kernel send a reset, and a reset can overtake the answer that
// says why: first our end is told, then what still comes is read and dropped, within bounds.
Task<> Connection::linger() {
  stream_.end_writing();
  reading_ = true;
  due_ = Clock::now() + kLingerTime;
  std::string dropped;
  for (size_t all = 0; all < kLingerBytes;) {
    dropped.clear();
    Result<size_t> got = co_await stream_.read(dropped, kReadAtOnce);
    if (!got.ok() || *got == 0) break;
    all += *got;
  }
}

Task<Result<void>> Connection::more(std::string& into, std::chrono::seconds patience) {
  if (patience.count()) due_ = Clock::now() + patience;
  reading_ = true;
  size_t limit = &into == &buffer_ ? kReadAtOnce : kReadBodyAtOnce;
  Result<size_t> got = co_await stream_.read(into, limit);
  reading_ = false;
  if (patience.count()) due_ = Clock::time_point::max();
  if (late_) co_return with_status(408, "the request came too slowly");
  if (!got.ok() || *got == 0) co_return with_status(kWentAway, "the client went away");
  co_return Result<void>();
}

Task<Result<Request>> Connection::read_head() {
  const ServerOptions& options = shared_->options;
  if (buffer_.empty()) {
    // Whoever connects without a right to anything has no two minutes to say nothing.
    Result<void> came = co_await more(buffer_, known_ ? options.idle_time : options.head_time);
    // Nobody waits for an answer to nothing.
    if (!came.ok()) co_return with_status(kWentAway, "the client went away");
  }
  due_ = Clock::now() + options.head_time;  // for all of the head: a byte now and then is no head
  std::optional<size_t> end = find_head_end(buffer_);
  while (!end) {
    if (buffer_.size() > kMaxHead) break;
    size_t looked = buffer_.size();
    Result<void> came = co_await more(buffer_, std::chrono::seconds(0));
    if (!came.ok()) co_return std::move(came).error();
    end = find_head_end(buffer_, looked);
  }
  due_ = Clock::time_point::max();
  if (!end || *end > kMaxHead)
    co_return with_status(431, "the head of the request is too large", "at most 64 KiB");
  Result<Request> request = parse_request_head(std::string_view(buffer_).substr(0, *end));
  buffer_.erase(0, *end);
  if (request.ok()) request->peer = peer_;
  co_return request;
}

Task<Result<void>> Connection::read_body(Request& request, const Admission& admission,
                                         BodyRoom& room) {
  BodyFrame frame = body_frame(request);
  if (frame.length > admission.body_limit) co_return too_large(admission.body_limit);
  if (!room.hold(frame.length)) co_return no_room();
  bool has_body = frame.chunked || frame.length;
  if (has_body && request.minor == 1 && request.find("Expect")) {
    Result<void> told = co_await stream_.write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told.ok()) co_return with_status(kWentAway, "the client went away");
  }
  if (admission.into_memory && (frame.chunked || frame.length > BodyRoom::kFree)) {
    request.memory.reset(::memfd_create("caisson-body", MFD_CLOEXEC));
    if (!request.memory) co_return with_status(500, "no memory for the body");
  }
  if (frame.chunked) co_return co_await read_chunks(request, admission.body_limit, room);
  co_return co_await read_length(request, frame.length);
}

Task<Result<void>> Connection::read_length(Request& request, uint64_t length) {
  size_t here = std::min<uint64_t>(length, buffer_.size());
  request.body.assign(buffer_, 0, here);
  buffer_.erase(0, here);
  for (uint64_t have = here; have < length;) {
    if (!spill(request)) co_return with_status(500, "no memory for the body");
    size_t before = request.body.size();
    Result<void> came = co_await more(request.body, shared_->options.body_time);
    if (!came.ok()) co_return came;
    have += request.body.size() - before;
    if (have <= length) continue;
    // What was read beyond the body is the next request.
    size_t own = request.body.size() - (have - length);
    buffer_.append(request.body, own, std::string::npos);
    request.body.resize(own);
  }
  if (!spill(request)) co_return with_status(500, "no memory for the body");
  co_return Result<void>();
}

Task<Result<void>> Connection::read_chunks(Request& request, uint64_t limit, BodyRoom& room) {
  ChunkReader reader(limit);
  for (uint64_t have = 0;;) {
    size_t before = request.body.size();
    buffer_.erase(0, reader.feed(buffer_, request.body));
    have += request.body.size() - before;
    if (!room.hold(have)) co_return no_room();
    if (!spill(request)) co_return with_status(500, "no memory for the body");
    if (reader.state() == ChunkReader::State::kDone) co_return Result<void>();
    if (reader.state() == ChunkReader::State::kTooLarge) co_return too_large(limit);
    if (reader.ended()) co_return with_status(400, "a chunk that isn't one");
    Result<void> came = co_await more(buffer_, shared_->options.body_time);
    if (!came.ok()) co_return came;
  }
}

Admission Connection::judge(const Request& request) const {
  // A page in a browser on this machine can send requests here. One that has rebound its own name
  // to 127.0.0.1 is told by Host, one that asks across origins by Origin. A unix socket can't be
  // reached from a page.
  if (shared_->options.check_host && control_enabled("http-host")) {
    const std::string* host = request.find("Host");
    if (!peer_.is_unix && (!host || !is_loopback_host(*host)))
      return {refusal(421, "the Host header doesn't name this machine's loopback",
                      "use localhost, 127.0.0.1 or [::1] in the address")};
    const std::string* origin = request.find("Origin");
    if (origin && !is_loopback_origin(*origin))
      return {refusal(403, "a page of another origin asks",
                      "only pages of this machine's loopback may")};
  }
  const std::string* expect = request.find("Expect");
  if (expect && !same_text(*expect, "100-continue"))
    return {refusal(417, "an expectation other than 100-continue")};
  return shared_->options.admit ? shared_->options.admit(request) : Admission{};
}

Task<Connection::Next> Connection::refuse(Reply& reply, Response response, bool body_unread) {
  ++shared_->counts.refused;
  if (body_unread) reply.keep_alive = false;
  Result<void> sent = co_await reply.send(std::move(response));
  if (!sent.ok()) co_return Next::kGone;
  co_return reply.keep_alive ? Next::kGoOn : Next::kClose;
}

Task<Connection::Next> Connection::one_request() {
  Result<Request> read = co_await read_head();
  if (!read.ok() && read.error().errnum == kWentAway) co_return Next::kGone;
  Request request = read.ok() ? std::move(*read) : Request{};
  Reply reply(stream_, request, due_, shared_->options.write_time);
  if (!read.ok()) {
    Response why = refusal(read.error().errnum, read.error().what, read.error().hint);
    co_return co_await refuse(reply, std::move(why), true);
  }
  ++shared_->counts.requests;
  reply.keep_alive = keeps_alive(request);
  BodyFrame frame = body_frame(request);
  Admission admission = judge(request);
  if (admission.refusal)
    co_return co_await refuse(reply, std::move(*admission.refusal), frame.chunked || frame.length);
  known_ = true;
  BodyRoom room(shared_->bodies, shared_->options.most_bodies);  // until it is answered
  Result<void> body = co_await read_body(request, admission, room);
  if (!body.ok() && body.error().errnum == kWentAway) co_return Next::kGone;
  if (!body.ok()) {
    Response why = refusal(body.error().errnum, body.error().what, body.error().hint);
    co_return co_await refuse(reply, std::move(why), true);
  }
  co_return co_await answer(request, reply);
}

Task<Connection::Next> Connection::answer(Request& request, Reply& reply) {
  co_await shared_->options.handle(request, reply);
  stream_.unwatch();
  if (!reply.begun()) {
    Response silence = refusal(500, "nothing answered this request");
    co_await reply.send(std::move(silence));
  }
  if (reply.failed()) co_return Next::kGone;
  // A stream that was broken off must not look like one that ended.
  if (!reply.whole()) {
    stream_.abort();
    co_return Next::kGone;
  }
  co_return reply.keep_alive ? Next::kGoOn : Next::kClose;
}

}  // namespace caisson::http
