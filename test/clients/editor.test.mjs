// The language server, driven by the client library of VS Code: what is wrong with a text
// that no file has, what could be written, what a name means, and the cure.
// SAVANT_BINARY names the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import rpc from "vscode-languageserver-protocol/node.js";

const text = `name: shipped
version: "1.0"
steps:
  - id: look
    call: git.log
    input_template: {limit: 3}
    capture_as: found
  - id: say
    call: flow.set
    input_template: {value: "{{ found.commitz }}"}
outputs: {said: "{{ steps.say.status }}"}
`;
let folder, server, connection, uri;
const told = [];
let heard = () => {};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "savant-editor-"));
  await mkdir(join(folder, "workflows"));
  uri = pathToFileURL(join(folder, "workflows", "shipped.yaml")).href;
  server = spawn(process.env.SAVANT_BINARY, ["lsp", "--stdio"], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, SAVANT_PATH: folder }, stdio: ["pipe", "pipe", "inherit"] });
  connection = rpc.createProtocolConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  connection.onNotification(rpc.PublishDiagnosticsNotification.type, (params) => (told.push(params), heard()));
  connection.listen();
  const { capabilities } = await connection.sendRequest(rpc.InitializeRequest.type, { processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {} });
  assert.equal(capabilities.positionEncoding, "utf-16");
  await connection.sendNotification(rpc.InitializedNotification.type, {});
});

after(async () => {
  server.kill();
  await rm(folder, { recursive: true, force: true });
});

async function diagnosticsOf(version) {
  for (;;) {
    const found = told.find((each) => each.uri === uri && each.version === version);
    if (found) return found.diagnostics.filter((each) => each.severity < 3);
    await new Promise((resolve) => (heard = resolve));
  }
}

test("a mistake is told where it stands, and cured", async () => {
  await connection.sendNotification(rpc.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "yaml", version: 1, text } });
  const [wrong, ...others] = await diagnosticsOf(1);
  assert.deepEqual(others, []);
  assert.match(wrong.message, /has no field "commitz": did you mean "commits"/);
  assert.deepEqual(wrong.range, { start: { line: 9, character: 38 }, end: { line: 9, character: 45 } });
  const [cure] = await connection.sendRequest(rpc.CodeActionRequest.type, { textDocument: { uri }, range: wrong.range, context: { diagnostics: [wrong] } });
  const [edit] = cure.edit.changes[uri];
  const lines = text.split("\n");
  lines[9] = lines[9].slice(0, edit.range.start.character) + edit.newText + lines[9].slice(edit.range.end.character);
  await connection.sendNotification(rpc.DidChangeTextDocumentNotification.type, { textDocument: { uri, version: 2 }, contentChanges: [{ text: lines.join("\n") }] });
  assert.deepEqual(await diagnosticsOf(2), []);
});

test("names are completed, explained and found", async () => {
  const at = { textDocument: { uri }, position: { line: 9, character: 41 } };
  const { items } = await connection.sendRequest(rpc.CompletionRequest.type, at);
  assert.ok(items.some((each) => each.label === "commits"), JSON.stringify(items));
  const hover = await connection.sendRequest(rpc.HoverRequest.type, { textDocument: { uri }, position: { line: 4, character: 12 } });
  assert.match(hover.contents.value, /\*\*git\.log\*\*.*\n[\s\S]*`limit`/);
  const place = await connection.sendRequest(rpc.DefinitionRequest.type, { textDocument: { uri }, position: { line: 10, character: 28 } });
  assert.equal(place.range.start.line, 7);
  const symbols = await connection.sendRequest(rpc.DocumentSymbolRequest.type, { textDocument: { uri } });
  assert.deepEqual(symbols.map((each) => each.name), ["look", "say"]);
});

test("a canceled request and its end leave nothing behind", async () => {
  const source = new rpc.CancellationTokenSource();
  const asked = connection.sendRequest(rpc.CompletionRequest.type, { textDocument: { uri }, position: { line: 0, character: 0 } }, source.token);
  source.cancel();
  await asked.catch(() => {});
  await connection.sendRequest(rpc.ShutdownRequest.type);
  await connection.sendNotification(rpc.ExitNotification.type);
  const [code] = await new Promise((resolve) => server.once("exit", (...ended) => resolve(ended)));
  assert.equal(code, 0);
  assert.deepEqual(await readdir(folder), ["workflows"]);
});
