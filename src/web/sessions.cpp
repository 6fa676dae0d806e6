#include "web/sessions.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/text.h"
#include "web/spec_json.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

constexpr size_t kLargestList = 16 << 20;
constexpr size_t kComeAtOnce = 8;
constexpr std::chrono::seconds kWaitForOne{10};

Result<std::string> read_small(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Error::system("open " + path);
  std::string text;
  char bytes[65536];
  for (;;) {
    ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got < 0) return Error::system("read " + path);
    if (got == 0) return text;
    if (text.size() > kLargestList) return Error::plain(path + " is too large");
    text.append(bytes, static_cast<size_t>(got));
  }
}

// Whole or not at all: a crash in the middle leaves the list that was there.
Result<void> replace(const std::string& path, std::string_view text) {
  std::string draft = path + ".new";
  UniqueFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("write " + draft);
  while (!text.empty()) {
    ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0) return Error::system("write " + draft);
    text.remove_prefix(static_cast<size_t>(put));
  }
  if (::rename(draft.c_str(), path.c_str()) < 0) return Error::system("write " + path);
  return {};
}

std::string noted_text(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (!found || !found->is_string()) return std::string();
  return printable(std::string_view(found->get_string()));
}

}  // namespace

void Entry::deny(std::string_view rule, std::string_view resource, const Error& error) {
  ++denied;
  if (denials.size() == kMostDenials) denials.pop_front();
  denials.push_back({{"time", std::time(nullptr)},
                     {"rule", rule},
                     {"resource", resource},
                     {"what", error.what},
                     {"how", error.hint}});
}

Sessions::Sessions(Loop& loop, session::SessionHost& host, session::SessionOffer offer,
                   std::string folder)
    : loop_(loop),
      host_(host),
      offer_(std::move(offer)),
      folder_(std::move(folder)),
      making_(std::make_shared<Turns>(loop)) {}

