import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { program, trial } from "./trial.mjs";

const file = program(".bin", "cline");
const cline = (t, ...args) => execFileSync(file, args, { env: t.env, cwd: t.project });

test("Cline's tools are held to its run", () => trial({
  setup: "cline",
  before: (t) => cline(t, "auth", "--provider", "openai", "--apikey", "scripted", "--modelid", "scripted", "--baseurl", `${t.url}/v1`),
  // Its daemon outlives it and writes into its home folder.
  after: (t) => cline(t, "hub", "stop"),
  // Cline gives up on a plugin that takes more than four seconds to load, and says nothing.
  env: () => ({ CLINE_PLUGIN_IMPORT_TIMEOUT_MS: "60000" }),
  command: ({ prompt }) => [file, "--provider", "openai", "--model", "scripted", prompt],
  shell: (path) => ({ tool: "run_commands", input: { commands: [`touch ${path}`] } }),
  write: (path) => ({ tool: "editor", input: { path, new_text: "no\n" } }),
  holds: false, // it has no hook at the end of a turn
}));
