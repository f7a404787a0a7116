// Starts savant lsp for each folder of the workspace that has workflows or rules.
"use strict";
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const clients = new Map(); // by the folder's URI

async function start(folder) {
  const path = folder.uri.fsPath;
  if (folder.uri.scheme !== "file" || clients.has(folder.uri.toString()) || !["workflows", "rules"].some((name) => existsSync(join(path, name)))) return;
  const command = workspace.getConfiguration("savant", folder.uri).get("command");
  const pattern = (below) => ({ scheme: "file", language: "yaml", pattern: `${path.replaceAll("\\", "/")}/${below}` });
  const client = new LanguageClient(
    "savant",
    `Savant (${folder.name})`,
    { command, args: ["lsp", "--path", path], options: { cwd: path } },
    {
      documentSelector: [pattern("workflows/**/*.{yaml,yml}"), pattern("rules/*.{yaml,yml}")],
      workspaceFolder: folder,
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/{workflows,rules,schemas}/**") },
    },
  );
  clients.set(folder.uri.toString(), client);
  await client.start();
}

async function stop(folder) {
  const client = clients.get(folder.uri.toString());
  clients.delete(folder.uri.toString());
  await client?.stop();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      removed.forEach(stop);
      added.forEach(start);
    }),
  );
  await Promise.all((workspace.workspaceFolders ?? []).map(start));
};

exports.deactivate = () => Promise.all([...clients.values()].map((client) => client.stop()));
