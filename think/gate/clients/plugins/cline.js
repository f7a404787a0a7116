// Savant's gate for Cline. While a run of a workflow is open in a conversation, only the
// call that Savant issued passes. Cline has no hook that keeps a turn from ending.
// Written by `savant hook cline --plugin`; it asks the program below about each event.
import { ask, refusal, STEPS } from "./ask.js"

const LIMIT_MS = 2500 // Cline waits for three seconds, and then lets the tool pass

// untold are, by session, the results of Think's calls that Savant could not be told of.
// It is told before the next call, because it learns from them which run is open.
const untold = new Map()

async function tell(result, until = Date.now() + LIMIT_MS) {
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
      const result = event("PostToolUse", context, { tool_response: context.result })
      if (STEPS.test(context.toolCall.toolName)) await tell(result)
      else await ask(result, Date.now() + LIMIT_MS) // rules look at it
      return undefined
    },
  },
}
