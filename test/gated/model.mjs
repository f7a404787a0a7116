// A model's provider on loopback whose answers come from a script. It speaks the four
// interfaces that the clients use: Anthropic's messages, OpenAI's responses and chat
// completions, and Gemini's content.
import { createServer } from "node:http";

// serve starts a provider. script is a generator that yields a move, {text} or
// {tool, input}, and gets what the client says in its next request: {text, tools}. tool
// is what a tool's name ends with, or a function that finds it among the tools.
export async function serve(script) {
  const model = { requests: [], moves: [], failure: undefined, ended: false };
  let turn = 0;
  let last;
  const answer = (request) => {
    if (request.tools.length === 0) return { text: "A tour" }; // a title, a summary
    const key = JSON.stringify(request.said);
    if (last?.key === key) return last.move; // the client asks again
    model.requests.push(request);
    let move = { text: "There is nothing more to do." };
    try {
      const { value, done } = script.next(request);
      if (!done) move = value;
      model.ended ||= done;
    } catch (error) {
      model.failure ??= error;
    }
    if (move.tool) move = { ...move, name: named(request.tools, move.tool), id: `call_${++turn}` };
    model.moves.push(move);
    last = { key, move };
    return move;
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const path = new URL(request.url, "http://localhost").pathname;
    const form = forms.find((each) => each.path.test(path));
    if (request.method !== "POST" || !form) return json(response, { data: [], models: [] });
    const asked = JSON.parse(body);
    form.answer(response, asked, answer(form.read(asked)), path);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  model.url = `http://127.0.0.1:${server.address().port}`;
  model.close = () => { server.closeAllConnections(); server.close(); };
  return model;
}

// named is the name of a tool as the client lists it.
function named(tools, wanted) {
  const plain = (text) => text.replace(/[^a-z0-9]/gi, "").toLowerCase();
  const found = typeof wanted === "function" ? tools.find(wanted) : tools.find((each) => plain(each).endsWith(plain(wanted)));
  return found ?? String(wanted);
}

// texts are the strings in a value.
function texts(value) {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(texts);
}

// heard is what came after the model's last message.
function heard(messages, isModel) {
  const at = messages.findLastIndex(isModel);
  return { said: messages, text: texts(messages.slice(at + 1)).join("\n") };
}

function json(response, value) {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

// stream sends events; an event's type is its name where named is true.
function stream(response, events, named) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    response.write(`${named ? `event: ${event.type}\n` : ""}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

const messages = {
  path: /\/messages$/,
  read: (asked) => ({
    ...heard(asked.messages, (each) => each.role === "assistant"),
    tools: (asked.tools ?? []).map((each) => each.name),
  }),
  answer(response, asked, move) {
    const block = move.tool
      ? { type: "tool_use", id: `toolu_${move.id}`, name: move.name, input: move.input }
      : { type: "text", text: move.text };
    const usage = { input_tokens: 10, output_tokens: 10 };
    const message = { id: `msg_${Math.random()}`, type: "message", role: "assistant", model: asked.model, stop_sequence: null, usage };
    const stop = move.tool ? "tool_use" : "end_turn";
    if (!asked.stream) return json(response, { ...message, content: [block], stop_reason: stop });
    const [begun, delta] = move.tool
      ? [{ ...block, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(move.input) }]
      : [{ ...block, text: "" }, { type: "text_delta", text: move.text }];
    stream(response, [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: begun },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage },
      { type: "message_stop" },
    ], true);
  },
};

const responses = {
  path: /\/responses$/,
  read(asked) {
    const own = ["function_call", "custom_tool_call", "tool_search_call", "reasoning"];
    const tools = offered(asked).flatMap((each) => each.tools ? each.tools.map((inner) => `${each.name}${inner.name}`) : [each.name ?? each.type]);
    return { ...heard(asked.input, (each) => each.role === "assistant" || own.includes(each.type)), tools };
  },
  answer(response, asked, move) {
    const id = `resp_${Math.random()}`;
    const item = move.tool ? called(asked, move) : { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content: [{ type: "output_text", text: move.text, annotations: [] }] };
    stream(response, [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, output: [item], usage: { input_tokens: 10, output_tokens: 10, total_tokens: 20 } } },
    ], true);
  },
};

// offered are the tools of a request, and those that the model has searched for.
function offered(asked) {
  return [...(asked.tools ?? []), ...asked.input.flatMap((each) => each.type === "tool_search_output" ? each.tools : [])];
}

// called is a call as Codex expects it: a tool may be one of a group, take free text, or
// search for tools.
function called(asked, move) {
  const tools = offered(asked);
  const tool = tools.find((each) => (each.name ?? each.type) === move.name);
  if (tool?.type === "tool_search") return { type: "tool_search_call", call_id: move.id, execution: "client", arguments: move.input };
  if (tool?.type === "custom") return { type: "custom_tool_call", call_id: move.id, name: move.name, input: move.input.text };
  const group = tools.find((each) => each.tools?.some((inner) => `${each.name}${inner.name}` === move.name));
  const name = group ? move.name.slice(group.name.length) : move.name;
  return { type: "function_call", call_id: move.id, name, ...(group && { namespace: group.name }), arguments: JSON.stringify(move.input) };
}

const completions = {
  path: /\/chat\/completions$/,
  read: (asked) => ({
    ...heard(asked.messages, (each) => each.role === "assistant"),
    tools: (asked.tools ?? []).map((each) => each.function.name),
  }),
  answer(response, asked, move) {
    const call = move.tool && { index: 0, id: move.id, type: "function", function: { name: move.name, arguments: JSON.stringify(move.input) } };
    const message = { role: "assistant", content: move.text ?? "", ...(call && { tool_calls: [call] }) };
    const reason = move.tool ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const base = { id: `chat_${Math.random()}`, created: 1, model: asked.model };
    if (!asked.stream) return json(response, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: reason }], usage });
    const chunk = (delta, finish, more) => ({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }], ...more });
    stream(response, [chunk(message, null), chunk({}, reason, { usage }), "[DONE]"]);
  },
};

const contents = {
  path: /:(generateContent|streamGenerateContent|countTokens)$/,
  read: (asked) => ({
    ...heard(asked.contents ?? [], (each) => each.role === "model"),
    tools: (asked.tools ?? []).flatMap((each) => (each.functionDeclarations ?? []).map((tool) => tool.name)),
  }),
  answer(response, asked, move, path) {
    if (path.endsWith(":countTokens")) return json(response, { totalTokens: 10 });
    const part = move.tool ? { functionCall: { name: move.name, args: move.input } } : { text: move.text };
    const said = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
    };
    if (!path.endsWith(":streamGenerateContent")) return json(response, said);
    stream(response, [said]);
  },
};

const forms = [messages, responses, completions, contents];
