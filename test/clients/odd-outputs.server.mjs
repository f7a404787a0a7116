// An MCP server whose tools promise results in ways that cannot be merged with
// what an error looks like. Each fails when it is asked to.
import { createInterface } from "node:readline";

const outputs = {
  one_of: { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }], additionalProperties: { type: "integer" } },
  ref: { type: "object", $ref: "#/$defs/R", $defs: { R: { properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false } } },
  error: { type: "object", properties: { a: { type: "integer" }, error: { type: ["object", "null"] } }, required: ["a"] },
};
const tools = Object.entries(outputs).map(([name, outputSchema]) => ({
  name, description: name, outputSchema, inputSchema: { type: "object", properties: { fail: { type: "boolean" } } },
}));

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      if (params.arguments?.fail) return { isError: true, content: [{ type: "text", text: "it was asked to fail" }] };
      return { structuredContent: { a: 1 }, content: [{ type: "text", text: '{"a":1}' }] };
    default:
      return {};
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer(message) }));
});
