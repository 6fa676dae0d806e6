#include "gateway/session.h"

#include <fmt/format.h>

#include "gateway/event.h"
#include "gateway/http_session.h"
#include "gateway/sniff.h"
#include "gateway/tls_session.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kFirstTime{60};  // from the first byte to a decision

// Collects the client's first bytes until it is clear what they are, or until the host speaks first
// (ssh, smtp, mysql): then it is no protocol whose client names a host.
class FirstLook {
 public:
  FirstLook(Core& core, Stream& client, Stream& upstream)
      : core_(core),
        client_(client),
        upstream_(upstream),
        deadline_(core.deadlines, &client.socket()),
        watch_done_(core.loop) {}

  std::string bytes;
  Sniffed sniffed;
  bool host_spoke = false;
  bool failed = false;

  Task<> run(bool watch_host) {
    if (watch_host) spawn(core_.loop, watch());
    else watch_done_.set();
    deadline_.after(kIdleTime);
    co_await collect();
    deadline_.none();
    watching_ = false;
    upstream_.socket().cancel();
    co_await watch_done_.wait();
  }

 private:
  static constexpr std::chrono::seconds kIdleTime = std::chrono::minutes(15);

  Sniffed look() const {
    return sniff({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }

  Task<> collect() {
    while (!host_spoke && sniffed.kind == FirstBytes::kNeedMore) {
      std::span<uint8_t> scratch = std::span<uint8_t>(core_.pipes.scratch).first(16 * 1024);
      Moved got = client_.try_read(scratch);
      if (got.would_block()) {
        int error = co_await client_.wait_read();
        failed = error != 0 && !host_spoke;
        if (failed) co_return;
        continue;
      }
      failed = got.error != 0;
      if (failed) co_return;
      if (got.ended()) {
        sniffed.kind = FirstBytes::kOpaque;  // it never said more; the tunnel passes its end on
        co_return;
      }
      if (bytes.empty()) deadline_.after(kFirstTime);
      bytes.append(reinterpret_cast<const char*>(scratch.data()), got.bytes);
      sniffed = look();
    }
  }

  Task<> watch() {
    if (!watching_) {
      watch_done_.set();
      co_return;
    }
    int error = co_await upstream_.wait_read();
    if (error == 0 && watching_) {
      host_spoke = true;
      client_.socket().cancel();
    }
    watch_done_.set();
  }

  Core& core_;
  Stream& client_;
  Stream& upstream_;
  Deadline deadline_;
  Event watch_done_;
  bool watching_ = true;
};

void refuse(Core& core, Stream& client, const HostPort& where, std::string_view protocol,
            std::string rule, std::string reason) {
  core.deny({false, std::move(rule), std::move(reason), ""}, where, protocol);
  client.socket().reset();
}

// Whether this ClientHello may go to the host that was asked for; "" or why not.
std::string check_hello(Core& core, const ClientHello& hello, const HostPort& where) {
  if (hello.has_ech) return "the name in the ClientHello is encrypted";
  if (hello.server_name.empty())
    return where.host.is_address() ? "" : "the ClientHello names no host";
  Result<Host> name = parse_host(hello.server_name);
  if (!name.ok()) return "the ClientHello names no host: " + name.error().what;
  if (*name == where.host) return "";
  if (!where.host.is_address())
    return fmt::format("the ClientHello names {}, the connection was made to {}", name->text(),
                       where.host.text());
  // An address was asked for and a name is told: a server may serve many, so it must be allowed too.
  if (core.rules.connect(*name, where.port).allowed && !core.must_look_inside(*name, where.port))
    return "";
  return fmt::format("the ClientHello names {}, which isn't allowed", name->text());
}

Task<> serve_clear_http(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                        const HostPort& where) {
  HttpDoor door;
  door.asked = where;
  HttpSession session(core, client, std::move(door));
  session.give_upstream(std::move(upstream));
  co_await session.run();
}

}  // namespace

Task<> serve_connected(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                       const HostPort& where) {
  bool inside = core.must_look_inside(where.host, where.port);
  FirstLook look(core, client, *upstream);
  co_await look.run(!inside);
  if (look.failed) co_return;
  client.unread(look.bytes);
  look.bytes = {};
  FirstBytes kind = look.host_spoke ? FirstBytes::kOpaque : look.sniffed.kind;
  if (kind == FirstBytes::kBad) {
    refuse(core, client, where, "tls", "first bytes", look.sniffed.why);
  } else if (kind == FirstBytes::kHttp1) {
    co_await serve_clear_http(core, client, std::move(upstream), where);
  } else if (kind == FirstBytes::kTls && inside) {
    co_await serve_tls(core, client, std::move(upstream), where, look.sniffed.hello);
  } else if (inside) {
    refuse(core, client, where, "tcp", "request rules",
           "requests to this host are looked at, and this is neither TLS nor HTTP");
  } else if (kind == FirstBytes::kTls) {
    std::string why = check_hello(core, look.sniffed.hello, where);
    if (!why.empty()) refuse(core, client, where, "tls", "name mismatch", why);
    else co_await tunnel_or_reset(core, client, *upstream, where, "tls");
  } else {
    co_await tunnel_or_reset(core, client, *upstream, where, "tcp");
  }
}

}  // namespace caisson
