#include "launch/supervise.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "launch/control_channel.h"
#include "launch/exec_guard.h"
#include "launch/file_denials.h"
#include "launch/relay.h"
#include "launch/startup_pages.h"
#include "launch/terminal_relay.h"
#include "sys/monotonic.h"

namespace caisson {

namespace {

// A program that writes this many times its output limit is flooding, not talking (T56).
constexpr uint64_t kFloodFactor = 64, kLeastFlood = 1 << 20;
constexpr uint64_t kEndPatienceNs = 100000000;
constexpr const char* kMoreMemory = "--memory raises it";
constexpr uint64_t kDrainPatienceNs = 1000000000;
// A program that has said nothing for so long will be here for a while; one that has been here for
// so long as well.
constexpr long kSettledNs = 20000000;
constexpr uint64_t kLongestWatchNs = 1000000, kOthersTurnNs = 30000;
constexpr int kPatience =
    3;  // so many SIGINTs, SIGTERMs or SIGQUITs, then the end is not asked for

class Supervisor {
 public:
  Supervisor(Cell cell, const Supervision& supervision)
      : cell_(std::move(cell)),
        how_(supervision),
        budget_{supervision.limits.output_bytes},
        input_(supervision.input, std::move(cell_.input())),
        output_(std::move(cell_.output()), how_.output, how_.capture, budget_),
        errors_(std::move(cell_.error_output()), how_.error_output, how_.capture, budget_),
        exec_guard_(outcome_),
        file_denials_(outcome_, std::move(cell_.reports()), cell_.warden(), supervision.heard),
        watches_(supervision.watches) {
    sigset_t all;
    ::sigfillset(&all);
    signals_.reset(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
    if (how_.limits.wall) deadline_ns_ = monotonic_ns() + wall_ns();
  }

  Outcome run() {
    while (!pid1_gone_) {
      if (concluded_ns_ && cell_.stays()) watch_the_end();
      turn();
      if (everybody_has_ended() && !concluded_ns_) conclude();
    }
    end();
    terminal_.reset();  // the caller has theirs back before anything is said on it
    return std::move(outcome_);
  }

 private:
  // pid 1 ends, and its memory with it, which this core may have run: one that sleeps has to be
  // woken for that, and then for us. So it stays awake for the third of a millisecond that it
  // takes, unless it takes longer or others want the core.
  void watch_the_end() {
    uint64_t begin = monotonic_ns(), last = begin;
    while (last - begin < kLongestWatchNs) {
      pollfd end{cell_.pidfd(), POLLIN, 0};
      if (::poll(&end, 1, 0) != 0) return;
      ::sched_yield();
      uint64_t now = monotonic_ns();
      if (now - last > kOthersTurnNs) return;
      last = now;
    }
  }

  void turn() {
    polls_.clear();
    polls_.push_back({cell_.pidfd(), POLLIN, 0});
    if (control_open_) polls_.push_back({cell_.control(), POLLIN, 0});
    polls_.push_back({signals_.get(), POLLIN, 0});
    if (oom_fd() >= 0 && !verdict_)
      polls_.push_back({oom_fd(), cell_.cgroup()->oom_poll_events(), 0});
    exec_guard_.add_to(polls_);
    file_denials_.add_to(polls_);
    for (const Watch& watch : watches_) polls_.push_back({watch.fd, POLLIN, 0});
    add_streams();
    wait_for_events();
    if (cell_.stays() && monotonic_ns() - cell_.stamps().begin > kSettledNs) cell_.settle();
    if (has_deadline() && monotonic_ns() >= deadline_ns_) {
      if (!verdict_ && !wait_status_) {
        decide_timeout();
      } else {
        // Again and again, with pauses: a pid 1 that hangs in its teardown must not be spun for.
        cell_.kill();
        deadline_ns_ = monotonic_ns() + kEndPatienceNs;
      }
    }
    handle_events();
  }

  void add_streams() {
    if (terminal_) return terminal_->add_to(polls_);
    if (how_.terminal == Terminal::kOwnPty) return;  // its master has not arrived yet
    input_.add_to(polls_);
    output_.add_to(polls_);
    errors_.add_to(polls_);
  }

  void wait_for_events() {
    timespec left{}, *timeout = nullptr;
    if (has_deadline()) {
      uint64_t now = monotonic_ns();
      uint64_t ns = deadline_ns_ > now ? deadline_ns_ - now : 0;
      left = {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
      timeout = &left;
    }
    timespec settling{0, kSettledNs};
    bool settle = !settled_ && (!timeout || timeout->tv_sec > 0);
    int ready = ::ppoll(polls_.data(), polls_.size(), settle ? &settling : timeout, nullptr);
    if (ready < 0)
      for (pollfd& one : polls_) one.revents = 0;
    if (ready == 0 && settle) {
      settled_ = true;
      give_back_startup_pages();
    }
  }

  bool has_deadline() const { return verdict_ || how_.limits.wall; }

  void handle_events() {
    if (control_open_ && events_of(polls_, cell_.control())) handle_control();
    if (events_of(polls_, signals_.get())) handle_signals();
    if (std::exchange(cell_stopped_, false)) stop();
    if (oom_fd() >= 0 && events_of(polls_, oom_fd()) && cell_.cgroup()->oom_happened())
      decide(Status::kOom, "the memory limit was reached", kMoreMemory);
    exec_guard_.handle(polls_);
    file_denials_.handle(polls_);
    std::erase_if(watches_, [this](const Watch& watch) {
      return events_of(polls_, watch.fd) && !watch.ready();
    });
    if (std::string why = how_.must_end ? how_.must_end() : ""; !why.empty())
      decide(Status::kInternalError, std::move(why));
    if (terminal_) {
      terminal_->handle(polls_);
    } else {
      input_.handle(polls_);
      output_.handle(polls_);
      errors_.handle(polls_);
    }
    uint64_t cut = output_.cut() + errors_.cut() + (terminal_ ? terminal_->cut() : 0);
    if (cut > std::max(how_.limits.output_bytes, kLeastFlood) * kFloodFactor)
      decide(Status::kLimit, "the program flooded its output far beyond the limit",
             "--output-limit raises it");
    if (events_of(polls_, cell_.pidfd())) pid1_gone_ = true;
  }

  // The first verdict wins, and a program that has ended by itself has one; each of these ends the
  // cell.
  void decide(Status status, std::string reason, std::string hint = {}) {
    if (verdict_ || wait_status_) return;
    verdict_ = status;
    outcome_.reason = std::move(reason);
    outcome_.hint = std::move(hint);
    // Asked first, so that what the cell used is accounted; killed when that takes too long.
    cell_.end();
    deadline_ns_ = monotonic_ns() + kEndPatienceNs;
  }

  void decide_timeout() {
    decide(Status::kTimeout, "the time limit was reached", "--timeout raises it");
  }

  // Whoever was stopped before its own deadline was set finds the cell ended. No word from inside
  // can bring this about sooner: the clock is ours.
  bool ended_by_its_clock(int wait_status) const {
    return how_.limits.wall && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL &&
           monotonic_ns() >= cell_.stamps().begin + wall_ns();
  }

  uint64_t wall_ns() const { return static_cast<uint64_t>(how_.limits.wall->count()) * 1000000u; }

  void handle_control() {
    while (control_open_) {
      ControlMessage received = receive_control(cell_.control());
      if (received.end) control_open_ = false;
      if (!received.message) return;
      switch (received.message->kind) {
        case MessageKind::kFailed:
          setup_failed(*received.message);
          break;
        case MessageKind::kMapped:
          break;  // of use to launch() alone
        case MessageKind::kUnsteered:
          outcome_.unsteered = true;
          break;
        case MessageKind::kStopped:
          cell_stopped_ = true;
          break;
        case MessageKind::kExited:
          if (ended_by_its_clock(received.message->value)) decide_timeout();
          wait_status_ = received.message->value;
          last_word_ = *received.message;
          exited_ns_ = monotonic_ns();
          break;
        case MessageKind::kTerminal:
          terminal_.emplace(std::move(received.fd), how_.input, how_.output, how_.capture, budget_);
          break;
        case MessageKind::kWatch:
          file_denials_.watch(std::move(received.fd));
          break;
        case MessageKind::kListener:
          exec_guard_.listen(std::move(received.fd));
          break;
      }
    }
  }

  void setup_failed(const ChildMessage& message) {
    if (verdict_) return;
    verdict_ = Status::kSetupError;
    deadline_ns_ = monotonic_ns() + kEndPatienceNs;
    const CompiledProgram& compiled = cell_.compiled();
    SetupFailure failure = explain_setup_failure(compiled, message.step, message.value);
    outcome_.reason = std::move(failure.reason);
    outcome_.hint = std::move(failure.hint);
    outcome_.exit_code = failure.exit_code;
  }

  void handle_signals() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      int number = static_cast<int>(info.ssi_signo);
      switch (number) {
        case SIGCHLD:
        case SIGPIPE:  // of our own writes, as SIGXFSZ is
        case SIGXFSZ:
          break;
        case SIGWINCH:
          if (terminal_) terminal_->window_changed();
          break;
        case SIGTSTP:  // the cell stops before us, and goes on with us
          stop_wanted_ = true;
          cell_.send_signal(SIGTSTP);
          break;
        case SIGCONT:
          stop_wanted_ = false;
          if (terminal_) terminal_->resume();
          cell_.send_signal(SIGCONT);
          break;
        default:
          pass_on(number);
      }
    }
  }

