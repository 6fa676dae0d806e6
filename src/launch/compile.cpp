#include "launch/compile.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"
#include "launch/network_messages.h"
#include "launch/protected_below.h"
#include "launch/startup_pages.h"
#include "seccomp/filters.h"
#include "sys/kernel_numbers.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

namespace caisson {

namespace {

uint64_t mount_attributes(const MountFlags& flags) {
  uint64_t attributes = 0;
  if (control_enabled("nosuid")) attributes |= kernel::kMountNoSuid;
  if (!flags.devices && control_enabled("nodev")) attributes |= kernel::kMountNoDev;
  if (flags.read_only) attributes |= kernel::kMountReadOnly;
  if (flags.no_exec && control_enabled("noexec")) attributes |= kernel::kMountNoExec;
  return attributes;
}

FilterName filter_name(const Plan& plan) {
  switch (plan.filter) {
    case Filter::kNested:
      return FilterName::kNested;
    case Filter::kNoSockets:
      return FilterName::kNoSockets;
    case Filter::kNames:
      return may_hold_protected(*plan.warden) ? FilterName::kNamesAndRemovals : FilterName::kNames;
    case Filter::kNamesAndReads:
      return FilterName::kNamesAndReads;
    case Filter::kStandard:
      break;
  }
  return FilterName::kStandard;
}

}  // namespace

constexpr uint64_t kPlentyOfPids = 64;   // one more or less for a moment
constexpr size_t kStepsAroundRoot = 32;  // about: a vector that grows leaves its past on the heap

class Compiler {
 public:
  Compiler(const Plan& plan, CompiledProgram& out) : plan_(plan), out_(out) {}

  void run(const ChildDescriptors& descriptors, char* wipe_start, uint64_t wipe_size) {
    outside_id_ = descriptors.outside_id;
    out_.program_.crowded = descriptors.crowded;
    out_.clone_flags_ = plan_.namespaces & ~uint64_t{CLONE_NEWNET | CLONE_NEWCGROUP};
    out_.init_steps_.reserve(plan_.root.size() + kStepsAroundRoot);
    init_steps();
    enter_steps(descriptors);
    landlock();
    filters();
    program_words();
    warden(descriptors);
    gateway();
    wire(descriptors, wipe_start, wipe_size);
  }

 private:
  const char* keep(std::string text) {
    out_.strings_.push_back(std::move(text));
    return out_.strings_.back().c_str();
  }
  Step& init(StepKind kind, const char* path = nullptr) {
    out_.init_steps_.push_back({.kind = kind, .path = path});
    return out_.init_steps_.back();
  }
  Step& enter(StepKind kind) {
    out_.enter_steps_.push_back({.kind = kind});
    return out_.enter_steps_.back();
  }

  // The order in which a cell comes to be, and why nothing in it can move.
  void init_steps() {
    bool own_network = plan_.namespaces & CLONE_NEWNET;
    if (own_network) init(StepKind::kStartNetwork);  // in its own thread, beside the rest
    ids();                                           // mounts need an identity to belong to
    if (plan_.namespaces & CLONE_NEWNS) {
      mounts();
      if (!prepared_) init(StepKind::kPrepare);  // while the network is still being made
      // The old root's release waits for the other core to leave the kernel: not before the network
      // thread has made the namespace.
      if (own_network) init(StepKind::kJoinNetwork);
      // From here the host's files are gone.
      Step& pivot = init(StepKind::kPivot);
      if (control_enabled("private-mounts")) pivot.flags |= kPivotPrivate;
      if (own_network) pivot.flags |= kPivotByThread;
      out_.program_.thread_detaches = own_network;
      // While it is there it is one of the processes that are counted.
      out_.program_.leave_thread = plan_.limits.pids >= kPlentyOfPids;
      out_.program_.keep_old_root = !control_enabled("old-root");
      out_.program_.trust_thread = !control_enabled("old-root-look");
      out_.program_.hurry = !control_enabled("network-wait");
      if (plan_.host_view) pivot.path = below_root(kViewFolder);
    } else {
      init(StepKind::kPrepare);
      if (own_network) init(StepKind::kJoinNetwork);
    }
    if (plan_.namespaces & CLONE_NEWUTS && control_enabled("hostname"))
      init(StepKind::kHostname, keep(plan_.hostname));
    init(StepKind::kAwaitGo);  // limits and record stand before any code runs
    if (plan_.limits.wall && control_enabled("own-clock"))
      init(StepKind::kClock).a = static_cast<uint64_t>(plan_.limits.wall->count()) + kClockLateMs;
    if (plan_.namespaces & CLONE_NEWCGROUP)
      init(StepKind::kCgroupNamespace);  // after joining the cgroup: it shows as "/"
    if (control_enabled("keyring")) init(StepKind::kKeyring);
    if (plan_.warden && !plan_.warden->hidden.empty()) watch_covers();
    if (plan_.terminal == Terminal::kOwnPty)
      init(StepKind::kOpenTerminal);  // from the cell's devpts
    if (!plan_.workdir.empty()) init(StepKind::kWorkdir, keep(plan_.workdir));  // in the new root
    // Without no_new_privs only a capability could install the filters: that mutant keeps them.
    if (control_enabled("capabilities") && control_enabled("no-new-privs"))
      init(StepKind::kDropCapabilities).a =
          plan_.warden ? 1u << CAP_SYS_PTRACE : 0;  // after the last mount and namespace
    if (control_enabled("no-new-privs"))
      init(StepKind::kNoNewPrivileges);  // before seccomp asks for it
    // Who looks at whom is Landlock's business too: the warden and the program have one domain,
    // made before either of them.
    if (plan_.warden && plan_.landlock) init(StepKind::kLandlock);
  }

