// The TypeScript SDK's client holds results and errors of a mounted server
// against output schemas that stay as they are. SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

let folder, client;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-"));
  await mkdir(join(folder, ".savant"));
  const server = fileURLToPath(new URL("odd-outputs.server.mjs", import.meta.url));
  await writeFile(join(folder, ".savant", "mcp.json"), JSON.stringify({ mcpServers: { odd: { command: process.execPath, args: [server] } } }));
  const env = { PATH: process.env.PATH, SAVANT_PATH: folder, XDG_CONFIG_HOME: `${folder}-home`, MCP_SERVICE: "odd" };
  await promisify(execFile)(process.env.SAVANT_BINARY, ["trust", "--yes"], { env });
  await promisify(execFile)(process.env.SAVANT_BINARY, ["engines", "status"], { env }); // the first look: what is there is kept
  client = new Client({ name: "typescript", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.env.SAVANT_BINARY, args: ["mcp"], env, stderr: "ignore" }));
});

after(async () => {
  await client.close();
  await rm(folder, { recursive: true, maxRetries: 100 });
  await rm(`${folder}-home`, { recursive: true, force: true });
});

test("results and errors fit schemas with oneOf, $ref or a property error", async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), ["odd_error", "odd_one_of", "odd_ref"]);
  for (const { name, outputSchema } of tools) {
    assert.equal(outputSchema.type, "object", name);
    assert.equal(outputSchema.anyOf.length, 2, name);
    const good = await client.callTool({ name, arguments: {} });
    assert.deepEqual(good.structuredContent, { a: 1 }, name);
    assert.match(good.content.at(-1).text, /^\{"_receipt":"[a-z2-7]{8}"\}$/);
    const bad = await client.callTool({ name, arguments: { fail: true } });
    assert.equal(bad.isError, true, name);
    assert.equal(bad.structuredContent.error, "TOOL_FAILED", name);
    assert.match(bad.structuredContent._receipt, /^[a-z2-7]{8}$/);
    assert.match(bad.structuredContent.details, /asked to fail/, name);
  }
});
