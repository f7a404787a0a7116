package telemetry

import (
	"fmt"
	"strings"

	"savant/fault"
	"savant/internal/visible"
)

// RuntimeLine formats an event as a line of logs/agent_runtime.log, which says what
// took how long: `2 tool_call(git.log) → 89ms {"limit":3}`.
func RuntimeLine(e Event) string {
	var text string
	switch e.Type {
	case RunStarted:
		text = fmt.Sprintf("Session started: %q, decided by %s, %v tools", e.Text("goal"), e.Text("decider"), e.Metadata["tools"])
	case PromptSnapshot:
		text = stepOf(e) + fmt.Sprintf("build_prompt → %d tokens", e.PromptTokens)
		if cut := number(e, "left_out"); cut > 0 {
			text += fmt.Sprintf(", %.0f left out", cut)
		}
	case LLMCall:
		text = stepOf(e) + callOfModel(e)
	case ReasoningStep:
		text = stepOf(e) + strings.TrimRight(fmt.Sprintf("parse_output → %s %s", e.Action, e.ToolName), " ")
		if summary := e.Text("decision_summary"); e.Action != "error" && summary != "" && summary != e.ToolName {
			text += ": " + fault.Cut(summary, maxArgs)
		}
		text += " (" + Elapsed(e.DurationMS) + ")"
	case ToolCallCompleted:
		text = stepOf(e) + fmt.Sprintf("tool_call(%s) → %s", e.ToolName, Elapsed(e.DurationMS))
		if e.Status != "" && e.Status != "ok" {
			text += " " + e.Status
		}
		if len(e.Args) > 0 {
			text += " " + fault.Cut(string(e.Args), maxArgs)
		}
		text += failure(e)
	case PolicyDenied: // the call has its own line
	case Error:
		if e.Metadata["attempt"] == nil && e.Metadata["ends_run"] != true { // the last line says why a run ended
			text = Line(e)
		}
	case MemorySnapshot:
		text = stepOf(e) + fmt.Sprintf("update_memory → %s, %v bytes", count(e.Metadata["steps"], "step"), e.Metadata["bytes"])
	case RunFinished:
		text = sessionLine(e)
	default:
		text = Line(e)
	}
	return visible.Line(strings.TrimSpace(text))
}

// stepOf returns the agent's step, or the workflow's, that an event belongs to.
func stepOf(e Event) string {
	switch {
	case e.Step > 0:
		return fmt.Sprintf("%d ", e.Step)
	case e.StepID != "":
		return e.Workflow + "/" + e.StepID + " "
	}
	return ""
}

// callOfModel returns which model was called, its tokens and time, and why this model
// was chosen.
func callOfModel(e Event) string {
	name := e.Model
	if name == "" { // an external service need not name it
		name, _ = e.Metadata["provider"].(string)
	}
	tokens := fmt.Sprintf("%d+%d tokens", e.PromptTokens, e.OutputTokens)
	if e.PromptTokens+e.OutputTokens == 0 && e.Status == "ok" && e.Metadata["cache"] != true {
		tokens = "tokens unknown"
	}
	text := fmt.Sprintf("llm_call(%s) → %s, %s", name, Elapsed(e.DurationMS), tokens)
	if e.Metadata["cache"] == true {
		text += ", from the cache"
	}
	if again := number(e, "retry"); again > 0 {
		text += fmt.Sprintf(", retry %.0f", again)
	}
	if why := e.Text("switch"); why != "" {
		text += ", switched to it: " + why
	}
	return text + failure(e)
}

func sessionLine(e Event) string {
	ended := "Session complete"
	if e.Status != "ok" {
		ended = "Session ended (" + e.Status + ")"
	}
	text := fmt.Sprintf("%s: %s, %s, %s; %d+%d tokens, %s", ended, count(e.Metadata["steps"], "step"), count(e.Metadata["tool_calls"], "tool"),
		count(e.Metadata["finishes"], "finish"), e.PromptTokens, e.OutputTokens, Elapsed(e.DurationMS))
	if cost, priced := e.Metadata["cost"].(float64); priced {
		text += fmt.Sprintf(", cost %.4f", cost)
	}
	if models, partial := e.Metadata["unpriced"].([]any); partial {
		names := make([]string, len(models))
		for i, model := range models {
			names[i] = fmt.Sprint(model)
		}
		text += ", no price for " + strings.Join(names, ", ")
	}
	return text + failure(e) + ": " + fault.Cut(e.Text("final"), maxFinal)
}

// count returns a number with its noun: 1 step, 2 steps, 0 finishes.
func count(number any, noun string) string {
	n, _ := number.(int)
	if read, is := number.(float64); is { // from a line of the trace
		n = int(read)
	}
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "sh"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
