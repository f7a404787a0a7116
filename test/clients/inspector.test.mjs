// The command line of the public MCP inspector lists the tools and calls two.
// SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const inspector = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-"));
});

// The inspector waits for its server for seconds only: it may still write.
after(() => rm(folder, { recursive: true, maxRetries: 100 }));

async function inspect(...args) {
  const { stdout } = await promisify(execFile)(inspector, [
    "--cli",
    process.env.SAVANT_BINARY, "mcp",
    "-e", "MCP_SERVICE=think", "-e", `SAVANT_PATH=${folder}`, "-e", "LOG_LEVEL=error",
    ...args,
  ]);
  return JSON.parse(stdout);
}

test("tools/list", async () => {
  const { tools } = await inspect("--method", "tools/list");
  assert.equal(tools.length, 12);
  assert.ok(tools.some((tool) => tool.name === "think_plan"));
});

test("tools/call", async () => {
  const plan = await inspect("--method", "tools/call", "--tool-name", "think_plan",
    "--tool-arg", "workflow=hello", "--tool-arg", "run_id=r1");
  assert.equal(plan.structuredContent.instruction.step_id, "greet");
  const next = await inspect("--method", "tools/call", "--tool-name", "think.next",
    "--tool-arg", "run_id=r1", "--tool-arg", "step_id=greet", "--tool-arg", 'result_snapshot={"text":"Good day!"}');
  assert.equal(next.structuredContent.instruction.step_id, "reply");
});
