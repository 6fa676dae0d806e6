// TLS over another stream, either side of it.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "gateway/stream.h"
#include "gateway/tls_rest.h"

namespace caisson {

class TlsStream final : public Stream {
 public:
  enum class Role { kServer, kClient };

  // `below` must outlive it, and `awake` too; without the latter it never rests.
  TlsStream(Stream& below, TlsConnection made, Role role, AwakeTls* awake = nullptr);
  // The same, and owns it.
  TlsStream(std::unique_ptr<Stream> below, TlsConnection made, Role role,
            AwakeTls* awake = nullptr);
  ~TlsStream() override;

  SSL* ssl() { return ssl_.use(); }
  // "" or why there is no connection, one line.
  Task<std::string> handshake();
  std::string_view alpn();  // what was agreed on, "" when nothing was

  Moved try_write(std::span<const uint8_t> bytes, Then then) override;
  Task<int> wait_write() override { return wait(write_wants_); }
  Task<int> finish() override;
  Socket& socket() override { return below_.socket(); }
  static constexpr size_t kRecord = 16 * 1024;  // bytes that one record holds at most
  bool is_plain() const override { return false; }

 protected:
  Moved read_some(std::span<uint8_t> into) override;
  Task<int> wait_for_bytes() override { return wait(read_wants_); }

 private:
  enum class Wants { kRead, kWrite };
  // The stream below, as OpenSSL reads and writes it.
  static BIO_METHOD* bio_method();
  static int bio_read(BIO* bio, char* into, size_t size, size_t* got);
  static int bio_write(BIO* bio, const char* bytes, size_t size, size_t* put);
  Task<int> wait(Wants wants);
  // What an SSL function's failure means; sets `wants` when it has to wait.
  Moved failure(int returned, Wants& wants);

  std::unique_ptr<Stream> owned_;
  Stream& below_;
  RestingTls ssl_;
  Wants read_wants_ = Wants::kRead, write_wants_ = Wants::kWrite;
  Then then_ = Then::kDone;  // of the record that is being written
};

}  // namespace caisson