  void watch_covers() {
    std::string paths;
    for (const FilePlace& place : plan_.warden->hidden) paths += place.path + '\0';
    Step& step = init(StepKind::kWatch);
    step.other = keep(std::move(paths));
    step.a = plan_.warden->hidden.size();
  }

  void ids() {
    if (!(plan_.namespaces & CLONE_NEWUSER)) {
      if (plan_.namespaces & CLONE_NEWNS) init(StepKind::kPrivateTree);
      return;
    }
    write_file("/proc/self/setgroups",
               "deny");  // or gid_map is not ours to write: user_namespaces(7)
    // Without ids of its own the cell is the caller outside, whoever it is inside.
    uint32_t outside_uid = plan_.throwaway_ids ? outside_id_ : ::geteuid();
    uint32_t outside_gid = plan_.throwaway_ids ? outside_id_ : ::getegid();
    write_file("/proc/self/uid_map", fmt::format("{} {} 1", plan_.uid, outside_uid));
    write_file("/proc/self/gid_map", fmt::format("{} {} 1", plan_.gid, outside_gid));
    if (!plan_.throwaway_ids) return;
    Step& step = init(StepKind::kTakeIds);  // the saved ids are still the host's root
    step.a = plan_.uid;
    step.b = plan_.gid;
  }
  void write_file(const char* path, std::string content) {
    Step& step = init(StepKind::kWriteFile, path);
    step.size = static_cast<uint32_t>(content.size());
    step.data = keep(std::move(content));
  }

  void mounts() {
    Step& root = init(StepKind::kNewRoot);
    root.a = plan_.tmp_bytes + (1 << 16);  // and room for the cell's own folders and files
    root.b = plan_.tmp_inodes + 1024;
    if (!control_enabled("tmp-size")) root.a = 0;  // tmpfs(5): no bound
    if (!control_enabled("tmp-inodes")) root.b = 0;
    root.c = mount_attributes({});
    for (const RootStep& step : plan_.root)
      std::visit([this](const auto& one) { mount(one); }, step);
    if (control_enabled("root-read-only")) init(StepKind::kSealRoot);
  }

