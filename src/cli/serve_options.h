// The words behind `caisson serve`, and the places that it and its clients agree on.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/listen.h"
#include "policy/caller.h"

namespace caisson {

struct ServeOptions {
  std::optional<http::Address> api;               // TCP, with a token
  std::optional<http::Address> open;              // TCP, without one: the first API only
  std::string token_file;                         // given; empty: one is made
  std::string socket;                             // empty: the usual place
  std::optional<std::chrono::milliseconds> idle;  // end after so long without sessions
  int ready_fd = -1;                              // told when the server listens
  bool mcp = false;                               // the MCP server at /mcp
  std::string settings;                           // srt's, for every session
  std::vector<std::string> pythons, workspaces;   // that sessions may have
  std::vector<std::string> policy_words;          // behind --: of every session
  bool any_policy = false;                        // clients choose them by request
  bool help = false;
};

// Whether clients choose the policies of their sessions: always, unless something was said about
// them here, or a model is a client.
bool clients_choose(const ServeOptions& options);

extern const std::string_view kServeHelp;
Result<ServeOptions> parse_serve_options(std::span<const std::string> args);

// $XDG_STATE_HOME/caisson/serve: a folder for each offer (session/offer.h), with its token, its
// snapshots and the list of its sessions.
std::string serve_state_folder(const Caller& caller);
// $XDG_RUNTIME_DIR/caisson/serve.sock, or serve.sock in that folder.
std::string serve_socket_path(const Caller& caller);

}  // namespace caisson
