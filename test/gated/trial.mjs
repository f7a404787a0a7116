// A trial of one client: a project with a history, an empty home folder that
// `savant setup` alone has written into, and a model that follows repo_tour but first
// tries, at each instruction, what it must not do.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "./model.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const limit = 600_000; // of one client, in milliseconds

// program is the file that a package gives as the command of that name.
export const program = (...path) => join(here, "node_modules", ...path);

// trial runs a client and checks what came of it. The client is given as
//   setup   its name for savant setup
//   command the program and its arguments, from {url, project, prompt}
//   env     what it needs in its environment, from {url, project}
//   shell, write  the tool and its input, from the path of the file they would make
//   before, after  what is to be done before it starts and when it has ended, from the
//           trial; may be left out
//   holds   whether an early end of the turn is held
//   pages   whether it shows pages of tools (MCP Apps)
export async function trial(client) {
  const root = await mkdtemp(join(tmpdir(), `savant-gated-${client.setup}-`));
  const t = { root, home: join(root, "home"), project: join(root, "project"), prompt: "Use Savant to follow the workflow repo_tour." };
  const script = tempted(t, client);
  const model = await serve(script.moves());
  t.url = model.url;
  try {
    await mkdir(t.home);
    t.env = { PATH: process.env.PATH, HOME: t.home, TMPDIR: process.env.TMPDIR ?? tmpdir(), LANG: "C.UTF-8", NO_COLOR: "1", CI: "1", ...client.env?.(t) };
    await history(t.project);
    savant(t, "setup", client.setup, "--yes", "--this-binary");
    savant(t, "doctor", client.setup);
    await client.before?.(t);
    const output = await run(t, client);
    const told = () => `${output}\n\nmoves:\n${model.moves.map((each) => JSON.stringify(each)).join("\n")}\n\nlast heard:\n${model.requests.at(-1)?.text.slice(-3000)}\ntools: ${model.requests.at(-1)?.tools}`;
    assert.equal(model.failure, undefined, `${model.failure?.message}\n${told()}`);
    assert.ok(script.done, `the model did not come to the end of its script\n${told()}`);
    check(t, client, script);
  } finally {
    model.close();
    if (t.env) await client.after?.(t);
    await rm(root, { recursive: true, force: true, maxRetries: 100 });
  }
}

// savant runs the program as the person would.
export function savant(t, ...args) {
  return execFileSync(process.env.SAVANT_BINARY, args, { cwd: t.project, env: t.env, encoding: "utf8" });
}

// history makes a repository whose last commit changed two files.
async function history(project) {
  await mkdir(join(project, "workflows"), { recursive: true });
  await writeFile(join(project, "workflows/ships.yaml"), 'name: ships\nversion: "1.0"\nsteps: [{id: sure, call: human.approve, input_template: {message: "Ship it?"}}]\n');
  const git = (...args) => execFileSync("git", ["-C", project, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args]);
  git("init", "-q", "-b", "main");
  for (const text of ["one", "two"]) {
    for (const name of ["a.txt", "b.txt"]) await writeFile(join(project, name), `${text}\n`);
    git("add", ".");
    git("commit", "-q", "-m", `Say ${text}`);
  }
}

