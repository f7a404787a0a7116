import { test } from "node:test";
import { program, trial } from "./trial.mjs";

test("opencode is held to its run", () => trial({
  setup: "opencode",
  command: ({ prompt }) => [program(".bin", "opencode"), "run", prompt],
  env: ({ url }) => ({
    OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ model: "scripted/model", small_model: "scripted/model",
      provider: { scripted: { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "scripted" }, models: { model: { tool_call: true } } } } }),
  }),
  // A text before a call is not the end of the turn, which the plugin cannot know yet.
  shell: (path) => ({ text: "First I make a file.", tool: "bash", input: { command: `touch ${path}`, description: "Make a file" } }),
  write: (path) => ({ tool: "write", input: { filePath: path, content: "no\n" } }),
  holds: true,
}));
