#include "http/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "http/chunks.h"
#include "http/head.h"

namespace caisson::http {
namespace {

constexpr size_t kAnswerAtOnce = 64 * 1024, kFileAtOnce = 1 << 20;
constexpr uint64_t kLargestAnswer = uint64_t{1} << 30;

Error odd_answer() {
  return Error::plain("the server's answer is not HTTP", "is another program on that socket?");
}

const std::string* field(const Response& response, std::string_view name) {
  for (const Field& each : response.fields)
    if (same_text(each.name, name)) return &each.value;
  return nullptr;
}

Result<Response> parse_head(std::string_view head) {
  Response response;
  std::vector<std::string_view> lines = split(head, '\n');
  std::string_view status = lines[0];
  if (status.size() < 12 || !status.starts_with("HTTP/1.")) return odd_answer();
  auto [end, failed] = std::from_chars(status.data() + 9, status.data() + 12, response.status);
  if (failed != std::errc() || end != status.data() + 12) return odd_answer();
  for (size_t i = 1; i < lines.size(); ++i) {
    size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) continue;
    response.fields.push_back(
        {std::string(lines[i].substr(0, colon)), std::string(trim(lines[i].substr(colon + 1)))});
  }
  return response;
}

}  // namespace

Result<Client> Client::connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error::plain(path + ": too long for a unix socket's path");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return Error::system("make a unix socket");
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0)
    return Error::system("reach the server at " + path);
  // Whoever listens there is asked to run code and shown what it says: it must be ours.
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
      (who.uid != ::geteuid() && who.uid != 0))
    return Error::plain(fmt::format("{} belongs to another user", path),
                        "--socket names a server of yours");
  return Client(std::move(fd));
}

Result<void> Client::put(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR && (!on_signal || on_signal())) continue;
    if (sent < 0) return Error::system("ask the server");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<void> Client::put_file(int file, std::optional<uint64_t> size) {
  std::string piece(kFileAtOnce, '\0');
  for (uint64_t left = size.value_or(UINT64_MAX); left > 0;) {
    ssize_t got = ::read(file, piece.data(), std::min<uint64_t>(left, piece.size()));
    if (got < 0 && errno == EINTR && (!on_signal || on_signal())) continue;
    if (got < 0) return Error::system("read the file");
    std::string_view bytes(piece.data(), static_cast<size_t>(got));
    if (got == 0 && size) return Error::plain("the file became shorter while it was read");
    if (got == 0) return put("0\r\n\r\n");
    if (!size) TRY(put(fmt::format("{:x}\r\n", bytes.size())));
    TRY(put(bytes));
    if (!size) TRY(put("\r\n"));
    left -= bytes.size();
  }
  return {};
}

Result<void> Client::send(const Order& order) {
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", order.method, order.target);
  for (const Field& each : order.fields)
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", each.name, each.value);
  if (order.file >= 0 && !order.file_size)
    head += "Transfer-Encoding: chunked\r\n\r\n";
  else
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n\r\n",
                   order.file_size.value_or(order.body.size()));
  if (order.file < 0 && order.body.size() < kAnswerAtOnce) return put(head += order.body);
  TRY(put(head));
  // A server that refuses answers before it has read everything: its answer is worth more than
  // the failed send.
  Result<void> sent = order.file < 0 ? put(order.body) : put_file(order.file, order.file_size);
  if (!sent.ok() && sent.error().errnum != EPIPE && sent.error().errnum != ECONNRESET) return sent;
  return {};
}

Result<size_t> Client::more() {
  size_t before = buffer_.size();
  buffer_.resize(before + kAnswerAtOnce);
  ssize_t got;
  do {
    got = ::recv(fd_.get(), buffer_.data() + before, kAnswerAtOnce, 0);
  } while (got < 0 && errno == EINTR && (!on_signal || on_signal()));
  int why = errno;
  buffer_.resize(before + static_cast<size_t>(got > 0 ? got : 0));
  if (got < 0) return Error::from_errno("read the server's answer", why);
  return static_cast<size_t>(got);
}

Result<Response> Client::read_head() {
  std::optional<size_t> end;
  while (!(end = find_head_end(buffer_))) {
    if (buffer_.size() > kMaxHead) return odd_answer();
    if (TRY(more()) == 0)
      return Error::plain("the server ended the connection", "it may have been stopped");
  }
  Response response = TRY(parse_head(std::string_view(buffer_).substr(0, *end)));
  buffer_.erase(0, *end);
  if (response.status == 100) return read_head();
  return response;
}

Result<void> Client::read_chunks(Response& response, const Piece& piece) {
  ChunkReader reader(std::numeric_limits<int64_t>::max());
  for (;;) {
    buffer_.erase(0, reader.feed(buffer_, response.body));
    if (piece && !response.body.empty()) {
      bool go_on = piece(response.body);
      response.body.clear();
      if (!go_on) return {};
    }
    if (reader.state() == ChunkReader::State::kDone) return {};
    if (reader.ended() || response.body.size() > kLargestAnswer) return odd_answer();
    if (TRY(more()) == 0)
      return Error::plain("the server ended in the middle of its answer",
                          "it may have been stopped");
  }
}

Result<void> Client::read_body(Response& response, const Piece& piece) {
  const std::string* coding = field(response, "Transfer-Encoding");
  if (coding && same_text(*coding, "chunked")) return read_chunks(response, piece);
  const std::string* told = field(response, "Content-Length");
  uint64_t length = 0;
  if (told) std::from_chars(told->data(), told->data() + told->size(), length);
  if (length > kLargestAnswer) return odd_answer();
  while (buffer_.size() < length)
    if (TRY(more()) == 0) return odd_answer();
  response.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return {};
}

Result<Response> Client::ask(const Order& order, const Piece& piece) {
  TRY(send(order));
  Response response = TRY(read_head());
  TRY(read_body(response, piece));
  return response;
}

}  // namespace caisson::http
