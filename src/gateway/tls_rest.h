// A thousand idle connections with two objects of OpenSSL each would be 15 MB, of which 12 are
// zeros: tables for 32 records at once, of which one is in use. So only the objects that were used
// last are awake. The others rest: what isn't zero stands in a copy, their pages are given back,
// and before the next use everything is put back, bit by bit, to where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gateway/tls_rooms.h"

namespace caisson {

class RestingTls;

// Those that are awake, of one loop. While no more are in use than may be, nobody ever rests.
class AwakeTls {
 public:
  static constexpr size_t kMost = 128;

  explicit AwakeTls(size_t most = kMost) : most_(most) {}
  AwakeTls(const AwakeTls&) = delete;
  AwakeTls& operator=(const AwakeTls&) = delete;
  size_t size() const { return size_; }

 private:
  friend class RestingTls;
  void add(RestingTls& one);
  void remove(RestingTls& one);
  void link(RestingTls& one);
  void unlink(RestingTls& one);

  RestingTls *latest_ = nullptr, *oldest_ = nullptr;
  size_t size_ = 0;
  size_t most_;
};

class RestingTls {
 public:
  // With nullptr, or an object that has no room of its own, it never rests.
  RestingTls(TlsConnection ssl, AwakeTls* awake);
  ~RestingTls();
  RestingTls(const RestingTls&) = delete;
  RestingTls& operator=(const RestingTls&) = delete;

  explicit operator bool() const { return ssl_ != nullptr; }
  // The object, awake. Ask for it anew for each call of OpenSSL: another object's use may put it to
  // rest. One whose call is under way is safe from that even where TLS runs over TLS, since only
  // the one that was used least recently has to go, and those are `most` uses away.
  SSL* use();
  bool rests() const { return copy_ != nullptr; }

 private:
  friend class AwakeTls;
  bool rest();
  void wake();

  TlsConnection ssl_;
  AwakeTls* awake_;
  RestingTls *newer_ = nullptr, *older_ = nullptr;
  // Which words of the room aren't zero, one bit for each, and then these words.
  std::unique_ptr<uint64_t[]> copy_;
};

}  // namespace caisson