  // pid 1 has stopped the cell. Nothing counts the time of who is stopped but the cell's own clock.
  void stop() {
    if (!stop_wanted_ || verdict_ || wait_status_) return;
    stop_wanted_ = false;
    if (terminal_) terminal_->pause();
    ::kill(::getpid(), SIGSTOP);
  }

  void pass_on(int number) {
    cell_.send_signal(number);
    bool asks_to_end = number == SIGINT || number == SIGTERM || number == SIGQUIT;
    if (asks_to_end && ++asked_to_end_ >= kPatience)
      decide(Status::kSignalled,
             fmt::format("ended after signal {} was sent {} times", number, asked_to_end_));
  }

  int oom_fd() { return cell_.cgroup() && !how_.survive_oom ? cell_.cgroup()->oom_event_fd() : -1; }

  // By the word of pid 1, our own code: with it comes how the program ended. It ends now by itself;
  // that it does is waited for in any case.
  bool everybody_has_ended() const { return last_word_.has_value(); }

  void look_at_cgroup() {
    if (!cell_.cgroup()) return;
    oom_ = cell_.cgroup()->oom_happened();
    cgroup_usage_ = cell_.cgroup()->usage();
  }

  // Nothing can come any more: what is in the pipes is all of it.
  void conclude() {
    uint64_t ended_ns = monotonic_ns();
    look_at_cgroup();
    drain_streams();
    file_denials_.drain();
    give_verdict();
    fill_usage();
    outcome_.duration_ms = static_cast<double>(ended_ns - cell_.stamps().begin) / 1e6;
    watches_.clear();  // who is watched may close its descriptors, and others get the numbers
    if (how_.concluded) how_.concluded(outcome_);
    concluded_ns_ = monotonic_ns();
  }

