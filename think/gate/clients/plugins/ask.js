import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs"
import { dirname, join } from "node:path"

const COMMAND = ["savant"]

// gated are the sessions that called Think: where Savant cannot be asked, no tool of
// theirs passes.
const gated = new Set()

// STEPS are the tools by which a session begins and continues a run.
export const STEPS = /think[._](plan|next|reset)(_[0-9a-z]+)?$/

// unheard says that nobody asks for a call: no folder that the program would look at has
// rules, packages or a session that is held to a run; before a call, none in which Think was
// used, since there the tools of each session are noted.
function unheard(event) {
  const before = event.hook_event_name === "PreToolUse"
  if (!before && event.hook_event_name !== "PostToolUse" || /think/i.test(event.tool_name)) return false
  try {
    for (const folder of [process.env.SAVANT_PATH, COMMAND.includes("--path") && COMMAND[COMMAND.indexOf("--path") + 1], event.cwd || process.cwd()]) {
      for (let at = folder && existsSync(folder) ? realpathSync(folder) : ""; at; at = dirname(at) === at ? "" : dirname(at)) {
        if (existsSync(join(at, "rules")) || existsSync(join(at, "workflows.lock"))) return false
        const hooks = join(at, ".savant", "hooks")
        if (before && existsSync(hooks)) return false
        if (existsSync(hooks) && readdirSync(hooks).some((home) => statSync(join(hooks, home)).isDirectory() && readdirSync(join(hooks, home)).some((name) => name.endsWith(".json")))) return false
      }
    }
    return true
  } catch {
    return false
  }
}

// held says whether the session may have an open run in the folder or above it: Savant keeps
// a file for each, which is there after a restart of the client, too.
function held(session, folder) {
  if (gated.has(session)) return true
  for (let at = folder; at; at = dirname(at) === at ? "" : dirname(at)) {
    const hooks = join(at, ".savant", "hooks")
    try {
      const own = process.platform === "win32" ? "0-" : `${statSync(hooks, { bigint: true }).ino}-` // a clone does not know it
      for (const home of readdirSync(hooks).filter((name) => name.startsWith(own))) {
        for (const name of readdirSync(join(hooks, home))) {
          if (name.endsWith(".json") && readFileSync(join(hooks, home, name), "utf8").includes(`"session":${JSON.stringify(session)}`)) return true
        }
      }
    } catch {} // no such folder
  }
  return false
}

export function refusal(why) {
  return { decision: "deny", reason: `Refused: Savant's gate could not be asked (${why}). Tell the person.` }
}

// ask sends an event to Savant and returns its decision. unasked marks one that was made
// without Savant, which did not answer before the time until.
export function ask(event, until) {
  if (unheard(event)) return Promise.resolve({})
  if (/think[._](plan|next)(_[0-9a-z]+)?$/.test(event.tool_name ?? "")) gated.add(event.session_id)
  const failed = (why) => ({ unasked: true, ...(event.hook_event_name === "PreToolUse" && held(event.session_id, event.cwd) && refusal(why)) })
  return new Promise((resolve) => {
    let child
    try {
      child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    } catch (error) {
      return resolve(failed(error.message))
    }
    const timer = setTimeout(() => { child.kill("SIGKILL"); resolve(failed("no answer in time")) }, Math.max(until - Date.now(), 0))
    let out = ""
    child.stdout.on("data", (part) => { out += part })
    child.stdin.on("error", () => {})
    child.on("error", (error) => { clearTimeout(timer); resolve(failed(error.message)) })
    child.on("close", (status) => {
      clearTimeout(timer)
      try {
        resolve(status === 0 ? JSON.parse(out || "{}") : failed(`exit status ${status}`))
      } catch {
        resolve(failed("its answer is no JSON"))
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}
