// Every tool of every engine, listed and called once by the TypeScript SDK's
// own client, which holds each result against the output schema that was
// listed. A published tool without a row in the table fails.
// SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const source = `package pay

// Charge takes money.
func Charge(cents int) bool { return cents > 0 }
`;
const commands = `commands:
  tests: {command: [git, --version]}
  slow: {command: [sleep, "300"]}
  lint: {command: [git, check-ref-format], args: ['refs/heads/[a-z]+']}
`;
const run = { workflow: "hello", run_id: "r1" };

// The table: a tool, its arguments, and what holds of its result. Rows are
// called from top to bottom; arguments may be made from results before, by name.
const written = "name: w\nversion: '1'\nsteps:\n  - {id: look, call: git.status}\n";
const table = [
  ["think.driver_prompt", {}, (is) => is.prompt_md.includes("think_next")],
  ["think.workflows.list", {}, (is) => is.workflows.some((each) => each.id === "hello")],
  ["think.workflows.read", { workflow: "hello" }, (is) => is.yaml.includes("greet")],
  ["think.plan", { ...run, params: { name: "Ada" } }, (is) => is.instruction.step_id === "greet"],
  ["think.explain", { ...run, step_id: "greet" }, (is) => is.status === "issued"],
  ["think.next", { ...run, step_id: "greet", result_snapshot: { text: "Good day!" } }, (is) => is.instruction.step_id === "reply"],
  ["think.state.get", run, (is) => is.snapshot.steps.greet.status === "done"],
  ["think.state.list", {}, (is) => is.runs.length === 1],
  ["think.artifact", { ref: "savant://runs/hello/r1/vars/greeting" }, (is) => is.text.includes("Good day!")],
  ["think.validate", { workflow: "hello" }, (is) => is.valid],
  ["think.debug", { ...run, action: "replay" }, (is) => is.verdict === "identical"],
  ["think.reset", { ...run, save: "here" }, (is) => is.ok],
  ["rules.check", { tool: "git.status", input: {} }, (is) => is.decision === "allow"],
  ["think.author.check", { workflow: written }, (is) => is.valid],
  ["think.author.try", { workflow: written }, (is) => JSON.stringify(is).includes("git.status")],
  ["workflow.workflow_run", { workflow: "repo_tour" }, (is) => is.status === "done"],
  ["git.status", {}, (is) => is.clean],
  ["git.log", {}, (is) => is.commits[0].subject === "Charge for it"],
  ["git.show", { ref: "HEAD" }, (is) => is.files.some((each) => each.path === "pay.go")],
  ["git.diff", {}, (is) => is.files.length === 0],
  ["git.blame", { path: "pay.go" }, (is) => is.lines.length === 4],
  ["git.files", {}, (is) => is.files.length > 0],
  ["context.index", { action: "refresh" }, (is) => is.repos[0].files > 0],
  ["context.search", { query: "who takes money" }, (is) => is.rows[0].path === "pay.go"],
  ["context.fts_search", { q: "charg*" }, (is) => is.rows[0].path === "pay.go"],
  ["context.tree", {}, (is) => is.entries.some((each) => each.path === "pay.go")],
  ["context.outline", { path: "pay.go" }, (is) => is.definitions[0].name === "Charge"],
  ["context.read", (results) => ({ path: results["context.search"].rows[0].path }), (is) => is.text.includes("Charge takes money")],
  ["context.memory_write", { name: "payments", text: "# Payments\nCents, never floats." }, (is) => is !== undefined],
  ["context.memory_search", { query: "floats" }, (is) => is.rows.length === 1],
  ["review.change", { target: "HEAD~1..HEAD" }, (is) => is.parts.length === 1],
  ["review.part", (results) => ({ source: results["review.change"].source, part: 1 }), (is) => is.text.includes("## pay.go")],
  ["review.check", (results) => ({ source: results["review.change"].source, findings: [] }), (is) => is.findings.length === 0],
  ["review.report", (results) => ({ change: results["review.change"], decision: "approve", summary: "Fine.", findings: [] }), (is) => is.markdown.includes("pay.go")],
  ["ci.run_tests", {}, (is) => is.exit_code === 0 && is.tail.includes("git version")],
  ["ci.run", { name: "lint", args: ["refs/heads/main"] }, (is) => is.exit_code === 0],
  ["agent.run", { goal: "What takes money?", wait_ms: 20000 }, (is) => is.run_id !== ""],
  ["agent.status", (results) => ({ run_id: results["agent.run"].run_id, wait_ms: 20000 }), (is) => is.status === "ok"],
  ["agent.list", {}, (is) => is.runs.length === 1],
  ["agent.cancel", async () => ({ run_id: await longRun() }), async (is) => await outcome(is.run_id) === "canceled"],
];

// These need another server: a forge that has the request to comment on.
const elsewhere = ["review_comment"];

let base, folder, client, tools;

before(async () => {
  base = await mkdtemp(join(tmpdir(), "savant-"));
  folder = join(base, "project");
  await mkdir(join(folder, ".savant"), { recursive: true });
  await writeFile(join(folder, "pay.go"), source);
  await writeFile(join(folder, ".gitignore"), ".savant/\nlogs/\n");
  await writeFile(join(folder, ".savant", "ci.yaml"), commands);
  const git = (...args) => execFileSync("git", ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args]);
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "Begin");
  git("add", ".");
  git("commit", "-q", "-m", "Charge for it");
  const env = { PATH: process.env.PATH, HOME: join(base, "home"), XDG_CACHE_HOME: join(base, "cache"), SAVANT_PATH: folder, LOG_LEVEL: "error" };
  execFileSync(process.env.SAVANT_BINARY, ["trust", "--yes"], { env });
  client = new Client({ name: "typescript", version: "1.0.0" });
  await client.connect(new StdioClientTransport({
    command: process.env.SAVANT_BINARY,
    args: ["mcp"],
    env,
    stderr: "inherit",
  }));
  ({ tools } = await client.listTools());
});

after(async () => {
  await client.close();
  // The client waits for its server for seconds only: it may still write.
  await rm(base, { recursive: true, maxRetries: 100 });
});

// longRun begins a run of the agent that does not end by itself.
async function longRun() {
  const { structuredContent } = await client.callTool({
    name: "agent.run",
    arguments: { goal: "Wait for it.", force_tool: "ci.run", force_args: { name: "slow" }, wait_ms: 1 },
  });
  return structuredContent.run_id;
}

// outcome is how a run of the agent ended, once it has.
async function outcome(run_id) {
  const { structuredContent } = await client.callTool({ name: "agent.status", arguments: { run_id, wait_ms: 20000 } });
  return structuredContent.status;
}

// listed is a tool's name as it is listed here.
const listed = (name) => name.replaceAll(".", "_");

test("each published tool has one row, and each row a tool", () => {
  assert.deepEqual([...table.map(([name]) => listed(name)), ...elsewhere].sort(), tools.map((tool) => tool.name).sort());
});

test("each tool says what it is in a form that every client takes", () => {
  for (const tool of tools) {
    assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/);
    assert.ok(tool.title && tool.description, tool.name);
    assert.equal(tool.inputSchema.type, "object", tool.name);
    assert.ok(!["anyOf", "oneOf", "allOf", "$ref"].some((key) => key in tool.inputSchema), tool.name);
    if (tool.outputSchema) {
      assert.equal(tool.outputSchema.type, "object", tool.name);
      assert.ok(!["oneOf", "allOf", "$ref"].some((key) => key in tool.outputSchema), tool.name);
      assert.deepEqual(tool.outputSchema.properties.error ?? { type: "string" }, { type: "string" }, `${tool.name}: its errors would not fit`);
      assert.notEqual(tool.outputSchema.additionalProperties, false, `${tool.name}: its errors would not fit`);
    }
    assert.equal(typeof tool.annotations.readOnlyHint, "boolean", tool.name);
  }
});

test("each tool answers, twice the same, as its output schema says", async (each) => {
  const results = {};
  for (const [name, given, holds] of table) {
    await each.test(name, async () => {
      const result = await client.callTool({ name: listed(name), arguments: typeof given === "function" ? await given(results) : given });
      assert.ok(!result.isError, JSON.stringify(result.structuredContent));
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
      results[name] = result.structuredContent;
      assert.ok(await holds(results[name]), JSON.stringify(results[name]).slice(0, 2000));
    });
  }
});

test("each tool refuses arguments of the wrong kind with a coded error that is no JSON-RPC error", async (each) => {
  for (const tool of tools) {
    const [wrong] = Object.keys(tool.inputSchema.properties ?? {});
    if (wrong === undefined) continue;
    await each.test(tool.name, async () => {
      const result = await client.callTool({ name: tool.name, arguments: { [wrong]: { wrong: [true] } } });
      assert.equal(result.isError, true, result.content[0].text);
      const fault = JSON.parse(result.content[0].text);
      assert.deepEqual(result.structuredContent, fault, "a client that shows one of them shows another fault");
      assert.match(fault.error, /^[A-Z_]+$/);
      assert.notEqual(fault.error, "INTERNAL");
      assert.ok(fault.details.length > 10);
    });
  }
});

test("nothing is written outside the project, the cache and what a person trusts", async () => {
  assert.deepEqual((await readdir(base)).sort(), ["cache", "home", "project"]);
  assert.deepEqual(await readdir(join(base, "home")), [".config"]);
  assert.deepEqual((await readdir(folder)).sort(), [".git", ".gitignore", ".savant", "logs", "pay.go"].sort());
  assert.deepEqual(await readdir(join(base, "cache")), ["savant"]);
});
