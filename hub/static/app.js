// The page of a question or a run in a client. It speaks MCP Apps (2026-01-26) with the
// client by messages, and with nobody else. key is the key of the page's answer.
const main = document.getElementById("main");
const waiting = new Map();
let last = 0;
let shown = {};

function send(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function say(text) {
  const note = document.createElement("p");
  note.className = "problem text";
  note.setAttribute("role", "alert");
  note.textContent = text;
  main.prepend(note);
  resize();
}

function resize() {
  send({ method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight } });
}

// show puts what a tool of the server gave into the page.
function show(result) {
  const next = result?.structuredContent;
  if (result?.isError || !next?.html) return say(result?.content?.[0]?.text ?? "The server gave nothing to show.");
  if (next.version !== undefined && next.version === shown.version) return;
  shown = next;
  main.innerHTML = next.html;
  for (const each of main.querySelectorAll("a")) each.removeAttribute("href");
  const actions = main.querySelector("form.answer .actions");
  if (actions && main.querySelector("textarea[name=comment]")) {
    const notes = document.createElement("button");
    notes.type = "button";
    notes.textContent = "Give notes";
    notes.addEventListener("click", giveNotes);
    actions.append(" ", notes);
  }
  resize();
}

async function call(name, given) {
  return request("tools/call", { name, arguments: given });
}

// unsent says where else an answer counts: some clients show a page and pass none of its calls on.
function unsent(why) {
  say("This client did not pass the answer on (" + why + "). Answer in the hub (savant hub), or with: savant approve " + shown.run_id + " " + shown.step_id);
}

// giveNotes sends what was written to the conversation. It decides nothing.
function giveNotes() {
  const text = main.querySelector("textarea[name=comment]").value.trim();
  if (text === "") return say("Write the notes first.");
  tell("Notes on step " + shown.step_id + " of run " + shown.run_id + ", which still waits for a decision:\n" + text);
}

// tell puts a text into the conversation, or, in a client that takes none, before the model for its next turn.
function tell(text) {
  const content = [{ type: "text", text }];
  request("ui/message", { role: "user", content })
    .catch(() => request("ui/update-model-context", { content }))
    .catch(() => say("This client takes no message: tell the model to go on."));
}

// dress takes the colours of the client, which may be others than those of the system.
const dark = [...document.styleSheets[0].cssRules].find((rule) => rule.conditionText?.includes("prefers-color-scheme"));
function dress(context) {
  if (!context?.theme) return;
  dark.media.mediaText = context.theme === "dark" ? "all" : "not all";
  document.documentElement.style.colorScheme = context.theme;
}

// codeOf computes the code of an answer. Only this page has the key, and it is good for one answer.
async function codeOf(parts) {
  const bytes = (text) => new TextEncoder().encode(text);
  const imported = await crypto.subtle.importKey("raw", bytes(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const sum = await crypto.subtle.sign("HMAC", imported, bytes(parts.join("\n")));
  return [...new Uint8Array(sum)].map((each) => each.toString(16).padStart(2, "0")).join("");
}

// renew reads this page once more for a key: a client may show a page that it had read before.
async function renew() {
  const read = await request("resources/read", { uri: PAGE }).catch(() => undefined);
  const found = /^<script>let key = "(\w+)"/m.exec(read?.contents?.[0]?.text ?? "");
  if (found) key = found[1];
  return found !== null;
}

// A client may forbid forms, so the buttons are taken and not the submission.
main.addEventListener("click", async (event) => {
  const button = event.target.closest("form.answer button:not([type=button])");
  if (!button) return;
  event.preventDefault();
  if (!event.isTrusted) return;
  if (!crypto.subtle) return unsent("a page cannot sign here");
  const form = new URLSearchParams(new FormData(button.form, button)).toString();
  const { workflow, run_id, step_id, digest } = shown;
  const decide = async () => call("app_decide", { workflow, run_id, step_id, digest, form, code: await codeOf([workflow, run_id, step_id, digest, form]) });
  try {
    let result = await decide();
    if (result.structuredContent?.error === "APPROVAL_REQUIRED" && (await renew())) result = await decide();
    show(result);
    if (result.structuredContent?.recorded) tell("Step " + step_id + " of run " + run_id + " is answered. Go on with think_next, its step_id and no result_snapshot.");
  } catch (failed) {
    unsent(failed.message);
  }
});

// follow keeps a run as it is now, until it has ended or cannot be shown.
let next;
async function follow() {
  clearTimeout(next);
  if (shown.version === undefined || shown.ended) return;
  try {
    const result = await call("app_run", { workflow: shown.workflow, run_id: shown.run_id });
    if (result.isError) throw new Error(result.content?.[0]?.text);
    show(result);
    next = setTimeout(follow, 2000);
  } catch (failed) {
    say("The run is followed no longer: " + failed.message);
  }
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || message?.jsonrpc !== "2.0") return;
  if (message.method === undefined) {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) asked?.reject(new Error(message.error.message));
    else asked?.resolve(message.result);
  } else if (message.method === "ui/notifications/tool-result") {
    show(message.params);
    clearTimeout(next);
    next = setTimeout(follow, 2000);
  } else if (message.method === "ui/notifications/host-context-changed") {
    dress(message.params);
  } else if (message.id !== undefined) {
    send(message.method === "ping" || message.method === "ui/resource-teardown" ? { id: message.id, result: {} } : { id: message.id, error: { code: -32601, message: "Method not found" } });
  }
});

request("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "savant", version: "1" }, appCapabilities: {} }).then((result) => {
  dress(result.hostContext);
  send({ method: "ui/notifications/initialized" });
});
