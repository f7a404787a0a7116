import { test } from "node:test";
import { program, trial } from "./trial.mjs";

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
