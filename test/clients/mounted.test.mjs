// The public reference servers, mounted in Savant and called through it by the
// TypeScript SDK's client. SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const secret = "hunter2hunter2";
let folder, files, client;

// arrived is every message from Savant, in order.
const arrived = [];

// reference is an entry of mcp.json for a server of @modelcontextprotocol.
function reference(name, ...args) {
  const path = fileURLToPath(new URL(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url));
  return { command: process.execPath, args: [path, ...args], env: { PLANTED_TOKEN: "${PLANTED}" } };
}

const environment = () => ({ PATH: process.env.PATH, SAVANT_PATH: folder, XDG_CONFIG_HOME: `${folder}-home`, PLANTED: secret, OUTSIDE: "outside", LOG_LEVEL: "info" });

before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "savant-")));
  files = join(folder, "files");
  await mkdir(files);
  await mkdir(join(folder, ".savant"));
  await writeFile(join(folder, ".savant", "mcp.json"), JSON.stringify({ mcpServers: {
    files: { ...reference("filesystem", files), deny: ["move_*"] },
    everything: reference("everything"),
    thinking: reference("sequential-thinking"),
  } }));
  await savant("trust", "--yes");
  // The first look at the servers: what they are is kept.
  await savant("engines", "status");
  client = new Client({ name: "typescript", version: "1.0.0" });
  const transport = new StdioClientTransport({ command: process.env.SAVANT_BINARY, args: ["mcp"], env: environment(), stderr: "ignore" });
  transport.onmessage = (message) => arrived.push(message);
  await client.connect(transport);
});

after(async () => {
  await client.close();
  // The client waits for its server for seconds only: it may still write.
  await rm(folder, { recursive: true, maxRetries: 100 });
  await rm(`${folder}-home`, { recursive: true, force: true });
});

async function savant(...args) {
  const { stdout } = await promisify(execFile)(process.env.SAVANT_BINARY, args, { env: environment() });
  return stdout;
}

// call returns a result that went well.
async function call(name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result)}`);
  return result;
}

test("every server is ready and its tools are listed", async () => {
  const { engines } = JSON.parse(await savant("engines", "status", "--json"));
  const count = (name) => engines.find((each) => each.engine === name).tools.length;
  assert.ok(count("files") > 8 && count("everything") > 8 && count("thinking") === 1);
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  for (const name of ["files_write_file", "everything_echo", "thinking_sequentialthinking", "think_plan"]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(!names.includes("files_move_file"), "a denied tool is listed");
  assert.equal(tools.find((tool) => tool.name === "files_read_text_file").annotations.readOnlyHint, true);
});

test("files are written and read, and no others", async () => {
  const path = join(files, "note.txt");
  await call("files_write_file", { path, content: "ä line\n" });
  assert.equal(await readFile(path, "utf8"), "ä line\n");
  const read = await call("files_read_text_file", { path });
  assert.equal(read.structuredContent.content, "ä line\n");
  const listed = await call("files_list_directory", { path: files });
  assert.match(JSON.stringify(listed.content), /\[FILE\] note\.txt/);
  const outside = await client.callTool({ name: "files_read_text_file", arguments: { path: join(folder, ".savant", "mcp.json") } });
  assert.equal(outside.isError, true);
  assert.equal(outside.structuredContent.error, "TOOL_FAILED");
  assert.match(outside.structuredContent.details, /Access denied/);
  assert.deepEqual(JSON.parse(outside.content[0].text), outside.structuredContent);
  const missing = await client.callTool({ name: "files_read_text_file", arguments: {} });
  assert.equal(missing.structuredContent.error, "INVALID_PARAMS");
});

test("texts, images, structures and progress come through", async () => {
  assert.equal((await call("everything_echo", { message: "grüezi" })).structuredContent.text, "Echo: grüezi");
  assert.match((await call("everything_get-sum", { a: 2, b: 3 })).structuredContent.text, /5/);
  const image = await call("everything_get-tiny-image", {});
  assert.equal(image.content.find((block) => block.type === "image").mimeType, "image/png");
  const weather = await call("everything_get-structured-content", { location: "Chicago" });
  assert.equal(typeof weather.structuredContent.temperature, "number");
  // The SDK drops progress that it reads together with the reply, as it does after
  // a pause of its process: what came is what counts.
  const asked = arrived.length;
  await call("everything_trigger-long-running-operation", { duration: 1, steps: 4 }, { onprogress: () => {} });
  const since = arrived.slice(asked);
  const steps = since.filter((message) => message.method === "notifications/progress").map((message) => message.params.progress);
  assert.deepEqual(steps, [1, 2, 3, 4]);
  const last = since.findLastIndex((message) => message.method === "notifications/progress");
  assert.ok(last < since.findIndex((message) => "result" in message), "progress came after the reply");
});

test("what a server says of its results is published, and takes receipts and errors", async () => {
  const { tools } = await client.listTools();
  const schema = tools.find((tool) => tool.name === "everything_get-structured-content").outputSchema;
  assert.deepEqual(schema.properties.temperature.type, "number");
  assert.deepEqual(schema.anyOf, [{ required: ["temperature", "conditions", "humidity"] }, { required: ["error", "details"] }]);
  // The client itself holds both of these against the schema.
  const weather = await call("everything_get-structured-content", { location: "Chicago" });
  assert.match(weather.structuredContent._receipt, /^[a-z2-7]{8}$/);
  const wrong = await client.callTool({ name: "everything_get-structured-content", arguments: { location: "Atlantis" } });
  assert.equal(wrong.isError, true);
  assert.ok(["INVALID_PARAMS", "TOOL_FAILED"].includes(wrong.structuredContent.error), JSON.stringify(wrong));
});

test("a server sees only the environment it was given, and a secret stays there", async () => {
  const env = await call("everything_get-env", {});
  assert.ok(!("OUTSIDE" in env.structuredContent), "a variable that is not listed was passed on");
  assert.ok("PLANTED_TOKEN" in env.structuredContent);
  assert.ok(!JSON.stringify(env).includes(secret));
});

test("a thought is taken", async () => {
  const thought = await call("thinking_sequentialthinking",
    { thought: "first", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 });
  assert.equal(thought.structuredContent.thoughtNumber, 1);
});

test("no secret is in a log, a state or the lock file", async () => {
  for (const text of [await readFile(join(folder, "logs", "savant.log"), "utf8"), await savant("engines", "status", "--json"),
    await readFile(join(folder, ".savant", "mcp.lock.json"), "utf8"), await savant("engines", "approve", "everything")]) {
    assert.ok(!text.includes(secret));
  }
});
