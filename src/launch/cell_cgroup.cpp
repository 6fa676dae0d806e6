#include "launch/cell_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "launch/cgroup_folder.h"
#include "launch/cgroup_names.h"
#include "launch/controller_grant.h"

namespace caisson {

namespace {

constexpr unsigned kRemoveMilliseconds = 2000;

uint64_t leading_number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The number behind `key` in a file of "key number" lines; 0 when it is not there.
uint64_t keyed_number(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return leading_number(line.substr(key.size() + 1));
  return 0;
}

// A cgroup file read whole; empty when it is not there.
class FileText {
 public:
  FileText(int folder, const char* file) {
    long size = read_cgroup_file(folder, file, buffer_);
    if (size > 0) size_ = static_cast<size_t>(size);
  }
  std::string_view text() const { return {buffer_, size_}; }

 private:
  char buffer_[2048];
  size_t size_ = 0;
};

bool is_one_component(const std::string& name) {
  return !name.empty() && name.size() < kMaxCgroupName && name[0] != '.' &&
         name.find('/') == std::string::npos;
}

}  // namespace

void add_cgroup_usage(int folder, CgroupFacts::Version version, std::string_view controller,
                      CgroupUsage& usage) {
  bool v2 = version == CgroupFacts::Version::kV2;
  auto number = [&](const char* file) { return leading_number(FileText(folder, file).text()); };
  auto keyed = [&](const char* file, const char* key) {
    return keyed_number(FileText(folder, file).text(), key);
  };
  if (controller == "memory") {
    usage.memory_peak_bytes += number(v2 ? "memory.peak" : "memory.max_usage_in_bytes");
    usage.oom_kills += keyed(v2 ? "memory.events" : "memory.oom_control", "oom_kill");
  } else if (controller == "pids") {
    usage.pids_refused += keyed("pids.events", "max");
  } else if (controller == "cpu") {
    // v1: only where cpuacct shares the hierarchy of cpu, as most hosts mount it.
    usage.cpu_ns += v2 ? keyed("cpu.stat", "usage_usec") * 1000 : number("cpuacct.usage");
  }
}

Result<CellCgroup> CellCgroup::create(const CgroupPlan& plan, const std::string& name,
                                      pid_t companion,
                                      const std::function<Result<void>()>& between) {
  if (!is_one_component(name))
    return Error::plain(fmt::format("not a name for a cgroup: {}", printable(name)));
  CellCgroup cell(plan.version, name);
  TRY(cell.make_folders(plan, companion));
  if (between) TRY(between());
  TRY(cell.write_limits(plan));
  TRY(cell.watch_memory());
  return cell;
}

// One folder per place: v2, and v1's "cpu,cpuacct", hold several controllers in one.
Result<void> CellCgroup::make_folders(const CgroupPlan& plan, pid_t companion) {
  std::vector<Folder> wanted;
  for (const CgroupSlot& slot : plan.slots) {
    auto same = std::find_if(wanted.begin(), wanted.end(), [&](const Folder& folder) {
      return folder.directory == slot.directory;
    });
    if (same == wanted.end()) same = wanted.insert(same, {slot.directory, {}, {}, {}});
    same->controllers.push_back(slot.controller);
  }
  for (Folder& folder : wanted) TRY(make_folder(plan, std::move(folder), companion));
  return {};
}

Result<void> CellCgroup::make_folder(const CgroupPlan& plan, Folder folder, pid_t companion) {
  const std::string& directory = folder.directory;
  folder.parent.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int parent = folder.parent.get();
  if (parent < 0) return Error::system(fmt::format("open {}", directory));
  if (is_v2()) leaf_ = TRY(grant_controllers(parent, directory, folder.controllers, companion));
  int made = ::mkdirat(parent, name_.c_str(), 0755);
  if (made != 0 && errno == EEXIST && sweep_stale_cgroups(plan) > 0)
    made = ::mkdirat(parent, name_.c_str(), 0755);
  if (made != 0) {
    Error error = Error::system(fmt::format("mkdir {}/{}", directory, name_));
    if (!leaf_.empty()) leave_supervisor_leaf(parent, leaf_.c_str());
    return error;
  }
  folders_.push_back(std::move(folder));  // from here on the destructor removes it
  folders_.back().self.reset(
      ::openat(parent, name_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folders_.back().self)
    return Error::system(fmt::format("open {}/{}", folders_.back().directory, name_));
  return {};
}

const CellCgroup::Folder* CellCgroup::folder_of(std::string_view controller) const {
  for (const Folder& folder : folders_)
    for (const std::string& held : folder.controllers)
      if (held == controller) return &folder;
  return nullptr;
}

// In the order of the plan: memory.memsw.limit_in_bytes may not be below memory.limit_in_bytes.
Result<void> CellCgroup::write_limits(const CgroupPlan& plan) {
  for (const CgroupFile& file : plan.files) {
    const Folder* folder = folder_of(file.controller);
    if (!folder)
      return Error::plain(fmt::format("no {} cgroup to write {} to", file.controller, file.file));
    long result = write_cgroup_file(folder->self.get(), file.file.c_str(), file.value);
    if (result >= 0 || (file.optional && result == -ENOENT)) continue;
    return Error::from_errno(
        fmt::format("write {} to {}/{}/{}", file.value, folder->directory, name_, file.file),
        static_cast<int>(-result));
  }
  return {};
}

// v1 tells an eventfd when the group runs out of memory; v2 marks memory.events for POLLPRI.
Result<void> CellCgroup::watch_memory() {
  const Folder* folder = folder_of("memory");
  if (!folder) return {};
  const char* file = is_v2() ? "memory.events" : "memory.oom_control";
  oom_count_.reset(::openat(folder->self.get(), file, O_RDONLY | O_CLOEXEC));
  if (!oom_count_)
    return Error::system(fmt::format("open {}/{}/{}", folder->directory, name_, file));
  if (is_v2()) {
    oom_happened();  // the kernel marks what changed since the last read
    return {};
  }
  oom_event_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!oom_event_) return Error::system("make an eventfd for memory.oom_control");
  std::string order = fmt::format("{} {}", oom_event_.get(), oom_count_.get());
  long result = write_cgroup_file(folder->self.get(), "cgroup.event_control", order);
  if (result < 0)
    return Error::from_errno(
        fmt::format("write {} to {}/{}/cgroup.event_control", order, folder->directory, name_),
        static_cast<int>(-result));
  return {};
}

Result<void> CellCgroup::attach(pid_t pid) {
  std::string text = std::to_string(pid);
  for (const Folder& folder : folders_) {
    long result = write_cgroup_file(folder.self.get(), "cgroup.procs", text);
    if (result < 0)
      return Error::from_errno(
          fmt::format("write {} to {}/{}/cgroup.procs", text, folder.directory, name_),
          static_cast<int>(-result));
  }
  return {};
}

Result<std::vector<UniqueFd>> CellCgroup::join_fds() const {
  const char* file = is_v2() ? "cgroup.procs" : "tasks";
  std::vector<UniqueFd> fds;
  for (const Folder& folder : folders_) {
    fds.emplace_back(::openat(folder.self.get(), file, O_WRONLY | O_CLOEXEC));
    if (!fds.back())
      return Error::system(fmt::format("open {}/{}/{}", folder.directory, name_, file));
  }
  return fds;
}

int CellCgroup::clone_into_fd() const {
  return is_v2() && !folders_.empty() ? folders_[0].self.get() : -1;
}

short CellCgroup::oom_poll_events() const { return is_v2() ? POLLPRI : POLLIN; }

bool CellCgroup::oom_happened() {
  // The event comes before the kernel has chosen whom to kill, so the count may still be 0.
  uint64_t events = 0;
  if (oom_event_ && ::read(oom_event_.get(), &events, sizeof events) > 0) oom_seen_ = true;
  if (oom_seen_ || !oom_count_) return oom_seen_;
  char buffer[512];
  ssize_t size = ::pread(oom_count_.get(), buffer, sizeof buffer, 0);
  if (size > 0) oom_seen_ = keyed_number({buffer, static_cast<size_t>(size)}, "oom_kill") > 0;
  return oom_seen_;
}

CgroupUsage CellCgroup::usage() const {
  CgroupUsage usage;
  for (const Folder& folder : folders_)
    for (const std::string& controller : folder.controllers)
      add_cgroup_usage(folder.self.get(), version_, controller, usage);
  return usage;
}

void CellCgroup::kill_all() {
  for (const Folder& folder : folders_) kill_cgroup_members(folder.self.get());
}

void CellCgroup::kill_once() {
  for (const Folder& folder : folders_) kill_cgroup_members_once(folder.self.get());
}

bool CellCgroup::remove_within(unsigned milliseconds) {
  std::vector<Folder> left;
  for (Folder& folder : folders_) {
    bool gone = remove_cgroup_folder(folder.parent.get(), name_.c_str(), milliseconds);
    if (gone && !leaf_.empty() && leave_supervisor_leaf(folder.parent.get(), leaf_.c_str()))
      leaf_.clear();
    if (!gone) left.push_back(std::move(folder));
  }
  folders_ = std::move(left);
  return folders_.empty();
}

// The last moment to ask; and removing the folder rings the eventfd too.
void CellCgroup::stop_watching() {
  oom_happened();
  oom_event_.reset();
  oom_count_.reset();
}

bool CellCgroup::remove() {
  stop_watching();
  return remove_within(kRemoveMilliseconds);
}

bool CellCgroup::remove_once() {
  stop_watching();
  return remove_within(0);
}

CellCgroup::~CellCgroup() {
  if (remove_within(0)) return;
  kill_all();
  remove_within(kRemoveMilliseconds);
}

CellCgroup& CellCgroup::operator=(CellCgroup&& other) noexcept {
  std::swap(version_, other.version_);
  std::swap(name_, other.name_);
  std::swap(leaf_, other.leaf_);
  std::swap(folders_, other.folders_);
  std::swap(oom_event_, other.oom_event_);
  std::swap(oom_count_, other.oom_count_);
  std::swap(oom_seen_, other.oom_seen_);
  return *this;
}

std::vector<std::string> CellCgroup::folders() const {
  std::vector<std::string> paths;
  for (const Folder& folder : folders_) paths.push_back(folder.directory + "/" + name_);
  return paths;
}

}  // namespace caisson
