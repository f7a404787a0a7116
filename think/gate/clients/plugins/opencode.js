// Savant's gate for opencode. While a run of a workflow is open in a session, only the
// call that Savant issued passes, and the model's turn does not end before the run does.
// Written by `savant hook opencode --plugin`; it asks the program below about each event.
import { ask } from "./ask.js"

const LIMIT_MS = 10000
const asked = (event) => ask(event, Date.now() + LIMIT_MS)

export const Savant = async ({ client, directory }) => {
  const roots = new Map() // the session that a subagent's session belongs to

  async function rootOf(id) {
    if (roots.has(id)) return roots.get(id)
    let at = id
    for (let depth = 0; depth < 16; depth++) {
      let parent
      try {
        parent = (await client.session.get({ path: { id: at } }))?.data?.parentID
      } catch {
        return at // ask again the next time
      }
      if (!parent) break
      at = parent
    }
    roots.set(id, at)
    return at
  }

  async function event(name, id, more) {
    const root = await rootOf(id)
    return { hook_event_name: name, session_id: root, cwd: directory, ...(root !== id && { agent_id: id }), ...more }
  }

  const held = new Set() // the model's messages that a message of goOn follows
  const ended = new Map() // of each session, the promise that its last end is counted
  const ours = (part) => part.metadata?.savant === true

  // reply is a message of the model, undefined for the summary of a long session.
  async function reply(id, messageID) {
    try {
      const { info } = (await client.session.message({ path: { id, messageID } })).data
      return info.summary ? undefined : info
    } catch {
      return undefined
    }
  }

  // goOn adds a message for the agent and the model that wrote the reply.
  async function goOn(id, { mode: agent, providerID, modelID, variant }, reason) {
    try {
      const parts = [{ type: "text", text: reason, synthetic: true, metadata: { savant: true } }]
      return !(await client.session.prompt({ path: { id }, body: { noReply: true, agent, model: { providerID, modelID }, variant, parts } })).error
    } catch {
      return false // the turn may end
    }
  }

  return {
    "tool.execute.before": async (input, output) => {
      const said = await asked(await event("PreToolUse", input.sessionID, { tool_name: input.tool, tool_input: output.args ?? {}, tool_use_id: input.callID }))
      if (said.decision) throw new Error(said.reason)
    },
    "tool.execute.after": async (input, output) => {
      await asked(await event("PostToolUse", input.sessionID, { tool_name: input.tool, tool_input: input.args ?? {}, tool_use_id: input.callID, tool_response: output }))
    },
    // opencode waits for this hook, not for events. A text may be the last of the turn: a
    // message that is there before the step ends keeps the loop going.
    "experimental.text.complete": async ({ sessionID, messageID }) => {
      await ended.get(sessionID)
      const written = await reply(sessionID, messageID)
      if (!written || held.has(messageID)) return
      const said = await asked(await event("TextEnd", sessionID, {}))
      if (said.decision === "block" && await goOn(sessionID, written, said.reason)) held.add(messageID)
    },
    // Where a call followed the text, the turn was not about to end: the model does not
    // see the message.
    "experimental.chat.messages.transform": async (_, { messages }) => {
      messages.forEach((message, i) => {
        if (!message.parts.some(ours) || !messages[i - 1]?.parts.some((part) => part.type === "tool")) return
        message.parts = message.parts.filter((part) => !ours(part))
      })
    },
    // The step's end is counted, so that not every end is held for ever. A turn that ends
    // without a text is held here, if the message comes before the loop looks for it.
    event: async ({ event: happened }) => {
      const part = happened.properties?.part
      if (happened.type !== "message.part.updated" || part?.type !== "step-finish") return
      const waits = held.delete(part.messageID)
      if (part.reason === "tool-calls") return
      ended.set(part.sessionID, (async () => {
        const written = await reply(part.sessionID, part.messageID)
        if (!written) return
        const said = await asked(await event("Stop", part.sessionID, {}))
        if (said.decision === "block" && !waits) await goOn(part.sessionID, written, said.reason)
      })())
    },
  }
}