EntryPtr Sessions::find(std::string_view name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

std::optional<uint64_t> Sessions::memory_of(std::string_view name) const {
  if (EntryPtr entry = find(name)) return entry->spec.memory_bytes;
  auto coming = coming_.find(name);
  if (coming == coming_.end()) return {};
  return coming->second.spec.memory_bytes;
}

EntryPtr Sessions::add(std::shared_ptr<session::Session> session, session::SessionSpec spec) {
  spec.name = session->info().name;
  auto entry = std::make_shared<Entry>(loop_, std::move(session), spec);
  entries_[spec.name] = entry;
  return entry;
}

// A branch comes back as a session of its own, and has to say so.
Result<void> Sessions::remember() const {
  json::array list;
  auto note = [&](const session::SessionSpec& spec, const std::string& parent) {
    json::object one = spec_to_json(spec);
    if (!parent.empty()) one["parent"] = parent;
    list.push_back(std::move(one));
  };
  for (const auto& [name, entry] : entries_) note(entry->spec, entry->session->info().parent);
  for (const auto& [name, coming] : coming_)
    if (!entries_.contains(name)) note(coming.spec, coming.parent);
  return replace(folder_ + "/sessions.json",
                 json::serialize(json::object{{"sessions", std::move(list)}}) + "\n");
}

std::string Sessions::free_name() const {
  for (size_t number = 1;; ++number) {
    std::string name = fmt::format("s{}", number);
    if (!find(name) && !is_coming(name)) return name;
  }
}

Task<Result<EntryPtr>> Sessions::create(session::SessionSpec wishes) {
  // Said here as a refusal of the request; what holds is the launcher's own judgement.
  Result<session::SessionSpec> settled = session::settle_spec(offer_, std::move(wishes));
  if (!settled.ok()) co_return settled.error();
  session::SessionSpec spec = std::move(*settled);
  Turn turn = co_await making_->take();
  if (entries_.size() >= kMostSessions)
    co_return Error{fmt::format("there are {} sessions already", kMostSessions),
                    "end one: DELETE /v1/sessions/NAME", EBUSY};
  if (spec.name.empty()) spec.name = free_name();
  EntryPtr there = find(spec.name);
  if ((there && there->session->info().alive) || is_coming(spec.name))
    co_return Error{fmt::format("there is a session {} already", printable(spec.name)),
                    "choose another name, or end that one", EEXIST};
  Result<std::shared_ptr<session::Session>> made = co_await host_.create(spec);
  if (!made.ok()) co_return std::move(made).error();
  EntryPtr entry = add(std::move(*made), std::move(spec));
  Result<void> noted = remember();
  if (!noted.ok())
    entry->notes.push_back("it will not come back after a restart: " + noted.error().what);
  co_return entry;
}

Task<Result<EntryPtr>> Sessions::branch(EntryPtr parent, std::string name, std::string from) {
  Turn making = co_await making_->take();
  if (name.empty()) name = free_name();
  if (find(name) || is_coming(name) || entries_.size() >= kMostSessions)
    co_return Error{fmt::format("there is a session {} already", printable(name)),
                    "choose another name, or end that one", EEXIST};
  std::string of = parent->spec.name;
  Result<std::shared_ptr<session::Session>> made = co_await host_.branch(of, name, from);
  if (!made.ok()) co_return std::move(made).error();
  session::SessionSpec spec = parent->spec;
  spec.name = name;
  spec.workspace.clear();  // a branch has its own
  EntryPtr entry = add(std::move(*made), std::move(spec));
  entry->root = parent->root.empty() ? of : parent->root;
  (void)remember();
  co_return entry;
}

std::vector<std::string> Sessions::branches_in_cell_of(const std::string& name) const {
  std::vector<std::string> branches;
  for (const auto& [each, entry] : entries_)
    if (entry->root == name) branches.push_back(each);
  return branches;
}

// Branches first: they live in its cell, and would end with it, unsaved and still on the list.
Task<Result<std::vector<std::string>>> Sessions::end(std::string name, bool save_first) {
  if (!entries_.contains(name))
    co_return Error{fmt::format("there is no session {}", printable(name)), {}, ENOENT};
  std::vector<std::string> names = branches_in_cell_of(name);
  names.push_back(name);
  std::vector<EntryPtr> held;  // until all have ended
  for (const std::string& each : names) {
    held.push_back(entries_[each]);
    entries_.erase(each);
  }
  Result<void> result = remember();
  for (const std::string& each : names) {
    Result<void> ended = co_await host_.end(each, save_first);
    if (!ended.ok()) result = ended;
  }
  if (!result.ok()) co_return std::move(result).error();
  co_return names;
}

Task<Result<EntryPtr>> Sessions::default_session() {
  co_await wait_for(std::string(kDefaultSession));
  if (EntryPtr entry = find(kDefaultSession)) co_return entry;
  session::SessionSpec spec;
  spec.name = kDefaultSession;
  Result<EntryPtr> made = co_await create(std::move(spec));
  // Somebody else was first.
  if (!made.ok() && made.error().errnum == EEXIST)
    if (EntryPtr entry = find(kDefaultSession)) co_return entry;
  co_return made;
}

void Sessions::bring_back(std::function<void(std::string)> say) {
  Result<std::string> text = read_small(folder_ + "/sessions.json");
  if (!text.ok()) return;
  Result<json::object> list = parse_object(*text);
  const json::value* found = list.ok() ? list->if_contains("sessions") : nullptr;
  if (!found || !found->is_array()) return;
  auto waiting = std::make_shared<std::deque<Coming>>();
  for (const json::value& each : found->get_array()) {
    std::optional<Coming> coming = coming_of(each, say);
    if (!coming || waiting->size() >= kMostSessions) continue;
    coming_[coming->spec.name] = *coming;
    waiting->push_back(std::move(*coming));
  }
  size_t at_once = std::min(kComeAtOnce, waiting->size());  // each takes one off as it begins
  for (size_t i = 0; i < at_once; ++i) spawn(loop_, come_back(waiting, say));
}

std::optional<Sessions::Coming> Sessions::coming_of(
    const json::value& noted, const std::function<void(std::string)>& say) const {
  if (!noted.is_object()) return std::nullopt;
  json::object object = noted.get_object();
  std::string parent = noted_text(object, "parent");
  object.erase("parent");
  Result<session::SessionSpec> spec = spec_from_json(object);
  if (!spec.ok() || spec->name.empty()) return std::nullopt;
  Result<session::SessionSpec> settled = session::settle_spec(offer_, *spec);
  if (!settled.ok()) {
    say(fmt::format("session {} does not come back: {}", spec->name, settled.error().what));
    return std::nullopt;
  }
  settled->take_up_snapshot = true;
  return Coming{std::move(*settled), std::move(parent)};
}

// One of a few that work on the list: one that doesn't come must not keep the others.
Task<> Sessions::come_back(std::shared_ptr<std::deque<Coming>> waiting,
                           std::function<void(std::string)> say) {
  while (!waiting->empty()) {
    Coming coming = std::move(waiting->front());
    waiting->pop_front();
    std::string name = coming.spec.name;
    Result<std::shared_ptr<session::Session>> made = co_await host_.create(coming.spec);
    coming_.erase(name);
    if (made.ok())
      take_in(std::move(coming), std::move(*made), say);
    else
      say(fmt::format("session {} did not come back: {}", name, made.error().what));
    for (http::Bell* one : waiting_) one->ring();
  }
}

void Sessions::take_in(Coming coming, std::shared_ptr<session::Session> made,
                       const std::function<void(std::string)>& say) {
  EntryPtr entry = add(std::move(made), std::move(coming.spec));
  session::SessionInfo info = entry->session->info();
  entry->losses = info.losses;
  if (!coming.parent.empty()) {
    std::string was = fmt::format("it was a branch of {}, and is a session of its own now{}",
                                  coming.parent, info.files_are_back ? "" : ": its files are gone");
    entry->notes.push_back(was);
    if (!info.files_are_back) entry->losses.push_back(was);
    (void)remember();  // so that the next return is not that of a branch
  }
  say(fmt::format("session {} is back", info.name));
  for (const std::vector<std::string>& notes : {entry->notes, info.notes})
    for (const std::string& note : notes) say(fmt::format("session {}: {}", info.name, note));
}

Task<> Sessions::wait_for(std::string name) {
  http::Bell bell(loop_);
  waiting_.push_back(&bell);
  http::Clock::time_point end = http::Clock::now() + kWaitForOne;
  while ((name.empty() ? any_coming() : is_coming(name)) && http::Clock::now() < end)
    co_await bell.wait_until(end);
  std::erase(waiting_, &bell);
}

Task<> Sessions::save_all() {
  // The list stays as it is: these are the sessions that come back.
  std::map<std::string, EntryPtr, std::less<>> ending = std::move(entries_);
  entries_.clear();
  // Branches first: they live in their parent's cell, and end with it.
  for (bool branches : {true, false})
    for (const auto& [name, entry] : ending) {
      if (entry->session->info().parent.empty() == branches) continue;
      Result<void> ended = co_await host_.end(name, true);
      (void)ended;
    }
}

}  // namespace caisson::web
