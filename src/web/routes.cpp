// The table of all routes.
#include "web/api.h"
#include "web/snapshots.h"

namespace caisson::web {
namespace {

constexpr uint64_t kSmall = 64 << 10, kCode = 8 << 20, kFile = 64 << 20;

constexpr Route kRoutes[] = {
    {"POST", "/exec", compat_exec, "Run code in the default session", "CompatExec", "CompatAnswer",
     200, kCode, true},
    {"GET", "/vars", compat_vars, "Variables of the default session", "", "CompatVars", 200, kSmall,
     true},
    {"GET", "/var/{name}", compat_var, "One variable of the default session", "", "CompatValue",
     200, kSmall, true},
    {"GET", "/health", compat_health, "Whether the server answers", "", "CompatHealth", 200, kSmall,
     true},
    {"POST", "/snapshot/save", compat_save, "The default session's variables, to be kept", "",
     "Snapshot", 200, kSmall, true},
    {"POST", "/snapshot/restore", compat_restore, "Variables put back into the default session",
     "SnapshotData", "Restored", 200, kMostSnapshotBody, true},

    {"GET", "/v1/health", health, "Whether the server answers, and what it holds", "", "Health"},
    {"GET", "/v1/openapi.json", openapi, "This document", "", "Any"},
    {"GET", "/metrics", metrics, "Counters in Prometheus' format", "", "text"},
    {"GET", "/v1/metrics", metrics, "The same", "", "text"},

    {"GET", "/v1/sessions", list_sessions, "All sessions", "", "Sessions"},
    {"POST", "/v1/sessions", create_session, "A new session", "NewSession", "Session", 201},
    {"GET", "/v1/sessions/{session}", show_session, "One session", "", "Session"},
    {"DELETE", "/v1/sessions/{session}", end_session,
     "End a session; ?save=1 keeps a snapshot for the next one of that name", "", "Ended"},
    {"GET", "/v1/sessions/{session}/limits", session_limits, "What it may use", "", "Limits"},
    {"GET", "/v1/sessions/{session}/denials", session_denials, "What it was refused", "",
     "Denials"},
    {"POST", "/v1/sessions/{session}/interrupt", interrupt_session, "Stop the call that runs", "",
     "Interrupted"},
    {"POST", "/v1/sessions/{session}/reset", reset_session, "Start over, truly clean", "", "Any"},

    {"POST", "/v1/sessions/{session}/exec", exec_code,
     "Run code; with Accept: text/event-stream, output comes as it is written", "Exec", "Answer",
     200, kCode},
    {"GET", "/v1/sessions/{session}/vars", list_vars, "Its variables; ?limit=", "", "Variables"},
    {"GET", "/v1/sessions/{session}/vars/{name}", get_var, "One variable; ?max_bytes=", "",
     "Value"},
    {"PUT", "/v1/sessions/{session}/vars/{name}", set_var,
     "Set a variable: application/json, text/* as str, anything else as bytes", "bytes", "Answer",
     200, kMemoryOfSession},
    {"POST", "/v1/sessions/{session}/evaluate", evaluate, "The value of an expression",
     "Expression", "Value"},
    {"POST", "/v1/sessions/{session}/load", load_file,
     "A file, folder or glob of the host into a variable", "Load", "Answer"},

    {"GET", "/v1/sessions/{session}/files", get_file, "The workspace's entries", "", "Files"},
    {"GET", "/v1/sessions/{session}/files/**", get_file, "A file's bytes, or a folder's entries",
     "", "bytes"},
    {"PUT", "/v1/sessions/{session}/files/**", put_file, "Write a file", "bytes", "FileWritten",
     201, kFile},
    {"DELETE", "/v1/sessions/{session}/files/**", delete_file, "Remove a file or an empty folder",
     "", "FileRemoved"},

    {"GET", "/v1/sessions/{session}/checkpoints", list_checkpoints, "Its checkpoints", "", "Any"},
    {"POST", "/v1/sessions/{session}/checkpoints", make_checkpoint, "Name the present state",
     "Named", "Any", 201},
    {"DELETE", "/v1/sessions/{session}/checkpoints/{name}", drop_checkpoint, "Drop one", "", "Any"},
    {"POST", "/v1/sessions/{session}/checkpoints/{name}/restore", restore_checkpoint,
     "Go back to one", "", "Any"},
    {"GET", "/v1/sessions/{session}/branches", list_branches, "Sessions that branched off", "",
     "Sessions"},
    {"POST", "/v1/sessions/{session}/branches", make_branch,
     "A copy of the interpreter and its workspace, as a session of its own", "NewBranch", "Session",
     201},
    {"GET", "/v1/sessions/{session}/snapshot", save_snapshot,
     "Its variables as data that outlives the process", "", "Snapshot"},
    {"PUT", "/v1/sessions/{session}/snapshot", restore_snapshot, "Put such data back",
     "SnapshotData", "Restored", 200, kMostSnapshotBody},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace caisson::web
