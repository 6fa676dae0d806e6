// The TypeScript SDK's client, from stdin, in the folder of its packages: TARGET ERA follow, as
// sdk_clients.py says them.
import assert from "node:assert";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [target, era] = [JSON.parse(process.argv[2]), process.argv[3]];
const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
const keepsState = !target.url || era === "legacy";
const textOf = (result) =>
  result.content.filter((block) => block.type === "text").map((block) => block.text).join("");

const client = new Client({ name: "tests", version: "1" }, { versionNegotiation: { mode } });
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers } })
  : new StdioClientTransport({ command: target.command, args: target.args, env: target.env, cwd: target.cwd });
await client.connect(transport);

const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
const { tools } = await client.listTools();
assert.equal(tools.length, 9);
const first = await call("rlm_exec", { code: "x = 6 * 7\nprint('told')\nx" });
assert(!first.isError && textOf(first).includes("told\n42"), JSON.stringify(first));
if (keepsState) {
  assert(textOf(await call("rlm_exec", { code: "x + 1" })).includes("43"));
  const loaded = await call("rlm_load", { path: target.file, var_name: "note" });
  assert(textOf(loaded).includes("(11 chars)"), JSON.stringify(loaded));
}
const failed = await call("rlm_exec", { code: "1 / 0" });
assert(failed.isError && textOf(failed).includes("ZeroDivisionError"), JSON.stringify(failed));
const stop = new AbortController();
setTimeout(() => stop.abort(), 500);
await assert.rejects(call("rlm_exec", { code: "while True: pass", timeout: 60 }, { signal: stop.signal }));
assert(textOf(await call("rlm_exec", { code: "1 + 1" })).includes("2"));
assert.equal((await client.listPrompts()).prompts.length, 2);
assert((await client.listResourceTemplates()).resourceTemplates.length > 0);
await client.close();
