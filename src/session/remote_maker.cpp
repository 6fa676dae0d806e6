#include "session/remote_maker.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "session/frames.h"
#include "session/launch_spec.h"
#include "session/slices.h"

namespace caisson::session {

namespace {

constexpr size_t kMostRemoteFiles = 2000, kMostLeftOut = 200;
constexpr size_t kMostPath = 4000;
constexpr int kLastWordsMs = 100;

Error no_launcher() {
  return Error::plain("the launcher of this server has ended", "start the server again");
}

Error failure(const LaunchPacket& packet) {
  auto text = [&](size_t i) { return i < packet.texts.size() ? packet.texts[i] : std::string(); };
  Error error = Error::plain(text(0), text(1));
  if (packet.number < 4096) error.errnum = static_cast<int>(packet.number);
  return error;
}

}  // namespace

void RemoteHold::kill() {
  if (!alive_) return;
  alive_ = false;
  if (words_.empty()) words_ = "its processes were killed";
  if (std::shared_ptr<RemoteMaker> maker = maker_.lock())
    maker->send({.word = LaunchWord::kEnd, .id = id_});
}

void RemoteHold::heard_of_end(std::string words) {
  bool was_alive = std::exchange(alive_, false);
  if (was_alive) words_ = std::move(words);
  // A cgroup that ran out of memory is still there.
  if (was_alive && is_silent_)
    if (std::shared_ptr<RemoteMaker> maker = maker_.lock())
      maker->send({.word = LaunchWord::kEnd, .id = id_});
  heard();
}

void RemoteHold::heard() {
  for (Event* one : waiting_) one->set();
  waiting_.clear();
}

Task<> RemoteHold::ended(std::chrono::milliseconds patience) {
  std::shared_ptr<RemoteMaker> maker = maker_.lock();
  if (!alive_ || !maker) co_return;
  if (is_silent_) maker->send({.word = LaunchWord::kLookAt, .id = id_});
  Event event(loop_);
  waiting_.push_back(&event);
  bool came = co_await event.wait(SteadyClock::now() + patience);
  if (!came) std::erase(waiting_, &event);
}

Task<std::optional<bool>> RemoteHold::ran_out_of_memory() {
  std::shared_ptr<RemoteMaker> maker = maker_.lock();
  if (!alive_ || !maker) co_return std::nullopt;
  co_return co_await maker->has_run_out(id_);
}

RemoteMaker::RemoteMaker(Loop& loop, std::string state_folder, UniqueFd socket)
    : loop_(loop), state_folder_(std::move(state_folder)), socket_(loop.get_executor()) {
  boost::system::error_code failed;
  socket_.assign(socket.get(), failed);
  if (!failed) socket.release();
}

std::shared_ptr<RemoteMaker> RemoteMaker::make(Loop& loop, std::string state_folder,
                                               UniqueFd socket) {
  auto maker = std::make_shared<RemoteMaker>(loop, std::move(state_folder), std::move(socket));
  maker->wait_readable();
  return maker;
}

std::shared_ptr<RemoteHold> RemoteMaker::hold(uint32_t id) {
  auto made = std::make_shared<RemoteHold>(loop_, weak_from_this(), id);
  std::erase_if(holds_, [](const auto& one) { return one.second.expired(); });
  holds_[id] = made;
  return made;
}

Result<std::shared_ptr<Hold>> RemoteMaker::start_cell(CellKind kind, const SessionSpec& spec,
                                                      std::vector<UniqueFd> descriptors) {
  if (!socket_.is_open()) return no_launcher();
  bool own = kind == CellKind::kOwn;
  LaunchPacket order{.word = own ? LaunchWord::kStartOwn : LaunchWord::kStartZygote,
                     .id = ++last_id_};
  order.descriptors.push_back(std::move(descriptors.at(0)));  // the kernel is the launcher's own
  TRY(put_spec(order, spec));
  gave_folders_ = gave_folders_ || !spec.workspace.empty() || !spec.policy_words.empty();
  std::shared_ptr<RemoteHold> made = hold(order.id);
  send(std::move(order));
  return std::shared_ptr<Hold>(made);
}

Task<void> RemoteMaker::ask(LaunchPacket packet, std::shared_ptr<Question> question) {
  std::shared_ptr<RemoteMaker> self = shared_from_this();
  uint32_t id = packet.id;
  questions_[id] = question;
  send(std::move(packet));
  bool came = co_await question->answered.wait(SteadyClock::time_point::max());
  (void)came;  // the end of the launcher is an answer, too
  self->questions_.erase(id);
}

Task<Result<ForkPlace>> RemoteMaker::make_fork(ForkLimits limits, std::string zygote) {
  if (!socket_.is_open()) co_return no_launcher();
  LaunchPacket order{.word = LaunchWord::kMakeFork, .id = ++last_id_};
  order.texts.push_back(std::move(zygote));
  order.texts.push_back(encode_limits(limits));
  // Ours from the start: a fork that nobody waits for any more is ended.
  std::shared_ptr<RemoteHold> made = hold(order.id);
  made->ask_for_its_end();
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  LaunchPacket& answer = question->answer;
  if (answer.word == LaunchWord::kFailed) co_return failure(answer);
  if (answer.word != LaunchWord::kForkMade || answer.texts.size() != 1) co_return no_launcher();
  if (answer.number == 1 && !answer.descriptors.empty()) {
    claim_ = std::move(answer.descriptors.back());
    answer.descriptors.pop_back();
  }
  co_return ForkPlace{made, std::move(answer.texts[0])};
}

Task<Result<LoadedFiles>> RemoteMaker::load(std::string path, std::string workspace,
                                            uint64_t most_bytes) {
  if (!socket_.is_open()) co_return no_launcher();
  if (path.size() > kMostPath || workspace.size() > kMostPath)
    co_return Error::plain("load: a path that is too long");
  LaunchPacket order{.word = LaunchWord::kLoad, .id = ++last_id_, .number = most_bytes};
  order.texts.push_back(std::move(path));
  order.texts.push_back(std::move(workspace));
  uint32_t id = order.id;
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  if (question->answer.word == LaunchWord::kFailed) co_return failure(question->answer);
  if (question->answer.word != LaunchWord::kLoaded) co_return no_launcher();
  question->files.is_many = question->answer.number != 0;
  question->files.on_loan = loan(id);
  co_return std::move(question->files);
}

// The launcher is told when the last one who has it lets go.
std::shared_ptr<void> RemoteMaker::loan(uint32_t id) {
  return {nullptr, [weak = weak_from_this(), id](void*) {
            if (std::shared_ptr<RemoteMaker> maker = weak.lock())
              maker->send({.word = LaunchWord::kLoadOver, .id = id});
          }};
}

Result<void> RemoteMaker::drop_workspace(const std::string& session) {
  LaunchPacket order{.word = LaunchWord::kDropWorkspace};
  order.texts.push_back(session);
  send(std::move(order));
  return {};
}

Task<Result<void>> RemoteMaker::ask_until_done(LaunchPacket order) {
  if (!socket_.is_open()) co_return no_launcher();
  order.id = ++last_id_;
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  if (question->answer.word == LaunchWord::kFailed) co_return failure(question->answer);
  if (question->answer.word != LaunchWord::kDone) co_return no_launcher();
  co_return Result<void>();
}

Task<Result<void>> RemoteMaker::drop_and_tell(std::string session) {
  LaunchPacket order{.word = LaunchWord::kDropWorkspace};
  order.texts.push_back(std::move(session));
  return ask_until_done(std::move(order));
}

// No session was given a folder to write: then it need not be asked for, before every session.
Task<bool> RemoteMaker::is_written(std::string python) {
  if (!gave_folders_ || !socket_.is_open()) co_return false;
  if (python.size() > kMostPath) co_return true;
  LaunchPacket order{.word = LaunchWord::kIsWritten, .id = ++last_id_};
  order.texts.push_back(std::move(python));
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  co_return question->answer.word != LaunchWord::kDone || question->answer.number != 0;
}

Task<std::optional<bool>> RemoteMaker::has_run_out(uint32_t cell) {
  if (!socket_.is_open()) co_return std::nullopt;
  LaunchPacket order{.word = LaunchWord::kHasRunOut, .id = ++last_id_, .number = cell};
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  const LaunchPacket& answer = question->answer;
  if (answer.word != LaunchWord::kDone || answer.number >= kNobodyCanTell) co_return std::nullopt;
  co_return answer.number == 1;
}

Task<Result<FileAnswer>> RemoteMaker::work_on_file(FileOrder work) {
  if (!socket_.is_open()) co_return no_launcher();
  if (work.folder.size() > kMostPath || work.path.size() > kMostPath)
    co_return Error::from_errno("find a file of the workspace", ENAMETOOLONG);
  LaunchPacket order{.word = LaunchWord::kFileWork, .id = ++last_id_};
  order.number = static_cast<uint64_t>(work.deed);
  order.texts.push_back(std::move(work.folder));
  order.texts.push_back(std::move(work.path));
  if (work.deed == FileDeed::kWrite) {
    Result<UniqueFd> bytes = sealed_memfd("caisson-file", work.bytes);
    if (!bytes) co_return bytes.error();
    order.descriptors.push_back(std::move(*bytes));
  }
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  LaunchPacket& answer = question->answer;
  if (answer.word == LaunchWord::kFailed) co_return failure(answer);
  if (answer.word != LaunchWord::kFileDone || answer.descriptors.size() != 1)
    co_return no_launcher();
  ForeignFd memory(answer.descriptors[0].release());
  struct stat info {};
  if (!memory.is_sealed_memory() || ::fstat(memory.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) > kMostFileBytes)
    co_return no_launcher();
  FileAnswer done{answer.number != 0, {}};
  done.bytes.reserve(static_cast<size_t>(info.st_size));
  Slices slices(loop_);
  for (std::string piece(1 << 20, '\0'); done.bytes.size() < static_cast<size_t>(info.st_size);) {
    ssize_t got =
        ::pread(memory.get(), piece.data(), piece.size(), static_cast<off_t>(done.bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) co_return Error::system("read a file of the workspace");
    done.bytes.append(piece, 0, static_cast<size_t>(got));
    if (slices.over()) co_await slices.turn();
  }
  co_return done;
}

// The launcher knows where the state folder is; it is told what lies in it.
LaunchPacket RemoteMaker::room_order(LaunchWord word, const std::string& room,
                                     const std::string& session) const {
  LaunchPacket order{.word = word};
  bool is_in = room.starts_with(state_folder_ + "/");
  order.texts = {is_in ? room.substr(state_folder_.size() + 1) : std::string(), session};
  return order;
}

Result<void> RemoteMaker::note_session(const std::string& room, const std::string& session,
                                       bool is_branch) {
  LaunchPacket order = room_order(LaunchWord::kNoteSession, room, session);
  order.number = is_branch;
  send(std::move(order));
  return {};
}

void RemoteMaker::keep_workspace(const std::string& room, const std::string& session,
                                 bool is_branch) {
  LaunchPacket order = room_order(LaunchWord::kKeepWorkspace, room, session);
  order.number = is_branch;
  send(std::move(order));
}

Task<Result<void>> RemoteMaker::keep_and_tell(std::string room, std::string session,
                                              bool is_branch) {
  LaunchPacket order = room_order(LaunchWord::kKeepWorkspace, room, session);
  order.number = is_branch;
  return ask_until_done(std::move(order));
}

Task<Result<bool>> RemoteMaker::take_up_workspace(std::string room, std::string session) {
  if (!socket_.is_open()) co_return no_launcher();
  LaunchPacket order = room_order(LaunchWord::kTakeUp, room, session);
  order.id = ++last_id_;
  auto question = std::make_shared<Question>(loop_);
  co_await ask(std::move(order), question);
  if (question->answer.word == LaunchWord::kFailed) co_return failure(question->answer);
  if (question->answer.word != LaunchWord::kTakenUp) co_return no_launcher();
  co_return question->answer.number != 0;
}

void RemoteMaker::send(LaunchPacket packet) {
  if (!socket_.is_open()) return;
  outgoing_.push_back({encode_packet(packet), std::move(packet.descriptors)});
  if (!waiting_to_write_ && !flush()) wait_writable();
}

// False: the socket takes no more for now.
bool RemoteMaker::flush() {
  while (socket_.is_open() && !outgoing_.empty()) {
    Outgoing& next = outgoing_.front();
    Sent sent = send_packet(socket_.native_handle(), next.bytes, next.descriptors);
    if (sent == Sent::kLater) return false;
    if (sent == Sent::kNever) return lost(), true;
    outgoing_.pop_front();
  }
  return true;
}

void RemoteMaker::wait_writable() {
  waiting_to_write_ = true;
  socket_.async_wait(LoopDescriptor::wait_write,
                     [weak = weak_from_this()](const boost::system::error_code& failed) {
                       std::shared_ptr<RemoteMaker> self = weak.lock();
                       if (!self) return;
                       self->waiting_to_write_ = false;
                       if (!failed && !self->flush()) self->wait_writable();
                     });
}

void RemoteMaker::wait_readable() {
  socket_.async_wait(LoopDescriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& failed) {
                       std::shared_ptr<RemoteMaker> self = weak.lock();
                       if (self && !failed && self->receive()) self->wait_readable();
                     });
}

bool RemoteMaker::receive() {
  for (int i = 0; i < 16; ++i) {
    Result<std::optional<LaunchPacket>> packet = receive_packet(socket_.native_handle());
    if (!packet) return lost(), false;
    if (!*packet) return true;
    take(std::move(**packet));
    if (!socket_.is_open()) return false;
  }
  return true;
}

void RemoteMaker::take(LaunchPacket packet) {
  auto asked = questions_.find(packet.id);
  if (asked != questions_.end()) return take_answer(*asked->second, std::move(packet));
  auto found = holds_.find(packet.id);
  std::shared_ptr<RemoteHold> hold = found == holds_.end() ? nullptr : found->second.lock();
  if (!hold) return;
  if (packet.word == LaunchWord::kLives) return hold->heard();
  if (packet.word == LaunchWord::kRefusals) {
    if (packet.descriptors.size() == 1) hold->heard_of_refusals(std::move(packet.descriptors[0]));
    return;
  }
  // "caisson: WHAT\nhint: HINT", as `caisson exec` says why there is no cell.
  std::string words;
  if (!packet.texts.empty()) words = packet.texts[0];
  if (packet.word == LaunchWord::kFailed) {
    words = "caisson: " + words;
    if (packet.texts.size() > 1 && !packet.texts[1].empty()) words += "\nhint: " + packet.texts[1];
  }
  hold->heard_of_end(std::move(words));
}

void RemoteMaker::take_answer(Question& question, LaunchPacket packet) {
  LoadedFiles& files = question.files;
  if (packet.word == LaunchWord::kFile) {
    if (packet.texts.size() != 2 || packet.descriptors.size() != 1) return lost();
    if (files.files.size() < kMostRemoteFiles)
      files.files.push_back({std::move(packet.texts[0]), std::move(packet.texts[1]),
                             std::move(packet.descriptors[0]), packet.number});
    return;
  }
  if (packet.word == LaunchWord::kLeftOut) {
    if (packet.texts.size() == 1 && files.left_out.size() < kMostLeftOut)
      files.left_out.push_back(std::move(packet.texts[0]));
    return;
  }
  question.answer = std::move(packet);
  question.answered.set();
}

void RemoteMaker::lost() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  outgoing_.clear();
  for (auto& [id, weak] : holds_)
    if (std::shared_ptr<RemoteHold> hold = weak.lock()) hold->heard_of_end(no_launcher().what);
  for (auto& [id, question] : questions_) question->answered.set();
}

// The socket stays open: with words of the launcher's unread, closing it would take ours back
// (ECONNRESET before what is queued, unix(7)).
void RemoteMaker::say_goodbye() {
  send({.word = LaunchWord::kBye});
  while (!flush()) {
    pollfd writable{socket_.native_handle(), POLLOUT, 0};
    if (::poll(&writable, 1, kLastWordsMs) <= 0) break;
  }
}

}  // namespace caisson::session
