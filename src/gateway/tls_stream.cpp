#include "gateway/tls_stream.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <cerrno>

namespace caisson {
namespace {

// Four full records as AES-GCM makes them in TLS 1.3 (5 bytes before, 1 and 16 behind), and what
// OpenSSL loses to alignment. A buffer that ends within a record costs a read for the rest of it.
constexpr size_t kReadAhead = 4 * (TlsStream::kRecord + 22) + 7;

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return 0;
}

std::string last_error() {
  unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (code == 0) return "the connection ended";
  const char* text = ERR_reason_error_string(code);
  return text ? text : fmt::format("error {}", ERR_GET_REASON(code));
}

}  // namespace

int TlsStream::bio_read(BIO* bio, char* into, size_t size, size_t* got) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  Moved moved = self.below_.try_read({reinterpret_cast<uint8_t*>(into), size});
  BIO_clear_retry_flags(bio);
  if (moved.would_block()) BIO_set_retry_read(bio);
  if (moved.ended()) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  *got = moved.bytes;
  return moved.bytes > 0;
}

int TlsStream::bio_write(BIO* bio, const char* bytes, size_t size, size_t* put) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  Moved moved = self.below_.try_write({reinterpret_cast<const uint8_t*>(bytes), size}, self.then_);
  BIO_clear_retry_flags(bio);
  if (moved.would_block()) BIO_set_retry_write(bio);
  *put = moved.bytes;
  return moved.bytes > 0;
}

BIO_METHOD* TlsStream::bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    BIO_meth_set_read_ex(made, bio_read);
    BIO_meth_set_write_ex(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

TlsStream::TlsStream(Stream& below, TlsConnection made, Role role, AwakeTls* awake)
    : below_(below), ssl_(std::move(made), awake) {
  if (!ssl_) return;
  BIO* bio = BIO_new(bio_method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl(), bio, bio);
  // Buffers only while there is something in them: a thousand idle connections must stay small.
  SSL_set_mode(ssl(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                          SSL_MODE_RELEASE_BUFFERS);
  // Several records by one call of the kernel. What is read ahead is found by reading on until it
  // would block, which every reader does before it waits.
  SSL_set_read_ahead(ssl(), 1);
  SSL_set_default_read_buffer_len(ssl(), kReadAhead);
  if (role == Role::kServer)
    SSL_set_accept_state(ssl());
  else
    SSL_set_connect_state(ssl());
}

TlsStream::TlsStream(std::unique_ptr<Stream> below, TlsConnection made, Role role, AwakeTls* awake)
    : TlsStream(*below, std::move(made), role, awake) {
  owned_ = std::move(below);
}

TlsStream::~TlsStream() = default;

Moved TlsStream::failure(int returned, Wants& wants) {
  switch (SSL_get_error(ssl(), returned)) {
    case SSL_ERROR_WANT_READ:
      wants = Wants::kRead;
      return {0, EAGAIN};
    case SSL_ERROR_WANT_WRITE:
      wants = Wants::kWrite;
      return {0, EAGAIN};
    case SSL_ERROR_ZERO_RETURN:
      return {0, 0};
    default:
      return {0, ECONNRESET};  // an end without a farewell too: it may be a cut
  }
}

// Record after record, while there is room and more has been read ahead. A failure behind the first
// one comes again at the next call.
Moved TlsStream::read_some(std::span<uint8_t> into) {
  size_t all = 0;
  do {
    ERR_clear_error();
    size_t got = 0;
    int returned = SSL_read_ex(ssl(), into.data() + all, into.size() - all, &got);
    if (returned != 1) return all ? Moved{all, 0} : failure(returned, read_wants_);
    all += got;
  } while (all < into.size() && SSL_has_pending(ssl()));
  return {all, 0};
}

// Every record but the last says that more follows: they travel in packets of the kernel's size.
Moved TlsStream::try_write(std::span<const uint8_t> bytes, Then then) {
  size_t all = 0;
  while (all < bytes.size()) {
    std::span<const uint8_t> rest = bytes.subspan(all);
    then_ = rest.size() > kRecord ? Then::kMore : then;
    ERR_clear_error();
    size_t put = 0;
    int returned = SSL_write_ex(ssl(), rest.data(), std::min(rest.size(), kRecord), &put);
    if (returned != 1) {
      Moved moved = failure(returned, write_wants_);
      then_ = Then::kDone;
      if (all) return {all, 0};
      if (moved.error == 0) moved.error = EPIPE;
      return moved;
    }
    all += put;
  }
  then_ = Then::kDone;
  return {all, 0};
}

Task<int> TlsStream::wait(Wants wants) {
  return wants == Wants::kRead ? below_.wait_read() : below_.wait_write();
}

Task<std::string> TlsStream::handshake() {
  if (!ssl_) co_return "no memory for TLS";
  for (;;) {
    ERR_clear_error();
    int returned = SSL_do_handshake(ssl());
    if (returned == 1) co_return "";
    Wants wants = Wants::kRead;
    if (!failure(returned, wants).would_block()) break;
    if (co_await wait(wants) != 0) co_return "the connection ended";
  }
  long verified = SSL_get_verify_result(ssl());
  if (verified != X509_V_OK) co_return X509_verify_cert_error_string(verified);
  co_return last_error();
}

std::string_view TlsStream::alpn() {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

Task<int> TlsStream::finish() {
  for (;;) {
    ERR_clear_error();
    int returned = SSL_shutdown(ssl());
    if (returned >= 0) break;
    Wants wants = Wants::kWrite;
    if (!failure(returned, wants).would_block()) break;
    if (int error = co_await wait(wants)) co_return error;
  }
  co_return co_await below_.finish();
}

}  // namespace caisson
