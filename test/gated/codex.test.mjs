import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { program, savant, trial } from "./trial.mjs";

test("Codex is held to its run", () => trial({
  setup: "codex",
  command: ({ prompt, url }) => [program(".bin", "codex"), "exec", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5",
    "-c", 'model_provider="scripted"', "-c", `model_providers.scripted={name="scripted",base_url="${url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}`, prompt],
  env: () => ({ PATH: `${program(".bin")}:${process.env.PATH}`, SCRIPTED_KEY: "scripted" }),
  // The model has to search for a server's tools before it can call them.
  own: (tool, input) => [{ tool: "tool_search", input: { query: `${tool} ${tool.replaceAll("_", " ")}` } }, { tool, input }],
  shell: (path) => ({ tool: (name) => name === "exec_command" || name === "shell" || name === "shell_command", input: { cmd: `touch ${path}`, command: `touch ${path}` } }),
  write: (path) => ({ tool: "apply_patch", input: { text: `*** Begin Patch\n*** Add File: ${path}\n+no\n*** End Patch\n` } }),
  holds: true,
}));

test("Codex is asked for its trust when it is installed later", () => {
  const home = mkdtempSync(join(tmpdir(), "savant-gated-trust-"));
  const without = { project: home, env: { PATH: "/usr/bin:/bin", HOME: home } };
  const later = { project: home, env: { PATH: `${program(".bin")}:${process.env.PATH}`, HOME: home } };
  try {
    assert.doesNotMatch(savant(without, "setup", "codex", "--yes", "--this-binary"), /Codex trusts/);
    assert.throws(() => savant(later, "doctor", "codex"), (error) => error.stdout.includes("Codex does not trust 3 hooks"));
    assert.match(savant(later, "setup", "codex", "--yes", "--this-binary"), /Codex trusts 3 hooks/);
    assert.match(savant(later, "doctor", "codex"), /Codex trusts the hooks/);
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 100 });
  }
});