  void end() {
    if (control_open_) handle_control();
    uint64_t gone_ns = monotonic_ns();
    if (!concluded_ns_) look_at_cgroup();
    uint64_t early_ns = concluded_ns_;
    reaped_ = cell_.reap();
    cell_.release_cgroup();
    uint64_t reaped_ns = monotonic_ns();
    if (!early_ns) conclude();
    fill_phases(gone_ns, reaped_ns, early_ns);
  }

  void drain_streams() {
    uint64_t give_up_ns = monotonic_ns() + kDrainPatienceNs;
    if (terminal_) {
      terminal_->drain();
      while (terminal_->pending()) {
        polls_.clear();
        polls_.push_back({signals_.get(), POLLIN, 0});
        terminal_->add_output_to(polls_);
        if (!wait_for_reader(give_up_ns)) break;
        terminal_->handle(polls_);
      }
      outcome_.captured_stdout = terminal_->take_captured();
      return;
    }
    input_.close();
    for (;;) {
      output_.drain();
      errors_.drain();
      if (output_.finished() && errors_.finished()) break;
      polls_.clear();
      polls_.push_back({signals_.get(), POLLIN, 0});
      output_.add_to(polls_);
      errors_.add_to(polls_);
      if (!wait_for_reader(give_up_ns)) break;
      output_.handle(polls_);
      errors_.handle(polls_);
    }
    outcome_.captured_stdout = output_.take_captured();
    outcome_.captured_stderr = errors_.take_captured();
  }

