import { test } from "node:test";
import { program, trial } from "./trial.mjs";

test("Claude Code is held to its run", () => trial({
  setup: "claude-code",
  command: ({ prompt }) => [program("@anthropic-ai", `claude-code-${process.platform}-${process.arch}`, "claude"), "-p", prompt, "--allowedTools", "Bash,Write,ToolSearch,mcp__savant"],
  env: ({ url }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" }),
  // Most tools of a server are to be searched for before they can be called.
  own: (tool, input) => [...(/^think_(plan|next)$/.test(tool) ? [] : [{ tool: "ToolSearch", input: { query: `select:mcp__savant__${tool}`, max_results: 1 } }]), { tool, input }],
  shell: (path) => ({ tool: "Bash", input: { command: `touch ${path}`, description: "Make a file" } }),
  write: (path) => ({ tool: "Write", input: { file_path: path, content: "no\n" } }),
  holds: true,
}));
