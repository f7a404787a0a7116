#!/usr/bin/env node
// Starts the program of this platform's package, which npm installed beside this
// one. There is no install script, so it works with --ignore-scripts.
"use strict";
const { spawn } = require("node:child_process");

const name = `savant-mcp-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "savant.exe" : "savant";
let path;
try {
  path = require.resolve(`${name}/bin/${program}`);
} catch {
  console.error(`savant: the package ${name} is not installed. Install savant-mcp again without --omit=optional; ` +
    "the platforms are linux, darwin and win32 on x64 and arm64.");
  process.exit(1);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (cause) => {
  console.error(`savant: ${path} does not start: ${cause.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
