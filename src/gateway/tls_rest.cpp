#include "gateway/tls_rest.h"

#include <openssl/crypto.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace caisson {
namespace {
constexpr size_t kWords = kTlsRoomSize / sizeof(uint64_t);
constexpr size_t kMapWords = kWords / 64;
}  // namespace

void AwakeTls::link(RestingTls& one) {
  one.newer_ = nullptr;
  one.older_ = latest_;
  (latest_ ? latest_->newer_ : oldest_) = &one;
  latest_ = &one;
}

void AwakeTls::unlink(RestingTls& one) {
  (one.newer_ ? one.newer_->older_ : latest_) = one.older_;
  (one.older_ ? one.older_->newer_ : oldest_) = one.newer_;
}

void AwakeTls::add(RestingTls& one) {
  link(one);
  ++size_;
  if (size_ <= most_ || oldest_ == &one) return;
  RestingTls& last = *oldest_;
  if (last.rest()) remove(last);
}

void AwakeTls::remove(RestingTls& one) {
  unlink(one);
  --size_;
}

RestingTls::RestingTls(TlsConnection ssl, AwakeTls* awake)
    : ssl_(std::move(ssl)), awake_(ssl_ && tls_room_of(ssl_.get()) ? awake : nullptr) {
  if (awake_) awake_->add(*this);
}

RestingTls::~RestingTls() {
  if (!awake_) return;
  if (rests())
    wake();  // SSL_free follows its pointers
  else
    awake_->remove(*this);
}

SSL* RestingTls::use() {
  if (!awake_ || awake_->latest_ == this) return ssl_.get();
  if (rests()) {
    wake();
    awake_->add(*this);
  } else {
    awake_->unlink(*this);
    awake_->link(*this);
  }
  return ssl_.get();
}

// False: no memory for the copy, or pages that the kernel keeps. It stays awake then.
bool RestingTls::rest() {
  uint64_t* room = tls_room_of(ssl_.get());
  size_t used = kWords - static_cast<size_t>(std::count(room, room + kWords, 0));
  std::unique_ptr<uint64_t[]> copy(new (std::nothrow) uint64_t[kMapWords + used]());
  if (!copy) return false;
  uint64_t* next = copy.get() + kMapWords;
  for (size_t i = 0; i < kWords; ++i) {
    if (room[i] == 0) continue;
    copy[i / 64] |= uint64_t{1} << (i % 64);
    *next++ = room[i];
  }
  if (::madvise(room, kTlsRoomSize, MADV_DONTNEED) != 0) {
    OPENSSL_cleanse(copy.get(), (kMapWords + used) * sizeof(uint64_t));
    return false;
  }
  copy_ = std::move(copy);
  return true;
}

// The pages come back as zeros (madvise(2), MADV_DONTNEED of private anonymous memory).
void RestingTls::wake() {
  uint64_t* room = tls_room_of(ssl_.get());
  uint64_t* next = copy_.get() + kMapWords;
  for (size_t i = 0; i < kMapWords; ++i)
    for (uint64_t left = copy_[i]; left; left &= left - 1)
      room[i * 64 + static_cast<size_t>(std::countr_zero(left))] = *next++;
  // Keys were among it.
  OPENSSL_cleanse(copy_.get(), static_cast<size_t>(next - copy_.get()) * sizeof(uint64_t));
  copy_.reset();
}

}  // namespace caisson