  const char* below_root(const std::string& path) { return keep(path.substr(1)); }
  void mount(const MakeDirectory& one) {
    init(StepKind::kDirectory, below_root(one.path)).a = one.mode;
  }
  void mount(const MakeFile& one) {
    Step& step = init(StepKind::kFile, below_root(one.path));
    step.a = one.mode;
    step.size = static_cast<uint32_t>(one.content.size());
    step.data = keep(one.content);
  }
  void mount(const MakeLink& one) {
    init(StepKind::kLink, below_root(one.path)).other = keep(one.target);
  }
  void mount(const BindHost& one) {
    Step& step = init(StepKind::kBind, below_root(one.target));
    step.other = keep(one.source);
    step.a = mount_attributes(one.flags);
    step.b = one.device;
    step.c = one.inode;
    if (plan_.throwaway_ids && one.inode) {  // opened and checked by the supervisor
      step.flags = kBindReceived | (one.below_user_mount ? kBindBelowUserMount : 0);
      Step bind = step;
      // Late, so that nobody waits: the supervisor has opened and mapped them meanwhile.
      if (out_.mapped_mounts_.empty()) {
        out_.init_steps_.insert(out_.init_steps_.end() - 1,
                                {{.kind = StepKind::kPrepare}, {.kind = StepKind::kAwaitMounts}});
        prepared_ = true;
      }
      out_.mapped_mounts_.push_back(bind);
      return;
    }
    if (one.optional) step.flags |= kBindOptional;
    if (one.inode && control_enabled("mount-identity")) step.flags |= kBindCheckIdentity;
    if (one.below_user_mount) step.flags |= kBindBelowUserMount;
    if (one.alone) step.flags |= kBindAlone;
    if (!one.inode && !one.below_user_mount && !one.alone) step.flags |= kBindSystem;
  }
  void mount(const PlaceOwn& one) {
    Step& step = init(StepKind::kPlaceOwn, below_root(one.target));
    step.other = below_root(one.from);
    step.a = mount_attributes(one.flags);
  }
  void mount(const CoverInView& one) {
    init(StepKind::kCoverInView, below_root(one.path)).other = below_root(one.with);
  }
  void mount(const CoverFolder& one) { init(StepKind::kCoverFolder, below_root(one.path)); }
  void mount(const BindOwn& one) { init(StepKind::kBindOwn, below_root(one.path)); }
  void mount(const PinDirectory& one) { init(StepKind::kPin, below_root(one.path)); }
  void mount(const MountProc& one) {
    MountFlags flags{.read_only = one.read_only && control_enabled("proc-read-only"),
                     .no_exec = true};
    init(StepKind::kProc, below_root(one.target)).a = mount_attributes(flags);
  }
  void mount(const MountDevpts& one) {
    Step& step = init(StepKind::kDevpts, below_root(one.target));
    step.a = mount_attributes({.no_exec = true, .devices = true});
    step.flags = control_enabled("pty-limit");
  }
  // Beside the other mounts, by the thread that makes the network, when there is one.
  void mount(const MaskPath& one) {
    Step step{.kind = StepKind::kMask, .path = below_root(one.path), .a = one.is_directory};
    bool beside = plan_.namespaces & CLONE_NEWNET;
    (beside ? out_.mask_steps_ : out_.init_steps_).push_back(step);
  }

  void mount(const CoverFile& one) {
    init(StepKind::kCover, below_root(one.path)).other = below_root(one.with);
  }

  void gateway() {
    ChildProgram& program = out_.program_;
    if (!plan_.gateway) return;
    std::span<const uint8_t> steering = steering_messages(), routes = route_messages();
    program.steering = steering.data();
    program.steering_size =
        control_enabled("steering") ? static_cast<uint32_t>(steering.size()) : 0;
    program.routes = routes.data();
    program.routes_size = static_cast<uint32_t>(routes.size());
    out_.forward_ = plan_.gateway->forward;
    program.forward_ports = out_.forward_.data();
    program.forward_count = static_cast<uint32_t>(out_.forward_.size());
    program.pool_sockets = plan_.gateway->pool_sockets;
  }

  void enter_steps(const ChildDescriptors& descriptors) {
    enter(StepKind::kStdio);
    if (!descriptors.passed.empty())
      enter(StepKind::kPassed);  // after stdio: its pipes may have the numbers that these take
    for (const ResourceLimit& limit : plan_.rlimits) {
      Step& step = enter(StepKind::kRlimit);
      step.path = limit.name;
      step.a = static_cast<uint64_t>(limit.resource);
      step.b = limit.value;
    }
    if (plan_.pin_to_cpus && control_enabled("affinity"))
      enter(StepKind::kPinCpus).a = *plan_.pin_to_cpus;
    if (descriptors.turn_ns) enter(StepKind::kTurns).a = descriptors.turn_ns;
    if (plan_.landlock && !plan_.warden) enter(StepKind::kLandlock);
    if (control_enabled("seccomp"))
      enter(StepKind::kSeccomp);  // last: it takes the steps' calls away
    if (out_.program_.thread_detaches) enter(StepKind::kAwaitNetworkThread);
    enter(StepKind::kExec);
  }

