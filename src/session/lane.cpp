#include "session/lane.h"

#include <fmt/format.h>
#include <boost/asio/post.hpp>

#include "base/scope_exit.h"
#include "base/text.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

// Orders wait for a fork of the interpreter, and a first start for the imports of Python.
constexpr std::chrono::seconds kOrderPatience{30}, kStartPatience{60};
constexpr size_t kMostNotes = 16;

}  // namespace

Lane::Lane(Loop& loop, UniqueFd control, LaneOptions options)
    : loop_(loop),
      channel_(std::make_shared<Channel>(loop, std::move(control))),
      options_(std::move(options)),
      turns_(loop),
      hello_(loop),
      confined_(loop) {}

Lane::~Lane() {
  if (direct_) direct_->close();
}

void Lane::close(std::string why) {
  if (!alive()) return;
  channel_->close();
  ended(std::move(why));
}

void Lane::end(std::string why) {
  // Without the word it could be that we have died, and the files of a branch would stay.
  if (alive()) (void)channel_->send(FrameType::kEnd, ++requests_, "", "", {});
  close(std::move(why));
}

void Lane::ended(std::string why) {
  why_ended_ = std::move(why);
  if (direct_) direct_->close();
  if (asked_) asked_->close();
  if (reported_) reported_->set();
  hello_.set();
  confined_.set();
  if (waiting_) waiting_->answered.set();
}

void Lane::heard(Frame frame) {
  switch (frame.type) {
    case FrameType::kHostCall:
      return serve_host_call(std::move(frame));
    case FrameType::kLive:
      return took_live(std::move(frame));
    case FrameType::kWay:
      no_way_back_ = !frame.body.empty() && frame.body[0] != 0;
      return;
    case FrameType::kNote:
      if (ended_by(frame)) return;
      if (notes_.size() < kMostNotes) notes_.push_back(text_of_note(frame.body));
      return;
    case FrameType::kConfined:
      is_confined_ = true;
      return confined_.set();
    case FrameType::kHello:
      if (Result<json::object> greeting = parse_object(frame.body); greeting && !greeting_)
        greeting_ = std::move(*greeting);
      hello_.set();
      break;
    default:
      break;
  }
  if (frame.type == FrameType::kRefused && frame.request == 0) {
    Result<json::object> why = parse_object(frame.body);
    return close(why ? refusal(*why).what : "it refused to start");
  }
  // An answer to a call that is over belongs to nobody.
  if (!waiting_ || waiting_->frame || frame.request != waiting_->request) return;
  waiting_->frame = std::move(frame);
  waiting_->answered.set();
}

Task<Result<Frame>> Lane::ask(FrameType type, std::string head, std::string body,
                              std::vector<UniqueFd> descriptors, SteadyClock::time_point deadline,
                              bool is_call) {
  Waiting waiting(loop_);
  waiting.request = ++requests_;
  waiting.is_call = is_call;
  waiting_ = &waiting;
  ScopeExit forget([this] { waiting_ = nullptr; });
  Result<void> sent = channel_->send(type, waiting.request, head, body, std::move(descriptors));
  if (!sent) co_return sent.error();
  co_return co_await last_wait(waiting, deadline);
}

Task<Result<Frame>> Lane::last_wait(Waiting& waiting, SteadyClock::time_point deadline) {
  bool answered = co_await waiting.answered.wait(deadline);
  if (waiting.frame) {
    last_facts_ = waiting.facts;
    co_return std::move(*waiting.frame);
  }
  if (!answered && alive()) {
    // Stopped, or broken by what it keeps: no more is to be had from this cell.
    close("it gave no answer in time, and its cell was killed");
    if (options_.on_silence) options_.on_silence();
  }
  co_return Error::plain(why_ended_);
}

Task<Result<json::object>> Lane::start(json::object options) {
  auto self = shared_from_this();
  Turns::Ticket turn = co_await take_turn();
  if (const json::value* direct = options.if_contains("direct"); direct && *direct == true)
    offer_nonces();
  std::string body = json::serialize(options);
  std::vector<UniqueFd> none;
  Result<Frame> frame = co_await ask(FrameType::kStart, "", std::move(body), std::move(none),
                                     SteadyClock::now() + kStartPatience, false);
  if (!frame) co_return frame.error();
  Result<json::object> answer = parse_object(frame->body);
  if (!answer) co_return answer.error();
  if (frame->type != FrameType::kHello) co_return refusal(*answer);
  co_return std::move(*answer);
}

Task<Result<json::object>> Lane::await_hello() {
  auto self = shared_from_this();
  bool came = co_await hello_.wait(SteadyClock::now() + kOrderPatience);
  if (came && greeting_) co_return *greeting_;
  co_return Error::plain("the branch did not start");
}

