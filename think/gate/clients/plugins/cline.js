// Savant's gate for Cline. While a run of a workflow is open in a conversation, only the
// call that Savant issued passes. Cline has no hook that keeps a turn from ending.
// Written by `savant hook cline --plugin`; it asks the program below about each event.
import { spawn } from "node:child_process"

const COMMAND = ["savant"]
const LIMIT_MS = 2500 // Cline waits for three seconds, and then lets the tool pass

// gated are the sessions that called Think: where Savant cannot be asked, no tool of
// theirs passes.
const gated = new Set()

// ask sends an event to Savant and returns its decision.
function ask(event, until = Date.now() + LIMIT_MS) {
  if (/think[._](plan|next)(_[0-9a-z]+)?$/.test(event.tool_name ?? "")) gated.add(event.session_id)
  const failed = (why) => ({ unasked: true, ...(event.hook_event_name === "PreToolUse" && gated.has(event.session_id) && refusal(why)) })
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

function refusal(why) {
  return { decision: "deny", reason: `Refused: Savant's gate could not be asked (${why}). Tell the person.` }
}

// untold are, by session, the results of Think's calls that Savant could not be told of.
// It is told before the next call, because it learns from them which run is open.
const untold = new Map()

async function tell(result, until) {
  untold.set(result.session_id, result)
  const said = await ask(result, until)
  if (!said.unasked) untold.delete(result.session_id)
  return said
}

async function decide(call) {
  const until = Date.now() + LIMIT_MS
  const late = untold.get(call.session_id)
  if (late && (await tell(late, until)).unasked) return refusal("it did not take the last result")
  return ask(call, until)
}

let folder // of the workspace
const conversations = new Map() // of each agent: that of the session which started it
const refused = new Map() // the reason, by the id of the call

function sessionOf({ agentId, parentAgentId, conversationId }) {
  const session = conversations.get(parentAgentId) ?? conversations.get(agentId) ?? conversationId ?? agentId
  conversations.set(agentId, session)
  return session
}

function event(name, { snapshot, toolCall, input }, more) {
  return { hook_event_name: name, session_id: sessionOf(snapshot), ...(snapshot.parentAgentId && { agent_id: snapshot.agentId }),
    ...(folder && { cwd: folder }), tool_name: toolCall.toolName, tool_input: input ?? toolCall.input ?? {}, tool_use_id: toolCall.toolCallId, ...more }
}

export default {
  name: "savant",
  manifest: { capabilities: ["hooks"] },
  setup(_api, context) {
    folder = context?.workspaceInfo?.rootPath
  },
  hooks: {
    async beforeTool(context) {
      const said = await decide(event("PreToolUse", context, {}))
      if (!said.decision) return undefined
      refused.set(context.toolCall.toolCallId, said.reason)
      return { skip: true, reason: said.reason }
    },
    async afterTool(context) {
      const id = context.toolCall.toolCallId
      if (refused.has(id)) { // three errors in a row would end Cline's run
        const reason = refused.get(id)
        refused.delete(id)
        return { result: { output: { refused: reason }, isError: false } }
      }
      if (/think[._](plan|next|reset)(_[0-9a-z]+)?$/.test(context.toolCall.toolName)) {
        await tell(event("PostToolUse", context, { tool_response: context.result }))
      }
      return undefined
    },
  },
}