  // A caller who reads slowly is waited for, unless it was us who ended the program; a signal ends
  // the wait in any case.
  bool wait_for_reader(uint64_t give_up_ns) {
    timespec patience{1, 0};
    int ready = ::ppoll(polls_.data(), polls_.size(), &patience, nullptr);
    if (ready < 0 || asked_to_stop_waiting()) return false;
    return ready > 0 || !verdict_ || monotonic_ns() <= give_up_ns;
  }

  bool asked_to_stop_waiting() {
    if (!events_of(polls_, signals_.get())) return false;
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
          info.ssi_signo == SIGQUIT)
        return true;
    return false;
  }

  void give_verdict() {
    if (!verdict_ && oom_ && (!wait_status_ || WIFSIGNALED(*wait_status_))) {
      verdict_ = Status::kOom;
      outcome_.reason = "the memory limit was reached";
      outcome_.hint = kMoreMemory;
    }
    if (!verdict_ && wait_status_) verdict_ = explain_end(*wait_status_, outcome_);
    if (!verdict_) {
      verdict_ = Status::kInternalError;
      outcome_.reason = "the cell ended without telling how its program did";
    }
    note_lost_output();
    outcome_.status = *verdict_;
    switch (outcome_.status) {
      case Status::kTimeout:
        outcome_.exit_code = 124;
        break;
      case Status::kOom:
      case Status::kLimit:
        outcome_.exit_code = exit_code_or(128 + SIGKILL);
        break;
      case Status::kInternalError:
        outcome_.exit_code = 125;
        break;
      case Status::kSetupError:
        break;
      default:
        outcome_.exit_code = exit_code_or(128 + SIGKILL);
    }
  }

  // A program that could not know that its words were lost has not ended well.
  void note_lost_output() {
    for (auto [name, error] : {std::pair{"stdout", terminal_ ? terminal_->lost() : output_.lost()},
                               std::pair{"stderr", errors_.lost()}})
      if (error && outcome_.output_lost.empty())
        outcome_.output_lost = fmt::format("{} could not be written: {}", name, errno_text(error));
    if (outcome_.output_lost.empty() || verdict_ != Status::kOk) return;
    verdict_ = Status::kInternalError;
    outcome_.reason = outcome_.output_lost;
    outcome_.hint = kLostOutputHint;
  }

  int exit_code_or(int otherwise) const {
    if (!wait_status_) return otherwise;
    if (WIFEXITED(*wait_status_)) return WEXITSTATUS(*wait_status_);
    return 128 + WTERMSIG(*wait_status_);
  }

