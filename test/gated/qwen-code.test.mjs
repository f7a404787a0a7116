import { test } from "node:test";
import { program, trial } from "./trial.mjs";

test("Qwen Code is held to its run", () => trial({
  setup: "qwen-code",
  command: ({ prompt }) => [program(".bin", "qwen"), "-p", prompt, "--approval-mode", "yolo", "--auth-type", "openai"],
  env: ({ url }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "scripted", OPENAI_MODEL: "scripted" }),
  // A server's tools are not listed: one tool finds them, another calls them.
  own: (tool, input) => [{ tool: "tool_search", input: { query: `select:mcp__savant__${tool}` } },
    { tool: "tool_call", input: { name: `mcp__savant__${tool}`, arguments: input } }],
  shell: (path) => ({ tool: "run_shell_command", input: { command: `touch ${path}`, description: "Make a file", is_background: false } }),
  write: (path) => ({ tool: "write_file", input: { file_path: path, content: "no\n" } }),
  holds: true,
  pages: true,
}));
