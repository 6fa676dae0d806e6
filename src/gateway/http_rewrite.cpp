#include "gateway/http_rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "base/text.h"

namespace caisson {
namespace {

constexpr std::string_view kHopByHop[] = {"Connection",
                                          "Proxy-Connection",
                                          "Keep-Alive",
                                          "TE",
                                          "Trailer",
                                          "Upgrade",
                                          "Transfer-Encoding",
                                          "Proxy-Authorization",
                                          "Proxy-Authenticate",
                                          "HTTP2-Settings"};

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

void append_framing(std::string& out, BodyFrame body) {
  if (body.framing == Framing::kChunked) append_field(out, "Transfer-Encoding", "chunked");
  if (body.framing == Framing::kLength)
    append_field(out, "Content-Length", fmt::format("{}", body.length));
}

// Methods whose lack of a body is worth telling: servers wait or refuse otherwise.
bool usually_has_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

void strip_hop_by_hop(HttpHead& head) {
  std::vector<std::string> named;
  for (const HttpField& field : head.fields) {
    if (!same_text(field.name, "Connection")) continue;
    for (std::string_view part : split(field.value, ',')) named.emplace_back(trim(part));
  }
  std::erase_if(head.fields, [&](const HttpField& field) {
    auto same = [&](std::string_view name) { return same_text(field.name, name); };
    return std::ranges::any_of(kHopByHop, same) || std::ranges::any_of(named, same);
  });
}

static char folded(char c) {
  if (c == '_' || c == '.') return '-';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

static bool is_named(const HttpField& field, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::equal(field.name, name, {}, folded, folded);
  });
}

static bool has_named(const HttpHead& head, const std::vector<std::string>& names) {
  return std::ranges::any_of(head.fields,
                             [&](const auto& field) { return is_named(field, names); });
}

static void strip_named(HttpHead& head, const std::vector<std::string>& names) {
  std::erase_if(head.fields, [&](const HttpField& field) { return is_named(field, names); });
}

void strip_fields(HttpHead& head, const std::vector<std::string>& names) {
  if (!names.empty() && control_enabled("gateway-strip")) strip_named(head, names);
}

// Request-Range is an old name that Apache still takes; Azure prefers its own.
static const std::vector<std::string>& names_of_ranges() {
  static const std::vector<std::string> names{"Range", "Request-Range", "X-Ms-Range"};
  return names;
}

bool asks_for_part(const HttpHead& request) { return has_named(request, names_of_ranges()); }

// By the end of the name: every maker of such a store has a beginning of its own (x-amz-, x-ms-,
// x-goog-, x-oss-, x-cos-, x-obs-, x-bce- …).
bool copies_part(const HttpHead& request) {
  if (!control_enabled("gateway-parts")) return false;
  constexpr std::string_view kEnd = "-source-range";
  return std::ranges::any_of(request.fields, [&](const HttpField& field) {
    std::string name = "-" + field.name;
    if (name.size() < kEnd.size()) return false;
    return std::ranges::equal(std::string_view(name).substr(name.size() - kEnd.size()), kEnd, {},
                              folded);
  });
}

void ask_for_whole(HttpHead& request) {
  if (!control_enabled("gateway-parts")) return;
  strip_named(request, names_of_ranges());
  strip_named(request, {"If-Range", "A-IM"});  // the latter: ranges and deltas of RFC 3229
}

bool is_part(const HttpHead& answer) {
  if (!control_enabled("gateway-partial-answers")) return false;
  if (answer.status == 206) return true;
  return std::ranges::any_of(answer.fields, [](const HttpField& field) {
    return same_text(field.name, "Content-Range") &&
           same_text(std::string_view(field.value).substr(0, 5), "bytes");
  });
}

bool asks_for_websocket(const HttpHead& request) {
  const std::string* upgrade = request.find("Upgrade");
  return upgrade && same_text(*upgrade, "websocket") && request.lists("Connection", "upgrade") &&
         request.method == "GET" && request.minor == 1 && request.count("Upgrade") == 1;
}

std::string host_header(const HostPort& where, Scheme scheme) {
  return where.port == default_port(scheme) ? where.host.text() : where.text();
}

std::string request_text(const HttpHead& head, std::string_view host, BodyFrame body,
                         bool websocket) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", head.method, head.target);
  append_field(out, "Host", host);
  for (const HttpField& field : head.fields) {
    if (same_text(field.name, "Host") || same_text(field.name, "Content-Length")) continue;
    append_field(out, field.name, field.value);
  }
  append_framing(out, body);
  if (body.framing == Framing::kNone && usually_has_body(head.method))
    append_field(out, "Content-Length", "0");
  if (websocket) out += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  out += "\r\n";
  return out;
}

std::string response_text(const HttpHead& head, BodyFrame body, const std::string* told_length,
                          Afterwards afterwards, int client_minor) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", head.status, head.reason);
  for (const HttpField& field : head.fields) {
    if (same_text(field.name, "Content-Length")) continue;
    append_field(out, field.name, field.value);
  }
  append_framing(out, body);
  if (body.framing == Framing::kNone && told_length)
    append_field(out, "Content-Length", *told_length);
  if (head.status >= 200) {
    if (afterwards == Afterwards::kClose)
      out += "Connection: close\r\n";
    else if (client_minor == 0)
      out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return out;
}

Result<AbsoluteTarget> parse_absolute_target(std::string_view target) {
  AbsoluteTarget result;
  size_t colon = target.find("://");
  if (colon == target.npos) return Error::plain("a request to a proxy without the host's name");
  if (same_text(target.substr(0, colon), "https"))
    result.scheme = Scheme::kHttps;
  else if (!same_text(target.substr(0, colon), "http"))
    return Error::plain("a scheme other than http");
  std::string_view rest = target.substr(colon + 3);
  size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  // "user@host" is refused by parse_host_port: a reader in a hurry takes the user for the host.
  result.where = TRY(parse_host_port(rest.substr(0, end), default_port(result.scheme)));
  std::string_view path = rest.substr(end);
  path = path.substr(0, path.find('#'));
  if (!path.starts_with('/')) result.path = "/";
  result.path += path;
  return result;
}

}  // namespace caisson
