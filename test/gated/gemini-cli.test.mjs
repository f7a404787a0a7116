import { test } from "node:test";
import { program, trial } from "./trial.mjs";

test("Gemini CLI is held to its run", () => trial({
  setup: "gemini-cli",
  command: ({ prompt }) => [program(".bin", "gemini"), "-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"],
  env: ({ url }) => ({ GOOGLE_GENAI_USE_VERTEXAI: "true", GOOGLE_VERTEX_BASE_URL: url, GOOGLE_API_KEY: "scripted", GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  shell: (path) => ({ tool: "run_shell_command", input: { command: `touch ${path}`, description: "Make a file" } }),
  write: (path) => ({ tool: "write_file", input: { file_path: path, content: "no\n" } }),
  holds: true,
}));
