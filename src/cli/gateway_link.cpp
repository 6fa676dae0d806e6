#include "cli/gateway_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/descriptor_message.h"
#include "base/text.h"
#include "cli/output.h"
#include "gateway/handed_sockets.h"
#include "gateway/live_rules.h"
#include "policy/network.h"
#include "rules/host_set.h"
#include "sys/monotonic.h"

namespace caisson {

namespace json = boost::json;

namespace {

constexpr int kPatienceMs = 5000, kLastWordsMs = 500, kSendMs = 1000;
constexpr size_t kMostText = 512;  // of one field of a denial: the gateway reads what a cell sends
constexpr size_t kMostRules = 1 << 20;

std::string text_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found || !found->is_string()) return {};
  std::string_view text = found->get_string();
  return printable(text.substr(0, kMostText));
}

uint64_t number_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found) return 0;
  if (found->is_uint64()) return found->get_uint64();
  return found->is_int64() && found->get_int64() > 0 ? static_cast<uint64_t>(found->get_int64())
                                                     : 0;
}

std::optional<json::object> object_in(std::string_view text) {
  boost::system::error_code error;
  json::parse_options bounds;
  bounds.max_depth = 4;
  json::value value = json::parse(text, error, {}, bounds);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

Result<void> take_texts(const json::object& from, std::string_view key,
                        std::vector<std::string>& to) {
  const json::value* found = from.if_contains(key);
  if (!found) return {};
  if (!found->is_array()) return Error::plain(fmt::format("\"{}\" is not an array", key));
  for (const json::value& one : found->get_array()) {
    if (!one.is_string()) return Error::plain(fmt::format("\"{}\" has what is no string", key));
    to.emplace_back(one.get_string());
  }
  return {};
}

Result<RuleTexts> rules_in(std::string_view line) {
  std::optional<json::object> said = object_in(line);
  if (!said) return Error::plain("not a JSON object");
  constexpr std::string_view kKeys[] = {"allow", "deny", "requests", "deny_addresses"};
  for (const auto& [key, value] : *said)
    if (std::ranges::find(kKeys, std::string_view(key)) == std::end(kKeys))
      return Error::plain(fmt::format("unknown key {}", printable(key)),
                          "allow, deny, requests and deny_addresses");
  RuleTexts texts;
  TRY(take_texts(*said, "allow", texts.allow));
  TRY(take_texts(*said, "deny", texts.deny));
  TRY(take_texts(*said, "requests", texts.requests));
  TRY(take_texts(*said, "deny_addresses", texts.denied_addresses));
  return texts;
}

// One send, with the descriptor in it on its first byte.
ssize_t send_some(int socket, std::string_view bytes, int descriptor) {
  DescriptorSpace<1> room;
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
  if (descriptor >= 0) put_descriptors(message, room.bytes, {&descriptor, 1});
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

// What the cell must have before its program runs comes from the gateway itself; pid 1, a copy of
// this process, must hold no secret, so none waits here; and to a published port others come from
// outside.
static bool must_start_first(const NetworkPolicy& network, const GatewayConfig& config) {
  bool password =
      (config.upstream_http_proxy + config.upstream_https_proxy).find('@') != std::string::npos;
  return network.ends_tls() || password || !network.publish.empty() || network.details.mitm;
}

Result<std::unique_ptr<GatewayLink>> GatewayLink::start(Job& job, const ProcessStart& process,
                                                        GatewayTalk talk) {
  std::unique_ptr<GatewayLink> link(new GatewayLink);
  GatewaySetup& setup = link->setup_ = TRY(set_up_gateway(job));
  link->talk_ = std::move(talk);
  link->network_ = job.policy.network;
  TRY(link->hold_proxy(job.policy.network));
  for (const std::string& warning : setup.warnings) link->talk_.say(warning);
  GatewayStart& start = link->start_;
  start.keep = setup.config.publish_listeners;
  start.throwaway_id = job.facts.may_map_ids;
  start.landlock_abi = job.facts.landlock_abi;
  start.wipe_start = process.words_start;
  start.wipe_size = process.words_size;
  start.turn_ns = process.callers_turn_ns;
  if (!must_start_first(job.policy.network, setup.config)) {
    TRY(check_gateway_config(setup.config));
    link->standby_.emplace(TRY(GatewayStandby::make()));
    job.facts.gateway = facts_for_cell(setup, "", job.policy);
    return link;
  }
  TRY(link->begin());
  wipe_secrets(setup.config, job);
  std::string ca = job.policy.network.ends_tls() ? TRY(link->await_certificate()) : "";
  job.facts.gateway = facts_for_cell(setup, ca, job.policy);
  setup = {};  // the listeners are the gateway's
  return link;
}

Result<void> GatewayLink::begin() {
  look_at_own_addresses(setup_.config);
  GatewayStart start = std::move(start_);
  if (talk_.denials_fd >= 0) {
    heard_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!heard_) return Error::system("make the gateway's eventfd");
    setup_.config.heard_fd = heard_.get();
    start.keep.push_back(heard_.get());
  }
  start.run = [this](int control, int cell) {
    for (UniqueFd& listener : setup_.listeners) listener.release();  // the gateway's from here on
    return run_gateway(std::move(setup_.config), control, cell);
  };
  process_.emplace(TRY(GatewayProcess::start(std::move(start))));
  return {};
}

// Somebody has come to one of the cell's sockets, and waits there. Rules that were told meanwhile
// go before the sockets: the gateway reads them first. False: there will be none.
bool GatewayLink::begin_late() {
  Result<void> begun = begin();
  if (begun && !late_rules_.empty()) send(late_rules_);
  if (begun) begun = standby_->hand_over(process_->take_cell_end().get(), process_->control());
  if (begun) begun = await_ready();
  setup_ = {};
  if (begun) return true;
  standby_->close();
  over_ = true;
  talk_.say(fmt::format("{}: the cell reaches nothing", begun.error().what));
  return false;
}

std::unique_ptr<GatewayLink> GatewayLink::to(GatewayProcess process, GatewayTalk talk) {
  std::unique_ptr<GatewayLink> link(new GatewayLink);
  link->process_.emplace(std::move(process));
  link->talk_ = std::move(talk);
  return link;
}

GatewayLink::~GatewayLink() = default;

Result<ControlFrame> GatewayLink::next_frame(int patience_ms) {
  uint64_t deadline = monotonic_ns() + static_cast<uint64_t>(patience_ms) * 1000000u;
  for (;;) {
    bool broken = false;
    if (std::optional<ControlFrame> frame = take_control_frame(received_, broken)) return *frame;
    uint64_t now = monotonic_ns();
    if (broken || over_ || now >= deadline)
      return Error::plain("the gateway did not start",
                          "run with -v; `caisson doctor` shows what this host lacks");
    pollfd readable{process_->control(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>((deadline - now) / 1000000u) + 1);
    if (readable.revents) over_ = !receive();
  }
}

Result<std::string> GatewayLink::await_certificate() {
  ControlFrame frame = TRY(next_frame(kPatienceMs));
  if (frame.type == static_cast<char>(ControlType::kCertificate)) return frame.body;
  return Error::plain(
      fmt::format("the gateway did not start: {}", printable(frame.body.substr(0, kMostText))));
}

// Who came first may be denied before it has said that it listens, or right behind: what came by
// the same recv is taken here. Nothing wakes us for it, and the gateway waits until it is heard.
Result<void> GatewayLink::await_ready() {
  if (!process_) return {};  // nobody has come yet
  for (;;) {
    ControlFrame frame = TRY(next_frame(kPatienceMs));
    if (frame.type == static_cast<char>(ControlType::kReady)) {
      if (take_received()) return {};
      continue;
    }
    if (frame.type == static_cast<char>(ControlType::kFailed))
      return Error::plain(
          fmt::format("the gateway did not start: {}", printable(frame.body.substr(0, kMostText))));
    take(frame);
  }
}

// What the socket has now. False: it is at its end.
bool GatewayLink::receive() {
  char buffer[65536];
  ssize_t got = ::recv(process_->control(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0) received_.append(buffer, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// Every whole frame that is here. False: there will be none any more.
bool GatewayLink::take_received() {
  bool broken = false;
  while (auto frame = take_control_frame(received_, broken)) take(*frame);
  return !broken;
}

// False: it is at its end.
bool GatewayLink::take_frames() {
  bool open = receive();
  if (take_received() && open) return true;
  over_ = true;
  talk_.say("the gateway ended: the cell reaches nothing any more");
  return false;
}

void GatewayLink::watch(Supervision& how) {
  if (standby_) {
    how.watches.push_back({standby_->fd(), [this] {
                             if (process_) return take_frames();
                             return !standby_->look() || begin_late();
                           }});
  } else {
    how.watches.push_back({process_->control(), [this] { return take_frames(); }});
  }
  if (talk_.rules_fd < 0) return;
  ::fcntl(talk_.rules_fd, F_SETFL, ::fcntl(talk_.rules_fd, F_GETFL) | O_NONBLOCK);
  how.watches.push_back({talk_.rules_fd, [this] { return read_rules(); }});
  how.must_end = [this] { return broken_rules_; };
}

void GatewayLink::take(const ControlFrame& frame) {
  if (frame.type == static_cast<char>(ControlType::kDenial)) {
    take_denial(frame.body);
    if (heard_) ::eventfd_write(heard_.get(), 1);
  }
  if (frame.type == static_cast<char>(ControlType::kUsage)) take_usage(frame.body);
  if (frame.type == static_cast<char>(ControlType::kWantProxy)) give_proxy(frame.body);
}

// A caller who doesn't read must not hold up the loop that keeps the cell's time limit: a line that
// doesn't fit now is left out, and the result still has the denial. A pipe that can be written to
// takes PIPE_BUF bytes without waiting (pipe(7)).
void GatewayLink::stream_denial(const std::string& line) {
  pollfd writable{talk_.denials_fd, POLLOUT, 0};
  if (line.size() <= PIPE_BUF && ::poll(&writable, 1, 0) == 1) write_all(talk_.denials_fd, line);
}

void GatewayLink::take_denial(const std::string& text) {
  std::optional<json::object> said = object_in(text);
  if (!said) return;
  std::string host = text_of(*said, "host");
  uint64_t port = number_of(*said, "port");
  std::string where = port ? fmt::format("{}:{}", host, port) : host;
  std::string protocol = text_of(*said, "protocol"), reason = text_of(*said, "reason");
  if (!protocol.empty()) where = protocol + " " + where;
  Denial denial{text_of(*said, "rule"), where, text_of(*said, "how_to_allow")};
  denial.count = std::max<uint64_t>(1, number_of(*said, "count"));
  // At its end the gateway tells again what happened more than once, with the count.
  if (!denials_.add(denial, fmt::format("{} {}", protocol, denial.rule))) return;
  if (talk_.heard) talk_.heard(denial);
  if (talk_.denials_fd >= 0)
    stream_denial(json::serialize(json::object{{"denied", true},
                                               {"rule", text_of(*said, "rule")},
                                               {"host", host},
                                               {"port", port},
                                               {"protocol", protocol},
                                               {"reason", reason},
                                               {"how_to_allow", text_of(*said, "how_to_allow")}}) +
                  "\n");
}

void GatewayLink::take_usage(const std::string& text) {
  std::optional<json::object> said = object_in(text);
  told_usage_ = true;
  if (!said) return;
  told_.usage.connections = number_of(*said, "connections");
  told_.usage.uploaded_bytes = number_of(*said, "up");
  told_.usage.downloaded_bytes = number_of(*said, "down");
  told_.denials_cut = number_of(*said, "untold");
  told_.denials_lost_count = number_of(*said, "lost_count") != 0;
}

bool GatewayLink::read_rules() {
  char buffer[65536];
  ssize_t got = ::read(talk_.rules_fd, buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got < 0) {
    // Rules were to come by it, and none has: whoever started the command can't steer it.
    std::string why = Error::system("--control-fd: read it").what;
    if (heard_rules_)
      talk_.say(why + ": the rules stay as they are");
    else
      broken_rules_ = std::move(why);
    return false;
  }
  rules_text_.append(buffer, static_cast<size_t>(got));
  for (size_t end; (end = rules_text_.find('\n')) != std::string::npos;) {
    std::string line = rules_text_.substr(0, end);
    rules_text_.erase(0, end + 1);
    heard_rules_ = true;
    if (!line.empty()) apply_rules(line);
  }
  if (rules_text_.size() > kMostRules) {
    talk_.say("--control-fd: a line of more than 1 MiB: nothing more is read from it");
    return false;
  }
  return got > 0;
}

// Bounded: a gateway that doesn't read must not hold up the loop either. Half a frame can't be
// taken back, so then there is no gateway any more, and the cell reaches nothing.
void GatewayLink::send(const std::string& frame, int descriptor) {
  uint64_t deadline = monotonic_ns() + uint64_t{kSendMs} * 1000000u;
  for (size_t sent = 0; sent < frame.size();) {
    ssize_t now = send_some(process_->control(), std::string_view(frame).substr(sent),
                            sent == 0 ? descriptor : -1);
    if (now > 0) {
      sent += static_cast<size_t>(now);
      continue;
    }
    pollfd writable{process_->control(), POLLOUT, 0};
    bool may_wait = errno == EAGAIN && monotonic_ns() < deadline;
    if (may_wait && ::poll(&writable, 1, kSendMs) == 1) continue;
    over_ = true;
    process_->kill();
    return;
  }
}

// The gateway asks for no address: there is one socket, and the policy names it.
void GatewayLink::give_proxy(const std::string& question) {
  std::optional<uint32_t> number = parse_handed_question(question);
  if (!number || over_) return;
  UniqueFd fd = proxy_ ? proxy_->connect() : UniqueFd();
  HandedAnswer answer{*number, static_cast<bool>(fd)};
  send(control_frame(ControlType::kProxy, handed_answer(answer)), fd ? fd.get() : -1);
}

Result<void> GatewayLink::hold_proxy(const NetworkPolicy& network) {
  const std::optional<MitmProxy>& mitm = network.details.mitm;
  if (!mitm || (proxy_ && proxy_->path() == mitm->socket_path)) return {};
  proxy_.emplace(TRY(ProxySocket::hold(mitm->socket_path)));
  return {};
}

// Hosts of secrets stay allowed, as they were at the start.
Result<LiveRules> GatewayLink::live_rules_in(std::string_view line) {
  LiveRules live = live_rules_of(network_);
  if (talk_.network_of_line) {
    NetworkPolicy network = TRY(talk_.network_of_line(line));
    live = live_rules_of(network);
    TRY(Rules::make(live.rules));
    TRY(hold_proxy(network));
  } else {
    live.rules = TRY(rules_in(line));
  }
  allow_hosts_of_secrets(network_.secrets, live.rules.allow);
  TRY(Rules::make(live.rules));
  TRY(HostSet::make(live.tls_excluded));
  TRY(HostSet::make(live.mitm_domains));
  return live;
}

// A line that is no set of rules changes nothing.
void GatewayLink::apply_rules(std::string_view line) {
  Result<LiveRules> live = live_rules_in(line);
  if (!live) {
    talk_.say(fmt::format("--control-fd: {}: the rules stay as they were", live.error().what));
    return;
  }
  std::string frame = live_rules_json(*live);
  if (frame.size() > kMaxControlFrame)
    return talk_.say("--control-fd: more rules than fit: the rules stay as they were");
  std::string whole = control_frame(ControlType::kRules, frame);
  if (!process_)
    late_rules_ = std::move(whole);
  else if (!over_)
    send(whole);
}

void GatewayLink::finish(Outcome& outcome) {
  if (!process_) return;  // nobody came
  if (!over_) send(control_frame(ControlType::kEnd, ""));
  // One deadline for all of its last words: it reads what a cell sends, and may have lost its mind.
  uint64_t deadline = monotonic_ns() + uint64_t{kLastWordsMs} * 1000000u;
  while (!over_ && !told_usage_ && monotonic_ns() < deadline) {
    Result<ControlFrame> frame = next_frame(kLastWordsMs);
    if (!frame) break;
    take(*frame);
  }
  process_->finish();
  denials_.add_to(outcome);
  outcome.denials_cut += told_.denials_cut;
  outcome.denials_lost_count = outcome.denials_lost_count || told_.denials_lost_count;
  outcome.usage.connections = told_.usage.connections;
  outcome.usage.uploaded_bytes = told_.usage.uploaded_bytes;
  outcome.usage.downloaded_bytes = told_.usage.downloaded_bytes;
}

}  // namespace caisson
