import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { program, trial } from "./trial.mjs";

const cline = program(".bin", "cline");

test("Cline's tools are held to its run", () => trial({
  setup: "cline",
  before: (t) => execFileSync(cline, ["auth", "--provider", "openai", "--apikey", "scripted", "--modelid", "scripted", "--baseurl", `${t.url}/v1`], { env: t.env, cwd: t.project }),
  // Cline gives up on a plugin that takes more than four seconds to load, and says nothing.
  env: () => ({ CLINE_PLUGIN_IMPORT_TIMEOUT_MS: "60000" }),
  command: ({ prompt }) => [cline, "--provider", "openai", "--model", "scripted", prompt],
  shell: (path) => ({ tool: "run_commands", input: { commands: [`touch ${path}`] } }),
  write: (path) => ({ tool: "editor", input: { path, new_text: "no\n" } }),
  holds: false, // it has no hook at the end of a turn
}));