Task<Result<void>> Lane::await_confined() {
  auto self = shared_from_this();
  bool came = co_await confined_.wait(SteadyClock::now() + kOrderPatience);
  if (came && is_confined_ && alive()) co_return Result<void>();
  close("it was not confined in time");
  co_return Error::plain(why_ended_);
}

Error Lane::refusal(const json::object& body) {
  const json::value* error = body.if_contains("error");
  std::string text = error && error->is_string() ? std::string(error->get_string().c_str()) : "";
  return Error::plain(text.empty() ? "the session refused" : printable(text.substr(0, 500)));
}

Task<Result<json::object>> Lane::order(FrameType type, json::object body,
                                       std::vector<UniqueFd> descriptors) {
  auto self = shared_from_this();
  Turns::Ticket turn = co_await take_turn();
  Result<Frame> frame = co_await ask(type, "", json::serialize(body), std::move(descriptors),
                                     SteadyClock::now() + kOrderPatience, false);
  if (!frame) co_return frame.error();
  Result<json::object> answer = parse_object(frame->body);
  if (!answer) co_return answer.error();
  if (frame->type != FrameType::kDone) co_return refusal(*answer);
  co_return std::move(*answer);
}

Task<Result<CallAnswer>> Lane::call(Call call) {
  auto self = shared_from_this();
  if (call.turn == LaneTurn::kHeld) co_return co_await call_in_turn(std::move(call));
  Turns::Ticket turn = co_await take_turn();
  co_return co_await call_in_turn(std::move(call));
}

Task<Turns::Ticket> Lane::take_turn() {
  if (give_way_) give_way_();
  return turns_.take();
}

Task<Result<CallAnswer>> Lane::call_in_turn(Call call) {
  if (direct_ && direct_->awaits_report()) co_await await_report();
  if (!alive()) co_return Error::plain("the session has ended: " + why_ended_);
  give_way_ = std::move(call.give_way);
  ScopeExit has_given_way([this] { give_way_ = nullptr; });
  if (give_way_ && turns_.wanted()) give_way_();
  auto begin = SteadyClock::now();
  ++calls_;
  Result<Frame> frame = co_await ask_directly(call, begin);
  if (call.output) call.output->finish();
  // A handful of system calls that nobody has to wait for.
  boost::asio::post(loop_, [output = call.output, feed = std::move(call.feed),
                            descriptors = std::move(call.descriptors), channel = channel_] {
    channel->take_back_bodies();
    if (output) output->close();
    if (feed) feed->close();
  });
  CallAnswer answer;
  if (!frame) {
    answer = answer_lost(frame.error().what);
  } else if (frame->type == FrameType::kRefused) {
    Result<json::object> body = parse_object(frame->body);
    co_return body ? refusal(*body) : body.error();
  } else {
    answer = read_answer(std::move(*frame), call.most_answer);
  }
  take_output(answer, call.output.get());
  for (std::string& note : notes_) answer.notes.push_back(std::move(note));
  notes_.clear();
  answer.milliseconds =
      std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
  co_return answer;
}

CallAnswer Lane::read_answer(Frame frame, uint64_t most) {
  if (frame.type == FrameType::kEnded) return answer_from_ended(frame.body);
  if (frame.type != FrameType::kResult || frame.body.empty())
    return answer_lost("the keeper gave no answer that fits");
  auto flags = static_cast<uint8_t>(frame.body[0]);
  frame.body.erase(0, 1);
  if (frame.spilled) {
    Result<std::string> rest = read_sealed(frame.spilled, most);
    if (!rest) {
      CallAnswer answer = answer_from_result(flags, "{}", last_facts_);
      answer.status = "error";
      answer.notes.push_back(rest.error().what);
      return answer;
    }
    frame.body += *rest;
  }
  return answer_from_result(flags, frame.body, last_facts_);
}

void Lane::take_output(CallAnswer& answer, CallOutput* output) {
  if (!output) return;
  CallOutput::Stream& out = output->stream(OutputStream::kStdout);
  CallOutput::Stream& errors = output->stream(OutputStream::kStderr);
  answer.output = std::move(out.text);
  answer.errors = std::move(errors.text);
  answer.output_cut = out.cut;
  answer.errors_cut = errors.cut;
  if (uint64_t cut = out.cut + errors.cut)
    answer.notes.push_back(fmt::format("{} bytes of output beyond the limit were cut", cut));
}

void Lane::interrupt() {
  if (give_way_) return give_way_();
  if (reported_) interrupted_early_ = true;
  if (!waiting_ || !waiting_->is_call || !alive()) return;
  waiting_->facts.interrupt_asked = true;
  if (waiting_->is_direct) return stop_direct(StopReason::kInterrupt);
  (void)channel_->send(FrameType::kInterrupt, waiting_->request, "", "", {});
  // From now on there is a clock, even for a call that had none.
  if (waiting_) waiting_->answered.move_deadline(SteadyClock::now() + kGrace + kPatience);
}

}  // namespace caisson::session
