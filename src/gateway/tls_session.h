// TLS of a client that is ended here, since requests to this host are judged one by one or get a
// secret: the client is served with a certificate of the cell's own authority.
#pragma once

#include <memory>

#include "gateway/core.h"
#include "gateway/stream.h"
#include "wire/client_hello.h"

namespace caisson {

// The ClientHello is still to be read from `client`; `hello` is what it says.
Task<> serve_tls(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                 const HostPort& where, const ClientHello& hello);

}  // namespace caisson
