// The shapes of bodies, as JSON Schema. tests/http holds the server to them.
#pragma once

#include <string_view>

namespace caisson::web {

inline constexpr std::string_view kSchemas = R"json({
"Any": {"type": "object"},
"Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object",
  "required": ["what"], "properties": {"what": {"type": "string"}, "hint": {"type": "string"}}}}},
"CompatExec": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"},
  "timeout": {"type": ["number", "null"], "description": "seconds; 30 when absent"}}},
"CompatAnswer": {"type": "object", "required": ["output", "stderr", "vars"], "properties": {
  "output": {"type": "string"}, "stderr": {"type": "string"},
  "vars": {"type": "array", "items": {"type": "string"}}}},
"CompatVars": {"type": "array", "items": {"type": "object", "required": ["name", "type", "summary"],
  "properties": {"name": {"type": "string"}, "type": {"type": "string"},
  "summary": {"type": "string"}}}},
"CompatValue": {"type": "object", "properties": {"value": {}, "error": {"type": "string"}}},
"CompatHealth": {"type": "object", "required": ["status"],
  "properties": {"status": {"const": "ok"}}},
"Snapshot": {"type": "object", "required": ["data", "saved", "skipped"], "properties": {
  "data": {"type": "string", "contentEncoding": "base64"}, "saved": {"type": "array"},
  "skipped": {"type": "array"}, "bytes": {"type": "integer"}, "sha256": {"type": "string"}}},
"SnapshotData": {"type": "object", "required": ["data"],
  "properties": {"data": {"type": "string", "contentEncoding": "base64"}}},
"Restored": {"type": "object", "required": ["restored"], "properties": {
  "restored": {"type": "array"}, "failed": {"type": "array"}, "skipped": {"type": "array"}}},
"Health": {"type": "object", "required": ["status", "version", "sessions"], "properties": {
  "status": {"const": "ok"}, "version": {"type": "string"}, "pid": {"type": "integer"},
  "sessions": {"type": "integer"}, "uptime_seconds": {"type": "integer"}}},
"Limits": {"type": "object", "required": ["memory_bytes", "cpu_millis", "pids", "timeout_ms",
  "output_bytes"], "properties": {"memory_bytes": {"type": "integer"},
  "cpu_millis": {"type": "integer"}, "pids": {"type": "integer"}, "timeout_ms": {"type": "integer"},
  "output_bytes": {"type": "integer"}}},
"NewSession": {"type": "object", "additionalProperties": false, "properties": {
  "name": {"type": "string", "description": "1 to 64 of [A-Za-z0-9._-]; chosen when absent"},
  "python": {"type": "string"}, "workspace": {"type": "string",
  "description": "a folder of the host at /workspace, writable; a private one when absent"},
  "policy": {"type": "array", "items": {"type": "string"},
  "description": "options of `caisson exec`, beyond the default policy"},
  "preload": {"type": "array", "items": {"type": "string"}},
  "memory_bytes": {"type": "integer"}, "cpu_millis": {"type": "integer"},
  "pids": {"type": "integer"}, "timeout_ms": {"type": "integer"},
  "output_bytes": {"type": "integer"}, "ipython": {"type": "boolean"},
  "resume": {"type": "boolean", "description": "take up what an earlier one of that name saved"}}},
"Session": {"type": "object", "required": ["name", "alive", "busy", "calls", "limits"],
  "properties": {"name": {"type": "string"}, "python": {"type": "string"},
  "shell": {"type": "string"}, "workspace": {"type": "string"}, "parent": {"type": "string"},
  "inside": {"type": "string", "description": "where its code finds the workspace"},
  "layered": {"type": "boolean", "description": "checkpoints and branches hold the files, too"},
  "cell": {"type": "string"}, "calls": {"type": "integer"}, "created": {"type": "integer"},
  "busy": {"type": "boolean"}, "alive": {"type": "boolean"},
  "policy": {"type": "array", "items": {"type": "string"}},
  "limits": {"$ref": "#/components/schemas/Limits"},
  "notes": {"type": "array", "items": {"type": "string"}},
  "losses": {"type": "array", "items": {"type": "string"},
  "description": "what did not come back with it, until its first call has told that"}}},
"Sessions": {"type": "object", "required": ["sessions"], "properties": {"sessions": {
  "type": "array", "items": {"$ref": "#/components/schemas/Session"}}}},
"Ended": {"type": "object", "required": ["ended", "saved"],
  "properties": {"ended": {"type": "string"}, "saved": {"type": "boolean"},
  "branches": {"type": "array", "items": {"type": "string"},
  "description": "that were in its cell, and have ended with it"}}},
"Interrupted": {"type": "object", "required": ["interrupted"],
  "properties": {"interrupted": {"type": "boolean"}}},
"Denials": {"type": "object", "required": ["denials", "total"], "properties": {
  "total": {"type": "integer"}, "denials": {"type": "array", "items": {"type": "object",
  "required": ["time", "rule", "resource"], "properties": {"time": {"type": "integer"},
  "rule": {"type": "string"}, "resource": {"type": "string"}, "what": {"type": "string"},
  "how": {"type": "string"}}}}}},
"Exec": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"},
  "timeout_ms": {"type": ["number", "null"]}}},
"Answer": {"type": "object", "required": ["status", "output", "stderr", "notes", "ms"],
  "properties": {"status": {"type": "string"}, "output": {"type": "string"},
  "stderr": {"type": "string"}, "output_cut": {"type": "integer"},
  "stderr_cut": {"type": "integer"}, "value": {"description": "bundle of {mime type: content}"},
  "displays": {"type": "array"}, "error": {"type": "object"},
  "ended": {"type": "object"}, "notes": {"type": "array", "items": {"type": "string"}},
  "ms": {"type": "number"}}},
"Variables": {"type": "object", "required": ["status", "variables"], "properties": {
  "status": {"type": "string"}, "left_out": {"type": "integer"}, "variables": {"type": "array",
  "items": {"type": "object", "required": ["name", "type"], "properties": {
  "name": {"type": "string"}, "type": {"type": "string"}, "size": {"type": "integer"},
  "summary": {"type": "string"}}}}}},
"Value": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"},
  "kind": {"enum": ["json", "text"]}, "value": {}, "text": {"type": "string"},
  "cut": {"type": "boolean"}, "type": {"type": "string"}, "error": {"type": "object"}}},
"Expression": {"type": "object", "required": ["expression"], "properties": {
  "expression": {"type": "string"}, "max_bytes": {"type": "integer"}}},
"Load": {"type": "object", "required": ["path", "name"], "properties": {
  "path": {"type": "string"}, "name": {"type": "string"},
  "as": {"enum": ["auto", "text", "bytes", "dataframe"]}, "encoding": {"type": "string"}}},
"Files": {"type": "object", "required": ["files"], "properties": {"files": {"type": "array",
  "items": {"type": "object", "required": ["name", "type", "size", "modified"], "properties": {
  "name": {"type": "string"}, "type": {"enum": ["file", "folder", "link", "other"]},
  "size": {"type": "integer"}, "modified": {"type": "integer"}}}}}},
"FileWritten": {"type": "object", "required": ["written", "bytes"], "properties": {
  "written": {"type": "string"}, "bytes": {"type": "integer"}}},
"FileRemoved": {"type": "object", "required": ["removed"],
  "properties": {"removed": {"type": "string"}}},
"Named": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
"NewBranch": {"type": "object", "properties": {"name": {"type": "string"},
  "from": {"type": "string", "description": "a checkpoint; the present state when absent"}}}
})json";

}  // namespace caisson::web
