#include "session/frames.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"

namespace caisson::session {

namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr size_t kMostWaitingDescriptors = 4 * kMostFrameDescriptors;

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

uint32_t u32_at(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Error broken(std::string_view how) {
  return Error::plain(fmt::format("the session broke its protocol: {}", how));
}

Result<void> fill(const UniqueFd& fd, std::string_view bytes) {
  if (!fd) return Error::system("make a memfd");
  while (!bytes.empty()) {
    ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error::system("fill a memfd");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

bool is_ours_to_hear(Speaker speaker, uint8_t type) {
  if (speaker == Speaker::kZygote) return type == static_cast<uint8_t>(FrameType::kSpawned);
  return type >= static_cast<uint8_t>(FrameType::kHello) &&
         type <= static_cast<uint8_t>(FrameType::kWay);
}

}  // namespace

std::string encode_prefix(const CallPrefix& prefix) {
  std::string out;
  put_u32(out, prefix.timeout_ms);
  put_u32(out, prefix.grace_ms);
  out += '\0';
  out += static_cast<char>(prefix.descriptors);
  return out;
}

std::string encode_frame(FrameType type, bool spilled, uint32_t request, std::string_view body) {
  std::string out;
  out.reserve(kHeaderBytes + body.size());
  put_u32(out, static_cast<uint32_t>(body.size()));
  out += static_cast<char>(static_cast<uint8_t>(type) | (spilled ? kSpilledBit : 0));
  put_u32(out, request);
  out += body;
  return out;
}

Result<void> FrameReader::feed(std::string_view bytes, std::vector<ForeignFd> descriptors) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  } else if (at_ > kMostBody) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_ += bytes;
  for (ForeignFd& fd : descriptors) descriptors_.push_back(std::move(fd));
  if (descriptors_.size() > kMostWaitingDescriptors)
    return broken("descriptors that belong to no frame");
  return {};
}

Result<std::optional<Frame>> FrameReader::next() {
  if (buffer_.size() - at_ < kHeaderBytes) return std::optional<Frame>{};
  const char* head = buffer_.data() + at_;
  uint32_t length = u32_at(head);
  auto kind = static_cast<uint8_t>(head[4]);
  if (length > kMostBody) return broken("a frame larger than the bound");
  auto type = static_cast<uint8_t>(kind & ~kSpilledBit);
  if (!is_ours_to_hear(speaker_, type)) return broken("a frame of unknown type");
  if (buffer_.size() - at_ < kHeaderBytes + length) return std::optional<Frame>{};
  Frame frame{static_cast<FrameType>(type), u32_at(head + 5), {}, {}};
  frame.body.assign(head + kHeaderBytes, length);
  at_ += kHeaderBytes + length;
  if (kind & kSpilledBit) {
    // Descriptors come with the first byte of their frame, so it is here if there is one.
    if (descriptors_.empty()) return broken("a spilled body without its descriptor");
    frame.spilled = std::move(descriptors_.front());
    descriptors_.pop_front();
  }
  return std::optional<Frame>{std::move(frame)};
}

Result<UniqueFd> unsealed_memfd(const char* name) {
  UniqueFd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd) return Error::system("make a memfd");
  return fd;
}

Result<void> seal(int memfd) {
  if (::fcntl(memfd, F_ADD_SEALS, kSeals) != 0) return Error::system("seal a memfd");
  return {};
}

Result<UniqueFd> sealed_memfd(const char* name, std::string_view bytes) {
  UniqueFd fd = TRY(unsealed_memfd(name));
  TRY(fill(fd, bytes));
  TRY(seal(fd.get()));
  return fd;
}

Result<UniqueFd> lent_memfd(const char* name, std::string_view bytes) {
  UniqueFd fd{::memfd_create(name, MFD_CLOEXEC)};
  TRY(fill(fd, bytes));
  return fd;
}

void take_back(const UniqueFd& lent) {
  if (lent && control_enabled("session-lent-memory")) (void)!::ftruncate(lent.get(), 0);
}

Result<std::string> read_sealed(const ForeignFd& from, size_t most) {
  // A pipe or a device would be waited for.
  if (!from.is_sealed_memory()) return broken("a body that is not sealed");
  int fd = from.get();
  struct stat info;
  if (::fstat(fd, &info) != 0) return Error::system("look at a spilled body");
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) > most)
    return broken(fmt::format("a body of {} bytes; the bound is {}", info.st_size, most));
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  for (size_t at = 0; at < bytes.size();) {
    ssize_t got = ::pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error::system("read a spilled body");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace caisson::session
