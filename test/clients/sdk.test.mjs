// The TypeScript SDK's own client, over its own stdio transport: it lists what
// the server offers and calls every tool of think along one run of hello.
// SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

let folder, client, tools;
const called = new Set();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-"));
  client = new Client({ name: "typescript", version: "1.0.0" });
  await client.connect(new StdioClientTransport({
    command: process.env.SAVANT_BINARY,
    args: ["mcp"],
    env: { PATH: process.env.PATH, MCP_SERVICE: "think", SAVANT_PATH: folder, LOG_LEVEL: "error" },
    stderr: "inherit",
  }));
});

after(async () => {
  await client.close();
  // The client waits for its server for seconds only: it may still write.
  await rm(folder, { recursive: true, maxRetries: 100 });
});

// call returns what a tool answers, once it was said the same way twice.
async function call(name, args) {
  called.add(name);
  const result = await client.callTool({ name, arguments: args });
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, name);
  return result;
}

async function answer(name, args) {
  const result = await call(name, args);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.structuredContent)}`);
  return result.structuredContent;
}

test("the server says who it is and how to be driven", () => {
  assert.equal(client.getServerVersion().name, "savant");
  assert.match(client.getInstructions(), /think_next/);
});

test("the tools are listed under names every client takes", async () => {
  ({ tools } = await client.listTools());
  assert.equal(tools.length, 12);
  for (const tool of tools) {
    assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/);
    assert.equal(tool.inputSchema.type, "object");
    assert.ok(tool.title && tool.description);
  }
});

test("a run of hello is guided to its end", async () => {
  const driver = await answer("think_driver_prompt", {});
  assert.match(driver.hash, /^sha256:[0-9a-f]{64}$/);
  const { workflows } = await answer("think_workflows_list", {});
  assert.ok(workflows.some((each) => each.id === "hello"));
  assert.match((await answer("think_workflows_read", { workflow: "hello" })).mermaid, /greet/);

  let reply = await answer("think_plan", { workflow: "hello", params: { name: "Ada" } });
  const run = { workflow: "hello", run_id: reply.state.run_id };
  const why = await answer("think_explain", { ...run, step_id: reply.instruction.step_id });
  assert.equal(why.status, "issued");

  const refused = await call("think_next", { ...run, step_id: reply.instruction.step_id, result_snapshot: { wrong: true } });
  assert.ok(refused.isError);
  assert.equal(refused.structuredContent.error, "VALIDATION_FAILED");
  assert.ok(refused.structuredContent.diagnostics[0].pointer !== undefined || refused.structuredContent.diagnostics[0].message);

  for (let steps = 0; !reply.done; steps++) {
    assert.ok(steps < 10, "the run does not end");
    reply = await answer("think_next", { ...run, step_id: reply.instruction.step_id, result_snapshot: { text: "Good day, Ada!" } });
  }
  assert.equal(reply.outcome, "done");
  assert.equal(reply.outputs.greeting, "Good day, Ada!");

  const state = await answer("think_state_get", run);
  assert.equal(state.snapshot.status, "done");
  assert.equal((await answer("think_state_list", {})).runs.length, 1);
  assert.equal((await answer("think_debug", { ...run, action: "replay" })).verdict, "identical");
  assert.equal((await answer("think_validate", { workflow: "hello" })).valid, true);
  assert.equal((await answer("think_reset", { ...run, save: "finished" })).ok, true);
  assert.ok((await answer("think_artifact", { ref: `savant://runs/hello/${run.run_id}/outputs` })).text);
});

test("every tool was called", () => {
  assert.deepEqual([...called].sort(), tools.map((tool) => tool.name).sort());
});

test("an unknown workflow is a result with a code, not a protocol error", async () => {
  const result = await call("think_plan", { workflow: "helo" });
  assert.ok(result.isError);
  assert.equal(result.structuredContent.error, "UNKNOWN_WORKFLOW");
});

test("prompts, resources and completion are there", async () => {
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === "driver"));
  const prompt = await client.getPrompt({ name: "hello", arguments: { name: "Ada" } });
  assert.ok(prompt.messages.length > 0);
  const { resources } = await client.listResources();
  const hello = resources.find((resource) => resource.uri === "savant://workflows/hello");
  assert.ok(hello);
  const { contents } = await client.readResource({ uri: hello.uri });
  assert.match(contents[0].text, /^name: hello/);
  const { resourceTemplates } = await client.listResourceTemplates();
  const template = resourceTemplates.find((each) => each.name === "workflow");
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: template.uriTemplate },
    argument: { name: "workflow", value: "hel" },
  });
  assert.deepEqual(completion.values, ["hello"]);
});
