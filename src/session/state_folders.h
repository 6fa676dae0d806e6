// StateFolders: the folders of a state folder, by descriptor. They are made and opened once, before
// there is anybody who could put something else in their place; from then on everything below is
// reached from them, by names, without following a link. A name alone would be trusted again at
// each use, and a server that was taken over, or a cell, may have changed what it means.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::session {

class StateFolders {
 public:
  // What is missing is made, 0700, but not the folder itself. `top`: that it lies in with those of
  // other servers, and with one trash for all; empty: it is alone.
  static Result<StateFolders> open(const std::string& path, const std::string& top = {});

  int forks() const { return forks_.get(); }            // rooms of forks, by zygote
  int rooms() const { return rooms_.get(); }            // of sessions in cells of their own
  int workspaces() const { return workspaces_.get(); }  // private ones, and what was kept
  int branches() const { return branches_.get(); }      // what was kept of branches
  int trash() const { return trash_.get(); }
  const std::string& path() const { return path_; }

  // "forks/ZYGOTE/ROOM" or "rooms/NAME", or the whole path of one.
  Result<UniqueFd> open_room(std::string_view room) const;
  // What a session may call its files, as the path of a folder: workspaces/NAME, or `files` or
  // `layers` of a room, or (a branch's) layers/NAME there. Nothing deeper: names there are a
  // cell's.
  Result<UniqueFd> open_workspace(std::string_view path, bool or_branch) const;
  // For who closes everything else.
  std::vector<int> descriptors() const;

 private:
  StateFolders() = default;
  std::string_view below(std::string_view path) const;

  std::string path_;
  UniqueFd forks_, rooms_, workspaces_, branches_, trash_;
};

// What the server itself keeps (snapshots, locks) is in a folder of its own: it has no right to any
// of the others.
std::string own_folder(const std::string& state_folder);

// By names below `at`, without following any link; an error says that it was not to be had.
Result<UniqueFd> open_folder_below(int at, const std::string& names);
// A folder of ours alone (0700) in `at`, made if it is not there.
Result<UniqueFd> private_folder(int at, const std::string& name);
// Of an O_PATH descriptor, one to list and lock.
Result<UniqueFd> readable(int folder);
// What is in one, at most so many; nothing where it can't be listed.
std::vector<std::string> names_in(int folder, size_t most);

}  // namespace caisson::session
