// A model that makes a result up, through the TypeScript SDK's own client: it is
// refused, and goes on once it has called the tool through Savant, its own or
// that of a server mounted in it. SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const workflow = `name: seen
version: "1.0"
steps:
  - {id: log, call: git.log, input_template: {limit: 1}, witness: required, success_schema: CommitList, capture_as: log}
  - {id: weather, call: everything.get-structured-content, input_template: {location: Chicago}, witness: required, capture_as: weather}
outputs: {subject: "{{ log.commits[0].subject }}", conditions: "{{ weather.conditions }}"}
`;

let folder, client;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-"));
  await mkdir(join(folder, "workflows"));
  await mkdir(join(folder, ".savant"));
  await writeFile(join(folder, "workflows", "seen.yaml"), workflow);
  const everything = resolve("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
  await writeFile(join(folder, ".savant", "mcp.json"), JSON.stringify({
    mcpServers: { everything: { command: process.execPath, args: [everything, "stdio"], allow: ["get-structured-content"] } },
  }));
  const git = (...args) => execFileSync("git", ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args]);
  git("init", "-q");
  git("add", "workflows");
  git("commit", "-q", "-m", "Begin with a workflow");
  const env = { PATH: process.env.PATH, HOME: `${folder}-home`, MCP_SERVICE: "all", SAVANT_PATH: folder, LOG_LEVEL: "error" };
  execFileSync(process.env.SAVANT_BINARY, ["trust", "--yes"], { env });
  client = new Client({ name: "typescript", version: "1.0.0" });
  const transport = new StdioClientTransport({
    command: process.env.SAVANT_BINARY,
    args: ["mcp"],
    env,
    stderr: "inherit",
  });
  await client.connect(transport);
  await listed("everything_get-structured-content");
});

after(async () => {
  await client.close();
  // The client waits for its server for seconds only: it may still write.
  await rm(folder, { recursive: true, maxRetries: 100 });
  await rm(`${folder}-home`, { recursive: true, force: true });
});

// listed waits for a tool of a server that has to start first.
async function listed(name) {
  for (let tries = 0; tries < 1200; tries++) {
    const { tools } = await client.listTools();
    if (tools.some((tool) => tool.name === name)) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  assert.fail(`${name} is not listed`);
}

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  return { failed: Boolean(result.isError), ...result.structuredContent };
}

test("a result made up is refused, and the receipt of a call is taken", async () => {
  let reply = await call("think_plan", { workflow: "seen", run_id: "r1" });
  assert.equal(reply.instruction.witness, "required");
  const log = { run_id: "r1", step_id: "log" };
  const invented = { commits: [{ hash: "0".repeat(40), subject: "Invented" }] };
  const refused = await call("think_next", { ...log, result_snapshot: invented });
  assert.equal(refused.error, "NOT_WITNESSED");
  assert.equal((await call("think_next", { ...log, result_ref: "aaaa2222" })).error, "NOT_WITNESSED");

  const seen = await call("git_log", reply.instruction.input);
  assert.match(seen._receipt, /^[a-z2-7]{8}$/);
  reply = await call("think_next", { ...log, result_ref: seen._receipt });
  assert.equal(reply.instruction.step_id, "weather");
  assert.equal(reply.state.steps.log.witness, "gateway");
});

test("a call of a mounted server's tool is witnessed, too", async () => {
  const seen = await call("everything_get-structured-content", { location: "Chicago" });
  assert.match(seen._receipt, /^[a-z2-7]{8}$/);
  const reply = await call("think_next", { run_id: "r1", step_id: "weather", result_ref: seen._receipt });
  assert.equal(reply.outcome, "done");
  assert.deepEqual(reply.outputs, { subject: "Begin with a workflow", conditions: seen.conditions });
  assert.equal((await call("think_debug", { run_id: "r1", action: "replay" })).verdict, "identical");
});