  void landlock() {
    if (!plan_.landlock) return;
    for (const LandlockRule& rule : plan_.landlock->rules)
      out_.rules_.push_back({keep(rule.path), rule.access, rule.device,
                             control_enabled("rule-identity") ? rule.inode : 0});
    ChildProgram& program = out_.program_;
    program.landlock_rules = out_.rules_.data();
    program.landlock_count = static_cast<uint32_t>(out_.rules_.size());
    program.landlock_handled = plan_.landlock->handled;
    program.landlock_scoped = plan_.landlock->scoped;
    // The struct grew with the ABI: a kernel refuses one that is longer than it knows.
    int abi = plan_.landlock->abi;
    program.landlock_size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  }

  void filters() {
    ChildProgram& program = out_.program_;
    program.notify_exec = plan_.exec == Exec::kProgramOnly && control_enabled("no-exec");
    auto filter = filter_for(filter_name(plan_), program.notify_exec);
    program.filter = filter.data();
    program.filter_count = static_cast<uint32_t>(filter.size());
    auto init_filter = filter_for(FilterName::kInit, false);
    program.init_filter = init_filter.data();
    program.init_filter_count = static_cast<uint32_t>(init_filter.size());
    // Without a pid namespace the first process must find its descendants in /proc to end them.
    program.filter_init = plan_.namespaces & CLONE_NEWPID && control_enabled("seccomp-init");
  }

  void warden(const ChildDescriptors& descriptors) {
    ChildProgram& program = out_.program_;
    program.report_fd = descriptors.report;
    if (!plan_.warden) return;
    out_.warden_.compile(*plan_.warden, descriptors.report);
    program.warden = out_.warden_.rules();
    program.end_with_warden = control_enabled("warden-end");
    if (!control_enabled("seccomp-warden")) return;
    auto filter = filter_for(FilterName::kWarden, false);
    program.warden_filter = filter.data();
    program.warden_filter_count = static_cast<uint32_t>(filter.size());
  }

  void words(const std::vector<std::string>& from, std::vector<const char*>& to) {
    for (const std::string& word : from) to.push_back(keep(word));
  }
  void program_words() {
    words(plan_.candidates, out_.candidates_);
    words(plan_.argv, out_.argv_);
    words(plan_.environment, out_.environment_);
    out_.shell_argv_ = {"sh", nullptr};
    for (size_t i = 1; i < out_.argv_.size(); ++i) out_.shell_argv_.push_back(out_.argv_[i]);
    for (auto* list : {&out_.candidates_, &out_.argv_, &out_.environment_, &out_.shell_argv_})
      list->push_back(nullptr);
    ChildProgram& program = out_.program_;
    program.candidates = out_.candidates_.data();
    program.argv = out_.argv_.data();
    program.shell_argv = out_.shell_argv_.data();
    program.environment = out_.environment_.data();
  }

  void wire(const ChildDescriptors& descriptors, char* wipe_start, uint64_t wipe_size) {
    ChildProgram& program = out_.program_;
    program.init_steps = out_.init_steps_.data();
    program.init_count = static_cast<uint32_t>(out_.init_steps_.size());
    program.enter_steps = out_.enter_steps_.data();
    program.enter_count = static_cast<uint32_t>(out_.enter_steps_.size());
    program.mask_steps = out_.mask_steps_.data();
    program.mask_count = static_cast<uint32_t>(out_.mask_steps_.size());
    program.control_fd = descriptors.control;
    program.gateway_fd = descriptors.gateway;
    for (int i = 0; i < 3; ++i) program.stdio[i] = descriptors.stdio[i];
    for (int fd : descriptors.passed)
      if (program.passed_count < kMostPassed) program.passed[program.passed_count++] = fd;
    program.window = descriptors.window;
    out_.clean_pages_ = clean_pages();
    program.clean_pages = out_.clean_pages_.data();
    program.clean_count = static_cast<uint32_t>(out_.clean_pages_.size());
    program.wipe_start = wipe_start;
    program.wipe_size = wipe_size;
    program.own_pid_namespace = plan_.namespaces & CLONE_NEWPID;
    program.death_signal = plan_.tier == Tier::kProcess ? SIGKILL : kEndSignal;
    program.wipe_environment = control_enabled("environment-wipe");
    program.close_descriptors = control_enabled("close-descriptors");
    program.die_with_parent = control_enabled("die-with-parent");
    program.drop_capabilities = control_enabled("capabilities");
    program.not_dumpable = control_enabled("not-dumpable");
  }