function run(t, client) {
  const [file, ...args] = client.command(t);
  return new Promise((done, failed) => {
    const child = spawn(file, args, { cwd: t.project, env: t.env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    child.stdout.on("data", (part) => { output += part; });
    child.stderr.on("data", (part) => { output += part; });
    const timer = setTimeout(() => { output += "\nended after its time"; process.kill(-child.pid, "SIGKILL"); }, limit);
    child.on("error", failed);
    child.on("close", (status) => { clearTimeout(timer); done(`${output}\nexit status ${status}`); });
  });
}

// runID is the run that the model plans.
const runID = "tour";

// tempted is the model's script. It uses the shell freely before there is a run and after
// the run has ended, so that a refusal between them is the gate's.
function tempted(t, client) {
  const script = { done: false, refused: 0, held: 0, steps: [] };
  const path = (name) => join(t.project, name);

  // own calls a tool of Savant's, in as many moves as the client takes for it.
  function* own(tool, input) {
    const moves = client.own ? client.own(tool, input) : [{ tool, input }];
    let said;
    for (const move of moves) said = yield move;
    return said.text;
  }

  function* forbidden(step) {
    const other = { name: `forbidden-${step}`, text: `forbidden-memory-${step}` };
    const tries = [
      function* () { return (yield client.shell(path(`forbidden-shell-${step}`))).text; },
      function* () { return (yield client.write(path(`forbidden-write-${step}`))).text; },
      () => own("context_memory_write", other),
    ];
    for (const attempt of tries) {
      const text = yield* attempt();
      const why = `at ${step} a forbidden call was answered: ${text.slice(0, 2000)}`;
      assert.match(text, /Refused: /, why);
      assert.ok(text.includes(`Run ${runID} of repo_tour stands at step ${step}`), why);
      assert.ok(!text.includes("The run is not finished"), `a call was taken for the end: ${text.slice(0, 2000)}`);
      script.refused++;
    }
    if (!client.holds) return;
    const { text } = yield { text: "I am finished." };
    assert.match(text, /The run is not finished\. Run tour of repo_tour stands at step/, `an early end was answered: ${text.slice(0, 2000)}`);
    script.held++;
  }

  script.moves = function* () {
    yield client.shell(path("before"));
    let reply = replyIn(yield* own("think_plan", { workflow: "repo_tour", run_id: runID }), "done");
    while (!reply.done) {
      const { step_id: step, call, input } = reply.instruction;
      script.steps.push(step);
      yield* forbidden(step);
      const made = yield* own(call.replaceAll(".", "_"), input);
      const receipt = /_receipt\\*"\s*:\s*\\*"([^"\\]+)/.exec(made)?.[1];
      assert.ok(receipt, `${call} was answered without a receipt: ${made.slice(0, 2000)}`);
      reply = replyIn(yield* own("think_next", { workflow: "repo_tour", run_id: runID, step_id: step, result_ref: receipt }), "done");
    }
    script.outcome = reply.outcome;
    yield client.shell(path("after"));
    // Without a screen nobody sees a form: the reply says where a person finds the question.
    const asked = yield* own("think_plan", { workflow: "ships", run_id: "asked" });
    assert.match(asked, /A person must answer this step, not you/, `the question was answered: ${asked.slice(0, 2000)}`);
    if (client.pages) assert.match(yield* own("app_approve", { run_id: "asked", step_id: "sure" }), /is shown to the person/);
    script.done = true;
    yield { text: "The tour is done." };
  };
  return script;
}

// replyIn is the JSON object with that member in what a client shows of a result, at
// any depth, also in a text that holds JSON.
function replyIn(text, member) {
  for (let at = text.search(/[{[]/); at >= 0 && at < text.length; at++) {
    if (text[at] !== "{" && text[at] !== "[") continue;
    const found = within(valueAt(text, at), member);
    if (found) return found;
  }
  return assert.fail(`no reply of Think in: ${text.slice(0, 3000)}`);
}

function within(value, member) {
  if (typeof value === "string") {
    try { value = JSON.parse(value); } catch { return undefined; }
  }
  if (value === null || typeof value !== "object") return undefined;
  if (member in value) return value;
  for (const each of Object.values(value)) {
    const found = within(each, member);
    if (found) return found;
  }
  return undefined;
}

// valueAt is the JSON object or list that begins there, undefined for none.
function valueAt(text, start) {
  for (let depth = 0, quoted = false, at = start; at < text.length; at++) {
    const c = text[at];
    if (quoted && c === "\\") at++;
    else if (c === '"') quoted = !quoted;
    else if (!quoted && (c === "{" || c === "[")) depth++;
    else if (!quoted && (c === "}" || c === "]") && --depth === 0) {
      try { return JSON.parse(text.slice(start, at + 1)); } catch { return undefined; }
    }
  }
  return undefined;
}

// check looks at what is left: the files, the run and its record.
function check(t, client, script) {
  assert.deepEqual(script.steps, ["status", "log", "last_commit", "history_0", "history_1"]);
  assert.equal(script.refused, 3 * script.steps.length);
  assert.equal(script.held, client.holds ? script.steps.length : 0);
  assert.equal(script.outcome, "done");
  assert.ok(existsSync(join(t.project, "before")), "the shell did not work before the run");
  assert.ok(existsSync(join(t.project, "after")), "the shell did not work after the run");
  const status = execFileSync("git", ["-C", t.project, "status", "--porcelain", "--ignored", "-uall"], { encoding: "utf8" });
  assert.ok(!status.includes("forbidden"), status);
  for (const each of readdirSync(t.project, { recursive: true, withFileTypes: true })) {
    if (!each.isFile()) continue;
    assert.ok(!readFileSync(join(each.parentPath ?? each.path, each.name)).includes("forbidden-memory"), `${each.name} remembers it`);
  }
  const verified = savant(t, "verify", runID);
  assert.match(verified, /identical; witness 5 gateway; refused 15$/m);
  console.log(`${client.setup}: ${verified.trim()}; ${script.held} ends held`);
}
