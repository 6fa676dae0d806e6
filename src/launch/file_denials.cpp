#include "launch/file_denials.h"

#include <errno.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "launch/relay.h"
#include "warden/rules.h"

namespace caisson {

namespace {

constexpr int kMostAtOnce = 256;  // then others have their turn

// The warden is inside the cell: what it sends is checked like anything else from there.
Denial in_words(const warden::Report& report, const WardenPlan& rules) {
  std::string path(report.path, report.size);
  auto by_rule = [&](const std::vector<FilePattern>& list, size_t index) -> const FilePattern* {
    return index < list.size() ? &list[index] : nullptr;
  };
  const FilePattern* pattern = nullptr;
  switch (report.what) {
    case warden::Refused::kWrite:
      pattern = report.rule < rules.deny_write.size()
                    ? by_rule(rules.deny_write, report.rule)
                    : by_rule(rules.deny_read, report.rule - rules.deny_write.size());
      break;
    case warden::Refused::kRead:
      pattern = by_rule(rules.deny_read, report.rule);
      break;
    case warden::Refused::kReadOnly:
      return {"file-write: not in allowWrite", path,
              fmt::format("add {} or a folder above it to allowWrite", path)};
    case warden::Refused::kSocket:
      return {"unix-socket: of the host", path, fmt::format("add {} to the allowed sockets", path)};
    case warden::Refused::kFormerFolder:
      return {"file-write: a link where a folder was before", path,
              "it could lead to names that are protected there; make a folder, or another name"};
  }
  const char* kind = report.what == warden::Refused::kRead ? "file-read" : "file-write";
  std::string origin = pattern ? pattern->origin : "a rule";
  std::string reason = pattern && !pattern->reason.empty()
                           ? std::string(pattern->reason)
                           : fmt::format("it is protected by {}", origin);
  return {fmt::format("{}: {}", kind, origin), path, std::move(reason)};
}

}  // namespace

void FileDenials::add_to(std::vector<pollfd>& polls) const {
  if (socket_) polls.push_back({socket_.get(), POLLIN, 0});
  if (watch_) polls.push_back({watch_.get(), POLLIN, 0});
}

void FileDenials::handle(const std::vector<pollfd>& polls) {
  if (watch_ && events_of(polls, watch_.get())) take_opened();
  if (!socket_ || !events_of(polls, socket_.get())) return;
  for (int i = 0; i < kMostAtOnce && take_one(); ++i) {
  }
}

void FileDenials::drain() {
  take_opened();
  while (take_one()) {
  }
  list_.add_to(outcome_);
}

// Watches are numbered from 1 in the order in which they were made (inotify(7)).
void FileDenials::take_opened() {
  alignas(inotify_event) char events[4096];
  for (int rounds = 0; watch_ && rounds < kMostAtOnce; ++rounds) {
    ssize_t got = ::read(watch_.get(), events, sizeof events);
    if (got <= 0) return;
    for (size_t at = 0; at + sizeof(inotify_event) <= static_cast<size_t>(got);) {
      auto* event = reinterpret_cast<const inotify_event*>(events + at);
      at += sizeof *event + event->len;
      auto index = static_cast<size_t>(event->wd) - 1;
      if (!(event->mask & IN_OPEN) || event->wd < 1 || !rules_ || index >= rules_->hidden.size())
        continue;
      const FilePlace& place = rules_->hidden[index];
      add({fmt::format("file-read: {}", place.origin), place.path,
           fmt::format("it is hidden by {}; allowRead shows what lies in it", place.origin)});
    }
  }
}

bool FileDenials::take_one() {
  if (!socket_) return false;
  warden::Report report{};
  ssize_t got = ::recv(socket_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) socket_.reset();  // the warden has ended
    return false;
  }
  size_t head = offsetof(warden::Report, path);
  auto size = static_cast<size_t>(got);
  if (size < head || report.size > sizeof report.path || size != head + report.size) return true;
  add(in_words(report, *rules_));
  return true;
}

void FileDenials::add(Denial denial) {
  if (list_.add(denial, denial.rule) && heard_) heard_(denial);
}

}  // namespace caisson
