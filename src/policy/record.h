// The record of what ran is no cell's to read, to change or to lock, whatever is mounted (C22).
// Settings say where it is; here is what stands in its place.
#pragma once

#include "policy/mounts.h"

namespace caisson {

// The folder of the record, a file in it, or a folder where caisson keeps other things of its own.
// What lies deeper is none of it: sessions have their workspaces there.
bool is_of_record(const Scene&, const std::string& path);

// In the host view: it can't be written, and an empty folder hides it.
void hide_record(const Scene&, FileRules&);

// In mounts: an empty folder lies over it, in each that shows it. An error for one that is the
// record, and for one through which the way to it could be turned elsewhere.
Result<void> cover_record(const Scene&, Policy&);

}  // namespace caisson
