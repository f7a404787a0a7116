// The TypeScript SDK's own client over its Streamable HTTP transport: a run of hello,
// a question to the person, and a token.
// SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

let folder, server, address, token, ended;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-"));
  await mkdir(join(folder, "workflows"));
  await writeFile(join(folder, "workflows", "ship.yaml"), `name: ship
version: "1"
steps:
  - id: approve
    call: human.approve
    input_template: {message: "Ship it?"}
`);
  const env = { PATH: process.env.PATH, SAVANT_PATH: folder, MCP_SERVICE: "think", XDG_CONFIG_HOME: `${folder}-home`, LOG_LEVEL: "error" };
  const made = await promisify(execFile)(process.env.SAVANT_BINARY, ["token", "add", "sdk", "--scope", "guide,approve"], { env });
  token = made.stdout.trim();
  server = spawn(process.env.SAVANT_BINARY, ["mcp", "--http", "127.0.0.1:0"], { env, stdio: ["ignore", "inherit", "pipe"] });
  ended = new Promise((resolve) => server.on("close", resolve));
  address = await new Promise((resolve) => {
    createInterface({ input: server.stderr }).on("line", (line) => {
      const found = line.match(/serving MCP at (\S+)/);
      if (found) resolve(new URL(found[1]));
    });
  });
});

after(async () => {
  server.kill("SIGTERM");
  await ended;
  await rm(folder, { recursive: true, maxRetries: 100 });
  await rm(`${folder}-home`, { recursive: true, force: true });
});

async function connect(bearer) {
  const client = new Client({ name: "typescript", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers: { Authorization: `Bearer ${bearer}` } } }));
  return client;
}

test("without a token nobody is let in", async () => {
  await assert.rejects(connect("wrong"));
});

test("a run of hello is guided to its end", async () => {
  const client = await connect(token);
  assert.equal(client.getServerVersion().name, "savant");
  assert.ok((await client.listTools()).tools.some((tool) => tool.name === "think_plan"));
  const answer = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, JSON.stringify(result));
    return result.structuredContent;
  };
  let reply = await answer("think_plan", { workflow: "hello", params: { name: "Ada" } });
  for (let steps = 0; !reply.done; steps++) {
    assert.ok(steps < 10, "the run does not end");
    reply = await answer("think_next", { run_id: reply.state.run_id, step_id: reply.instruction.step_id, result_snapshot: { text: "Good day, Ada!" } });
  }
  await client.close();
});

test("the person is asked on the stream of the call", async () => {
  const client = await connect(token);
  let asked = "";
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    asked = request.params.message;
    const fields = request.params.requestedSchema.properties ?? {};
    return { action: "accept", content: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.type === "boolean" ? true : (field.enum ?? ["yes"])[0]])) };
  });
  const plan = await client.callTool({ name: "think_plan", arguments: { workflow: "ship" } });
  let reply = plan.structuredContent;
  if (!reply.done) {
    reply = (await client.callTool({ name: "think_next", arguments: { run_id: reply.state.run_id, step_id: "approve" } })).structuredContent;
  }
  assert.match(asked, /Ship it\?/);
  assert.equal(reply.done, true, JSON.stringify(reply));
  await client.close();
});