  // By the kernel's word on pid 1, with its own work in it, or by pid 1's on all that it waited
  // for.
  void fill_times(Usage& usage) const {
    if (!everybody_has_ended()) {
      usage.user_ms = reaped_.user_ms;
      usage.system_ms = reaped_.system_ms;
      usage.max_rss_bytes = reaped_.max_rss_bytes;
      return;
    }
    usage.user_ms = static_cast<double>(last_word_->user_us) / 1e3;
    usage.system_ms = static_cast<double>(last_word_->system_us) / 1e3;
    usage.max_rss_bytes = last_word_->max_rss_kib * 1024;
  }

  void fill_usage() {
    Usage& usage = outcome_.usage;
    fill_times(usage);
    usage.cpu_ms = usage.user_ms + usage.system_ms;
    usage.memory_peak_bytes = cgroup_usage_.memory_peak_bytes;
    usage.oom_kills = cgroup_usage_.oom_kills;
    // v1 tells of the limit before the kernel has chosen whom to kill: we may have been faster.
    if (verdict_ == Status::kOom) usage.oom_kills = std::max<uint64_t>(usage.oom_kills, 1);
    usage.pids_refused = cgroup_usage_.pids_refused;
    usage.stdout_bytes = terminal_ ? terminal_->seen() : output_.seen();
    usage.stderr_bytes = errors_.seen();
    usage.stdout_cut = terminal_ ? terminal_->cut() : output_.cut();
    usage.stderr_cut = errors_.cut();
  }

  void fill_phases(uint64_t gone_ns, uint64_t reaped_ns, uint64_t early_ns) {
    const Cell::Stamps& mine = cell_.stamps();
    uint64_t last = how_.start_ns;
    auto phase = [&](const char* name, uint64_t at) {
      if (at == 0 || last == 0) return;
      // Two processes stamp beside each other: a phase that ended before the one above it took no
      // time of its own.
      at = std::max(at, last);
      outcome_.phases.push_back({name, static_cast<double>(at - last) / 1e6});
      last = at;
    };
    phase("parse, resolve, plan", mine.begin);
    phase("compile, clone with namespaces", mine.cloned);
    uint64_t cloned = last;
    phase("  beside: cgroup limits", mine.limited);
    phase("  beside: record of the start", mine.recorded);
    last = cloned;
    if (last_word_) {
      phase("ids taken, root built", last_word_->stamp[kStampRoot]);
      phase("network joined, pivot", last_word_->stamp[kStampPivot]);
      phase("wait for limits and record", last_word_->stamp[kStampGo]);
      phase("privileges dropped", last_word_->stamp[kStampSpawn]);
      phase("landlock, seccomp, exec", last_word_->stamp[kStampExec]);
    }
    phase("the program", exited_ns_);
    uint64_t exited = last;
    phase("  beside: record of the end", early_ns);
    if (early_ns) last = exited;
    phase("teardown of the namespaces", gone_ns);
    phase("reap, cgroup removed", reaped_ns);
    if (!early_ns) phase("record of the end", concluded_ns_);
  }

  Cell cell_;
  const Supervision& how_;
  OutputBudget budget_;
  Outcome outcome_;
  InputRelay input_;
  OutputRelay output_, errors_;
  ExecGuard exec_guard_;
  FileDenials file_denials_;
  std::optional<TerminalRelay> terminal_;
  UniqueFd signals_;
  std::vector<Watch> watches_;
  std::vector<pollfd> polls_;
  uint64_t deadline_ns_ = 0, exited_ns_ = 0, concluded_ns_ = 0;
  bool settled_ = false, control_open_ = true, pid1_gone_ = false;
  bool stop_wanted_ = false, cell_stopped_ = false;
  int asked_to_end_ = 0;
  std::optional<Status> verdict_;
  std::optional<int> wait_status_;
  std::optional<ChildMessage> last_word_;
  CgroupUsage cgroup_usage_;
  Cell::Used reaped_;
  bool oom_ = false;
};

}  // namespace

// Nothing else of it is taken apart: its cell has ended, and the process is about to (see leave()).
Outcome supervise(Cell cell, const Supervision& supervision) {
  return (new Supervisor(std::move(cell), supervision))->run();
}

}  // namespace caisson
