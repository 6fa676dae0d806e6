#include "mcp/rlm_texts.h"

namespace caisson::mcp {

namespace {

constexpr std::string_view kWhatItIs =
    "A persistent, sandboxed Python session: variables, imports and functions live from call to "
    "call. ";

constexpr std::string_view kRules =
    "\n"
    "When to use what:\n"
    "- A file of more than 200 lines, or any large text: rlm_load it into a variable and look at "
    "it "
    "with code, instead of reading it into the conversation.\n"
    "- Analysis over several files, data, counting, parsing, arithmetic, plots: rlm_exec.\n"
    "- A small file that has to be read as it is: the built-in Read. git and the project's own "
    "commands: the shell.\n"
    "\n"
    "How it works best:\n"
    "- Print little: slices, counts, the lines that match. Output beyond 20,000 characters is cut "
    "in the middle; the whole stays readable as the resource that the result names.\n"
    "- The value of the last expression is shown, like in a notebook. Figures of matplotlib come "
    "back as images.\n"
    "- A call that runs out of time is stopped for real; the variables of earlier calls are kept.\n"
    "- rlm_vars lists what there is, rlm_get fetches one value, rlm_reset starts over.\n"
    "- Before something risky: rlm_checkpoint, and rlm_restore to go back. rlm_branch makes a copy "
    "of a session under another name.\n"
    "- `session` names a separate session; without it all calls share one. Calls to one session "
    "wait for each other.\n";

}  // namespace

std::string instructions_for(Reach reach) {
  std::string text(kWhatItIs);
  text += reach.hosts ? "The code reaches the hosts that the policy allows, and no others"
                      : "The code has no network";
  text += reach.folders
              ? "; it has no API keys, and of the host's files the folders that the policy "
                "names and what you load.\n"
              : ", no API keys and none of the host's files except what you load.\n";
  text += kRules;
  return text;
}

constexpr std::string_view kRecipe =
    "Answer by exploring with code instead of by reading everything.\n"
    "1. rlm_load the file into a variable, then look at its length, its first and last lines, and "
    "its structure with rlm_exec.\n"
    "2. Narrow it down in Python: search, split, count, parse. Print only what you need to see.\n"
    "3. Keep intermediate results in variables and build on them.\n"
    "4. Check the answer against the data before you give it.\n";

namespace {

constexpr Argument kSessionArgument = {
    "session", ArgumentKind::kSession, false,
    "A separate session by this name, made when first used. Default: the session of this client."};

constexpr Argument kExecArguments[] = {
    {"code", ArgumentKind::kText, true, "Python source. Top-level await and %magics work."},
    {"timeout", ArgumentKind::kSeconds, false,
     "Seconds until the code is stopped, counted from the call's arrival.", "30"},
    kSessionArgument};
constexpr Argument kLoadArguments[] = {
    {"path", ArgumentKind::kText, true,
     "A file of the host; relative paths start at the project folder."},
    {"var_name", ArgumentKind::kName, true, "The variable that gets the content."},
    {"as", ArgumentKind::kChoice, false,
     "text: a str. auto: by suffix (JSON, CSV, notebooks, PDF, gz become values). bytes. "
     "dataframe.",
     "\"text\"", "text auto bytes dataframe"},
    {"encoding", ArgumentKind::kText, false,
     "Of text, by Python's name, such as cp1251. Default: found out."},
    kSessionArgument};
constexpr Argument kGetArguments[] = {
    {"name", ArgumentKind::kName, true, "The variable."},
    {"query", ArgumentKind::kText, false,
     "A Python expression that is evaluated instead, such as data[:5]."},
    kSessionArgument};
constexpr Argument kVarsArguments[] = {kSessionArgument};
constexpr Argument kSubAgentArguments[] = {
    {"signature", ArgumentKind::kText, true, "Such as \"question -> answer\"."},
    {"inputs", ArgumentKind::kObject, true, "A value for each input of the signature."},
    {"max_iterations", ArgumentKind::kCount, false, "Turns of the sub-agent.", "10"},
    {"max_llm_calls", ArgumentKind::kCount, false, "Calls of the model, in all.", "30"},
    kSessionArgument};
constexpr Argument kCheckpointArguments[] = {
    {"name", ArgumentKind::kName, true, "What to call it."}, kSessionArgument};
constexpr Argument kRestoreArguments[] = {
    {"name", ArgumentKind::kName, true, "A checkpoint of this session."}, kSessionArgument};
constexpr Argument kBranchArguments[] = {
    {"new_session", ArgumentKind::kSession, true, "The name of the copy."},
    {"checkpoint", ArgumentKind::kName, false,
     "A checkpoint to start from. Default: the present state."},
    kSessionArgument};

}  // namespace

constexpr ToolText kTools[kToolCount] = {
    {"rlm_exec",
     "Run Python",
     "Execute Python code in the sandbox. State persists between calls. Returns stdout, the value "
     "of the last expression, stderr, and figures as images.",
     kExecArguments,
     {.destructive = false},
     true},
    {"rlm_load",
     "Load a file",
     "Read a file, a folder or a glob of the host into a variable of the sandbox without showing "
     "it. Credentials (~/.ssh, ~/.aws, ~/.netrc, ~/.docker/config.json and the like) and what the "
     "policy hides are refused.",
     kLoadArguments,
     {.idempotent = true},
     true},
    {"rlm_get",
     "Get a value",
     "Retrieve a variable of the sandbox as JSON, or as its repr. With `query`, evaluates that "
     "Python expression instead.",
     kGetArguments,
     {}},  // `query` is code, and may change what it likes
    {"rlm_vars",
     "List variables",
     "List the variables of the sandbox with their types and short summaries.",
     kVarsArguments,
     {.read_only = true, .idempotent = true}},
    {"rlm_sub_agent",
     "Run a sub-agent",
     "Run a sub-agent with a signature (such as \"question -> answer\") and its inputs.",
     kSubAgentArguments,
     {}},
    {"rlm_reset",
     "Start over",
     "Clear all state of the sandbox: variables, imports, history. A call that runs is stopped.",
     kVarsArguments,
     {.destructive = true, .idempotent = true}},
    {"rlm_checkpoint",
     "Take a checkpoint",
     "Remember the present state of the sandbox under a name, in about a millisecond.",
     kCheckpointArguments,
     {.idempotent = true}},
    {"rlm_restore",
     "Go back to a checkpoint",
     "Put the sandbox back to a checkpoint. What came after it is gone.",
     kRestoreArguments,
     {.destructive = true, .idempotent = true}},
    {"rlm_branch",
     "Copy a session",
     "Make a copy of a session under a new name; the two go separate ways from there.",
     kBranchArguments,
     {}},
};

}  // namespace caisson::mcp