  const Plan& plan_;
  CompiledProgram& out_;
  uint32_t outside_id_ = 0;
  bool prepared_ = false;
};

std::unique_ptr<CompiledProgram> compile(const Plan& plan, const ChildDescriptors& descriptors,
                                         char* wipe_start, uint64_t wipe_size) {
  auto compiled = std::make_unique<CompiledProgram>();
  Compiler(plan, *compiled).run(descriptors, wipe_start, wipe_size);
  return compiled;
}

bool CompiledProgram::is_exec_step(uint32_t index) const {
  return index >= init_steps_.size() && index - init_steps_.size() < enter_steps_.size() &&
         enter_steps_[index - init_steps_.size()].kind == StepKind::kExec;
}

static std::string describe_failure(const Step& step) {
  switch (step.kind) {
    case StepKind::kWriteFile:
      return fmt::format("write {}", step.path);
    case StepKind::kTakeIds:
      return "take on the cell's ids";
    case StepKind::kAwaitMounts:
      return "receive the mounts";
    case StepKind::kStdio:
      return "give the program its stdin, stdout and stderr";
    case StepKind::kPassed:
      return "give the program the descriptors passed to it";
    case StepKind::kPrivateTree:
      return "make the mount tree private";
    case StepKind::kNewRoot:
      return "mount the cell's root (tmpfs)";
    case StepKind::kDirectory:
      return fmt::format("make the folder /{}", step.path);
    case StepKind::kFile:
      return fmt::format("write the file /{}", step.path);
    case StepKind::kLink:
      return fmt::format("make the link /{}", step.path);
    case StepKind::kBind:
      return fmt::format("mount {} at /{}", step.other, step.path);
    case StepKind::kBindOwn:
      return fmt::format("open the private space /{}", step.path);
    case StepKind::kPin:
      return fmt::format("hold the folder /{} in its place", step.path);
    case StepKind::kProc:
      return "mount /proc";
    case StepKind::kDevpts:
      return "mount /dev/pts";
    case StepKind::kMask:
      return fmt::format("mask /{}", step.path);
    case StepKind::kCover:
      return fmt::format("cover /{}", step.path);
    case StepKind::kCoverFolder:
      return fmt::format("cover the folder /{}", step.path);
    case StepKind::kPlaceOwn:
      return fmt::format("put something of the cell's own at /{}", step.path);
    case StepKind::kCoverInView:
      return fmt::format("cover /{} of the host view", step.path);
    case StepKind::kSealRoot:
      return "make the root read-only";
    case StepKind::kStartNetwork:
      return "start the network thread";
    case StepKind::kPivot:
      return "pivot into the new root";
    case StepKind::kJoinNetwork:
      return "make the network namespace, or mask names of /proc";
    case StepKind::kHostname:
      return "set the host name";
    case StepKind::kAwaitGo:
      return "wait for the supervisor";
    case StepKind::kClock:
      return "start the cell's own clock";
    case StepKind::kCgroupNamespace:
      return "make the cgroup namespace";
    case StepKind::kPrepare:
      return "reset signals and the bounding set";
    case StepKind::kKeyring:
      return "make a keyring of the cell's own";
    case StepKind::kWatch:
      return "watch what is covered";
    case StepKind::kOpenTerminal:
      return "open a terminal of the cell's own";
    case StepKind::kWorkdir:
      return fmt::format("enter the working directory {}", step.path);
    case StepKind::kDropCapabilities:
      return "drop capabilities";
    case StepKind::kNoNewPrivileges:
      return "set no_new_privs";
    case StepKind::kRlimit:
      return fmt::format("set the {} limit to {}", step.path, step.b);
    case StepKind::kTurns:
      return "give the program its caller's turns at the processor";
    case StepKind::kPinCpus:
      return "pin the cell to its cores";
    case StepKind::kLandlock:
      return "restrict by Landlock";
    case StepKind::kSeccomp:
      return "install the seccomp filter";
    case StepKind::kAwaitNetworkThread:
      return "bring up the network, lead it to the gateway, or let go of the host's root";
    case StepKind::kExec:
      return "execute the program";
  }
  return "take an unknown step";
}

std::string CompiledProgram::describe_step(uint32_t index) const {
  if (index < init_steps_.size()) return describe_failure(init_steps_[index]);
  index -= static_cast<uint32_t>(init_steps_.size());
  return index < enter_steps_.size() ? describe_failure(enter_steps_[index])
                                     : "start the program's process";
}

}  // namespace caisson
