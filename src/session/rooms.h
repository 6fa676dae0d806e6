// Rooms: where the files of sessions are on the host. A fork of a zygote has a folder of its own in
// `forks/ZYGOTE`, with the workspace (files), what its checkpoints and branches hold (layers), and
// the names of the sessions in it. A zygote has the rooms of its own forks in its cell, and no
// others. A process that makes forks holds a lock while it lives, so that the next one can tell
// whose folders are nobody's. What is to be taken up again waits in `workspaces/NAME`.
//
// The inside of `files` and `layers` is the cell's to change: here entries of it are moved and
// removed by name, below a descriptor (state_folders.h), and never followed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/state_folders.h"
#include "session/trash.h"

namespace caisson::session {

// A colon can't be in the words of a mount: such a state folder has workspaces without layers.
inline bool can_have_layers(std::string_view folder) {
  return folder.find(':') == std::string_view::npos;
}

// The right to make folders in `forks` that begin with prefix(). Ends with the process at the
// latest.
class ForksClaim {
 public:
  static Result<ForksClaim> make(int forks);
  ForksClaim(ForksClaim&&) = default;
  ForksClaim& operator=(ForksClaim&&) = delete;
  ~ForksClaim();
  const std::string& prefix() const { return prefix_; }
  // The life of whoever has it counts from then on: of a server whose launcher this process is.
  UniqueFd hand_over() { return std::move(lock_); }

 private:
  ForksClaim(UniqueFd lock, UniqueFd forks, std::string prefix)
      : lock_(std::move(lock)), forks_(std::move(forks)), prefix_(std::move(prefix)) {}
  UniqueFd lock_, forks_;
  std::string prefix_;
};

// With `files` and `layers` in it.
Result<void> make_room(int parent, const std::string& name);
// Notes, in the room, that a session has its files at `below` there: "files" or "layers/NAME". What
// isn't noted by us is nobody's: a cell makes folders of any name in its layers.
Result<void> note_session(int room, std::string_view name, std::string_view below);

// Moves a folder of a room to workspaces/NAME or, of a branch, branches/NAME, in the place of what
// is there. The two are not alike: the cell of a branch's parent may live on, with descriptors of
// what was moved and names for it in other branches, so that is only ever copied (branch_copy.h).
Result<void> keep_workspace(const StateFolders&, const std::string& name, int room,
                            const std::string& below, Trash&);
// Makes workspaces/NAME the files of a room that is new, and in no cell yet: one rename, however
// much there is. False: there is nothing.
Result<bool> take_up_workspace(const StateFolders&, const std::string& name, int room);

// Rooms of processes that are gone: sessions' files are kept, all else is removed. Gives the number
// of rooms.
size_t sweep_rooms(const StateFolders&, Trash&);

}  // namespace caisson::session
