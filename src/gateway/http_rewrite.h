// Heads written anew: what the gateway understood is what goes on, and nothing else. Pure.
#pragma once

#include <string>
#include <string_view>

#include "gateway/http_head.h"
#include "rules/rules.h"

namespace caisson {

// Drops what concerns only one connection: Connection and what it names, Keep-Alive, TE, Trailer,
// Transfer-Encoding, Upgrade, and everything for a proxy.
void strip_hop_by_hop(HttpHead& head);

// Drops fields by name. Servers and the languages behind them read `X-User`, `x_user` and `X.User`
// as one, so case and - _ . make no difference here.
void strip_fields(HttpHead& head, const std::vector<std::string>& names);

// A mask looks for a whole value, and a cell that asks for an answer two bytes at a time has it in
// parts that show none. Every server may answer with the whole instead (RFC 9110, 14.2).
void ask_for_whole(HttpHead& request);
bool asks_for_part(const HttpHead& request);
// Has the host make an object of a part of another (S3, Azure and their like): its answers are
// whole then, and none of them shows the value. Unlike Range this can't be left out without a wrong
// copy.
bool copies_part(const HttpHead& request);

// There are more ways to ask for a part than are known (`?partNumber=` of S3 is one), but one way
// to answer with it (RFC 9110, 14.4 and 15.3.7). A 206 is a part whatever the unit that its
// Content-Range names: what a host calls a unit is its own affair, and `chars` cut a value as bytes
// do. Pages of a list that answer with 200 and a range of items (PostgREST) are none.
bool is_part(const HttpHead& answer);
inline constexpr std::string_view kPartCantBeMasked =
    "the host's answer is a part, so secrets in it can't be masked; ask for the whole";
inline constexpr std::string_view kCopiedPartCantBeMasked =
    "a part of what the host keeps can't be searched for a secret";

// A WebSocket handshake, the one upgrade that passes.
bool asks_for_websocket(const HttpHead& request);

// How the host is named in a Host header: without the scheme's own port.
std::string host_header(const HostPort& where, Scheme scheme);

// `head` is stripped; its Host and Content-Length are left out and told from the other arguments.
std::string request_text(const HttpHead& head, std::string_view host, BodyFrame body,
                         bool websocket);

enum class Afterwards { kKeepAlive, kClose };
// `told_length`: a Content-Length without its body (HEAD, 304), passed on as it is.
std::string response_text(const HttpHead& head, BodyFrame body, const std::string* told_length,
                          Afterwards afterwards, int client_minor);

// Where an absolute-form target ("http://host:port/path") goes, and its path.
struct AbsoluteTarget {
  Scheme scheme = Scheme::kHttp;
  HostPort where;
  std::string path;
};
Result<AbsoluteTarget> parse_absolute_target(std::string_view target);

}  // namespace caisson
