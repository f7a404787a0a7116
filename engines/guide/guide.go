// Package guide is the engine "think": it publishes Think's steps and library as tools,
// prompts, resources and completions.
package guide

import (
	"context"
	"encoding/json"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/think"
)

// readFirst is in the descriptions of the two main tools, since some clients drop the
// server's instructions.
const readFirst = " First read think.driver_prompt once."

// Tools returns the tools of Think. hooks says how clients' hooks take part.
func Tools(e *think.Engine, hooks Hooks) []engines.Tool {
	tool := func(t engines.Tool, title string, change ...func(*engines.Tool)) engines.Tool {
		t.Title, t.ReadOnly, t.Idempotent = title, true, true
		t.Judge = judge{think: e, tool: t}
		for _, each := range change {
			each(&t)
		}
		return boundReplies(t, e)
	}
	writes := func(t *engines.Tool) { t.ReadOnly = false }
	eager := func(t *engines.Tool) { t.Eager = true }
	repeats := func(t *engines.Tool) { t.Idempotent = false }
	destroys := func(t *engines.Tool) { t.Destructive = true }
	takesParams := func(t *engines.Tool) { t.Judge = ParamsJudge(e, *t) }
	waits := func(t *engines.Tool) { t.Judge = judge{think: e, tool: *t, waiting: true} }
	return []engines.Tool{
		tool(engines.BindCall("think.plan", "Start a run of a workflow, or go on with one. Answers an instruction: do it, then call think.next."+readFirst, adapted(hooks.required(e), adaptReply)), "Start a workflow", writes, eager, takesParams),
		tool(engines.BindCall("think.next", "Give the result of the current instruction; answers the next one. Repeat until done is true. An error says what to mend and repeats the instruction."+readFirst, adapted(hooks.continues(e), adaptReply)), "Next instruction", writes, eager, waits),
		tool(engines.BindCall("think.driver_prompt", "How to follow a workflow: loop, tool names, results, errors.", adapted(driverPromptOf(e), adaptPrompt)), "Driver prompt", eager),
		tool(engines.BindCall("think.explain", "Where a run stands: steps done, skipped or failed and why, what waits, what is next. With step_id: its conditions with operands, its success schema.", adapted(hooks.explain(e), adaptExplanation)), "Explain a run"),
		tool(engines.BindCall("think.reset", "Take a run back to a checkpoint, or save one by name. The history is kept.", adapted(hooks.reset(e), adaptReset)), "Reset a run", writes, repeats, destroys),
		tool(engines.Bind("think.workflows.list", "The workflows, with their parameters.", e.Library.Catalog), "List workflows"),
		tool(engines.Bind("think.workflows.read", "A workflow: YAML, parsed form, graph, Mermaid picture.", e.Library.Read), "Read a workflow"),
		tool(engines.BindCall("think.state.get", "A run's state: steps, captures, history, checkpoints; a long one in pages, see more; or one value.", hooks.stateGet(e)), "State of a run"),
		tool(engines.Bind("think.artifact", "The value behind {\"$artifact\": ref}, in parts.", e.Artifact), "Read a long value"),
		tool(engines.Bind("think.state.list", "The runs, the last changed first.", listRuns(e)), "List runs"),
		tool(engines.Bind("think.validate", "Check a response against a schema, or a workflow by name or text.", e.Validate), "Validate"),
		tool(engines.BindCall("think.debug", "Replay a run against its record, diff or show (step) its states, or fork it.", debug(e)), "Debug a run", writes, repeats),
	}
}

// maxRuns is the maximum number of runs in one reply: about 64 KB.
const maxRuns = 300

func listRuns(e *think.Engine) func(context.Context, think.StateListInput) (*think.StateList, error) {
	return func(ctx context.Context, in think.StateListInput) (*think.StateList, error) {
		in.Limit = min(in.Limit, maxRuns)
		return e.StateList(ctx, in)
	}
}

// NoTool returns advice for a call of the language that was called as a tool
// (llm.generate, for example); the zero Hint for other names.
func NoTool(name string) fault.Hint {
	kind, rest, _ := strings.Cut(strings.ReplaceAll(name, "_", "."), ".")
	switch {
	case kind == "llm" && rest == "generate":
		return fault.Hint{Text: "llm.generate is a step that you do yourself: write what input.task asks for, as success_schema says, and send it with think.next {step_id, result_snapshot}"}
	case kind == "human" && (rest == "approve" || rest == "ask"):
		return fault.Hint{Text: "human." + rest + " is a step that only a person answers: show them its input and how to answer, wait, and then call think.next with its step_id and no result_snapshot"}
	case kind == "flow" && (rest == "set" || rest == "assert" || rest == "run"):
		return fault.Hint{Text: "flow." + rest + " is a step that Savant does itself: answer the outstanding instruction with think.next"}
	}
	return fault.Hint{}
}

// CallDigest is the method of think.Tools with a registry: INVALID_PARAMS if the tool
// refuses the arguments, UNKNOWN_TOOL and no name for an unknown tool.
func CallDigest(registry *engines.Registry, call string, input json.RawMessage) (tool, digest string, err error) {
	found, _ := registry.Resolve(call)
	digest, err = registry.InputDigest(call, input)
	return found.Name, digest, err
}
