#include "gateway/tls_rooms.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace caisson {
namespace {

constexpr long kPage = 4096;

// OpenSSL's allocator is one for the whole process, so this is too. A gateway has one thread; tests
// have more.
constinit std::atomic<uintptr_t> first_room = 0;  // 0: there are none
constinit std::mutex guard;
constinit size_t fresh = 0;  // rooms from here on were never taken
constinit size_t returned = 0;
constinit uint16_t stack[kTlsRooms] = {};  // the returned ones
static_assert(kTlsRooms <= UINT16_MAX + 1);

// The next allocation that only a room is large enough for is a connection object.
constinit thread_local bool expected = false;

bool is_room(const void* memory) {
  uintptr_t first = first_room.load(std::memory_order_relaxed);
  uintptr_t at = reinterpret_cast<uintptr_t>(memory);
  return first != 0 && at >= first && at - first < kTlsRooms * kTlsRoomSize;
}

void* take_room() {
  uintptr_t first = first_room.load(std::memory_order_relaxed);
  std::scoped_lock lock(guard);
  if (first == 0 || (returned == 0 && fresh == kTlsRooms)) return nullptr;
  size_t index = returned ? stack[--returned] : fresh++;
  return reinterpret_cast<void*>(first + index * kTlsRoomSize);
}

// Its pages go back to the kernel, and with them what was in them.
void give_room(void* room) {
  size_t index = (reinterpret_cast<uintptr_t>(room) - first_room) / kTlsRoomSize;
  ::madvise(room, kTlsRoomSize, MADV_DONTNEED);
  std::scoped_lock lock(guard);
  stack[returned++] = static_cast<uint16_t>(index);
}

// The three below do for null pointers and no bytes what OpenSSL's own do.
void* take(size_t size, const char*, int) {
  if (size == 0) return nullptr;
  if (expected && size > kPage && size <= kTlsRoomSize) {
    expected = false;
    if (void* room = take_room()) return room;
  }
  return std::malloc(size);
}

void give(void* memory, const char*, int) {
  if (is_room(memory))
    give_room(memory);
  else
    std::free(memory);
}

void* resize(void* memory, size_t size, const char* file, int line) {
  if (!memory) return take(size, file, line);
  if (is_room(memory)) return nullptr;  // a connection object never grows
  if (size == 0) {
    std::free(memory);
    return nullptr;
  }
  return std::realloc(memory, size);
}

}  // namespace

void furnish_openssl() {
  std::scoped_lock lock(guard);
  if (first_room != 0 || ::sysconf(_SC_PAGESIZE) != kPage) return;
  if (CRYPTO_set_mem_functions(take, resize, give) != 1) return;
  size_t size = kTlsRooms * kTlsRoomSize;
  void* rooms = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (rooms == MAP_FAILED) return;
  // One huge page would bring 256 rooms into memory at the first touch.
  ::madvise(rooms, size, MADV_NOHUGEPAGE);
  first_room = reinterpret_cast<uintptr_t>(rooms);
}

TlsConnection new_tls_connection(SSL_CTX* context) {
  expected = true;
  TlsConnection made(SSL_new(context));
  expected = false;
  return made;
}

uint64_t* tls_room_of(const SSL* object) {
  if (!is_room(object)) return nullptr;
  return reinterpret_cast<uint64_t*>(const_cast<SSL*>(object));
}

}  // namespace caisson
