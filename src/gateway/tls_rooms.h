// Where OpenSSL's connection objects live: each in pages of its own, which can be given back while
// nobody looks at the object (tls_rest.h). Everything else of OpenSSL is malloc's, as ever.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace caisson {

template <typename T, void (*kFree)(T*)>
struct OpensslFree {
  void operator()(T* object) const { kFree(object); }
};
using TlsConnection = std::unique_ptr<SSL, OpensslFree<SSL, SSL_free>>;

constexpr size_t kTlsRoomSize = 8 * 1024;  // an object is 7.6 KB, of OpenSSL 3.0
constexpr size_t kTlsRooms = 4096;         // who finds none free gets malloc's memory

// Before anything else is asked of OpenSSL: it takes no allocator later. Where it doesn't, or where
// pages have another size, there are no rooms and all works without.
void furnish_openssl();

// SSL_new, in a room if one is free.
TlsConnection new_tls_connection(SSL_CTX* context);

// The object's room, kTlsRoomSize bytes; nullptr when it lives elsewhere.
uint64_t* tls_room_of(const SSL* object);

}  // namespace caisson
