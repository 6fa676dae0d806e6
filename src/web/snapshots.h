// Snapshots as data that a client keeps. The file between session and client is ours alone, and
// nothing on this side ever looks into it.
#pragma once

#include <boost/json.hpp>

#include "web/api.h"

namespace caisson::web {

// What passes through this process in several forms at a time is less than what a session keeps for
// itself. Variables beyond it are left out by name.
constexpr uint64_t kMostSnapshotData = uint64_t{256} << 20;
constexpr uint64_t kMostSnapshotBody =
    kMostSnapshotData / 3 * 4 + (1u << 20);  // the same in base64

// {saved, skipped, bytes, sha256, data}
Task<Result<boost::json::object>> take_snapshot(Api& api, http::Reply& reply, EntryPtr entry);
// `body`: {"data": …}; gives {restored, failed, skipped}.
Task<Result<boost::json::object>> put_snapshot_back(Api& api, http::Reply& reply, EntryPtr entry,
                                                    std::string body);

}  // namespace caisson::web
