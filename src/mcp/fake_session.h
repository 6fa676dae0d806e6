// Sessions without a cell, for tests: they answer what they are told to, when they are told to.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/stream.h"
#include "session/session_host.h"

namespace caisson::mcp {

class FakeSession : public session::Session {
 public:
  FakeSession(Loop& loop, std::string name) : loop_(loop), bell_(loop) {
    info_.name = std::move(name);
    info_.alive = true;
  }

  session::SessionInfo info() const override { return info_; }

  // "wait" runs until somebody interrupts it; anything else is its own output.
  Task<Result<session::CallAnswer>> exec(session::ExecRequest request) override {
    codes.push_back(request.code);
    if (request.on_output) request.on_output(session::OutputStream::kStdout, "partial");
    session::CallAnswer answer;
    answer.status = "ok";
    answer.output = request.code;
    if (request.code == "die") {
      info_.alive = false;
      answer.status = "lost";
    }
    if (request.code == "wait") {
      info_.busy = true;
      co_await bell_.wait();
      info_.busy = false;
      answer.status = "interrupted";
    }
    co_return answer;
  }
  Task<Result<session::CallAnswer>> vars(uint32_t) override { return plain(); }
  Task<Result<session::CallAnswer>> get(std::string, uint64_t) override { return plain(); }
  Task<Result<session::CallAnswer>> evaluate(std::string, uint64_t) override { return plain(); }
  Task<Result<session::CallAnswer>> set(std::string, std::string, std::string) override {
    return plain();
  }
  Task<Result<session::CallAnswer>> set_lent(std::string, std::string, UniqueFd) override {
    return plain();
  }
  Task<Result<session::CallAnswer>> load(std::string path, std::string, session::LoadAs) override {
    loaded.push_back(path);
    return plain();
  }
  Task<Result<boost::json::object>> reset() override { return done(); }
  Task<Result<boost::json::object>> checkpoint(std::string) override { return done(); }
  Task<Result<boost::json::object>> restore(std::string) override { return done(); }
  Task<Result<boost::json::object>> drop(std::string) override { return done(); }
  Task<Result<boost::json::object>> checkpoints() override { return done(); }
  Task<Result<session::CallAnswer>> save(std::string, uint64_t) override { return plain(); }
  Task<Result<session::CallAnswer>> unsave(std::string) override { return plain(); }
  void interrupt() override {
    ++interrupts;
    bell_.ring();
  }

  std::vector<std::string> codes, loaded;
  int interrupts = 0;

 private:
  Task<Result<session::CallAnswer>> plain() {
    session::CallAnswer answer;
    answer.status = "ok";
    co_return answer;
  }
  Task<Result<boost::json::object>> done() { co_return boost::json::object(); }

  Loop& loop_;
  http::Bell bell_;
  session::SessionInfo info_;
};

class FakeHost : public session::SessionHost {
 public:
  explicit FakeHost(Loop& loop) : loop_(loop) {}

  Task<Result<std::shared_ptr<session::Session>>> create(session::SessionSpec spec) override {
    made.push_back(spec.name);
    auto session = std::make_shared<FakeSession>(loop_, spec.name);
    sessions[spec.name] = session;
    co_return std::shared_ptr<session::Session>(session);
  }
  Task<Result<std::shared_ptr<session::Session>>> branch(std::string, std::string new_name,
                                                         std::string) override {
    session::SessionSpec spec;
    spec.name = new_name;
    return create(std::move(spec));
  }
  std::shared_ptr<session::Session> find(std::string_view name) const override {
    auto found = sessions.find(std::string(name));
    return found == sessions.end() ? nullptr : found->second;
  }
  std::vector<session::SessionInfo> list() const override { return {}; }
  Task<Result<void>> end(std::string name, bool save_first) override {
    ended.push_back(name + (save_first ? " saved" : ""));
    sessions.erase(name);
    co_return Result<void>();
  }
  void kill_all() override { killed = true; }
  void discard_all() override { killed = true; }

  std::map<std::string, std::shared_ptr<FakeSession>> sessions;
  std::vector<std::string> made, ended;
  bool killed = false;

 private:
  Loop& loop_;
};

}  // namespace caisson::mcp
