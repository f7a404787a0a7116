package telemetry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/visible"
)

// maxArgs is how many bytes of a call's arguments a readable line shows, maxFinal how
// many of an answer.
const (
	maxArgs  = 160
	maxFinal = 200
)

// Line formats an event as one readable line; "" for a type that only the trace shows:
// `1 tool context.fts_search {"query":"indexer"} 89ms`.
func Line(e Event) string {
	var text string
	switch e.Type {
	case RunStarted:
		text = "started without a goal"
		if goal := e.Text("goal"); goal != "" {
			text = "started " + strconv.Quote(goal)
		}
	case ToolCallCompleted:
		if e.Status != "denied" { // a denial has its own line
			text = callLine(e)
		}
	case LLMCall:
		if e.Text("switch") != "" { // a failure is shown as a retry or at the end
			text = stepOf(e) + callOfModel(e)
		}
	case ReasoningStep:
		text = decisionLine(e)
	case PolicyDenied:
		text = fmt.Sprintf("%d denied %s by %s", e.Step, e.ToolName, e.Text("rule"))
	case Retry:
		text = strings.TrimSpace(fmt.Sprintf("%d retry %s", e.Step, e.ToolName)) + pause(e) + failure(e)
	case Error:
		text = fmt.Sprintf("%d error%s", e.Step, failure(e))
	case RunFinished:
		text = finalLine(e)
	default:
		return ""
	}
	return visible.Line(strings.TrimSpace(text))
}

func callLine(e Event) string {
	text := e.ToolName
	if e.Step > 0 {
		text = fmt.Sprintf("%d tool %s", e.Step, e.ToolName)
	}
	if len(e.Args) > 0 {
		text += " " + fault.Cut(string(e.Args), maxArgs)
	}
	text += " " + Elapsed(e.DurationMS)
	if e.Status != "" && e.Status != "ok" {
		text += " " + e.Status
	}
	return text + failure(e)
}

// decisionLine returns "" for the decision to call a tool: the call has its own line.
func decisionLine(e Event) string {
	if e.Action == "tool" {
		return ""
	}
	return fmt.Sprintf("%d %s %s %s", e.Step, e.Action, fault.Cut(e.Text("decision_summary"), maxArgs), Elapsed(e.DurationMS))
}

func finalLine(e Event) string {
	return fmt.Sprintf("finished %s, steps %v, tokens %d+%d, %s%s: %s", e.Status, e.Metadata["steps"], e.PromptTokens, e.OutputTokens,
		Elapsed(e.DurationMS), failure(e), fault.Cut(e.Text("final"), maxFinal))
}

func failure(e Event) string {
	if e.Error == nil {
		return ""
	}
	return " " + e.Error.Code + ": " + fault.Cut(e.Error.Details, maxArgs)
}

// pause returns the back-off before a retry, if it is long enough to mention.
func pause(e Event) string {
	if wait := number(e, "wait_ms"); wait >= 1000 {
		return " in " + Elapsed(wait)
	}
	return ""
}

// number returns a number of a new event or of one read from the trace.
func number(e Event, name string) float64 {
	switch value := e.Metadata[name].(type) {
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case float64:
		return value
	}
	return 0
}

// Text returns a text of an event's metadata, "" for none.
func (e Event) Text(name string) string {
	text, _ := e.Metadata[name].(string)
	return text
}

// Elapsed formats milliseconds for people: 0.4ms, 89ms, 1.3s.
func Elapsed(milliseconds float64) string {
	switch {
	case milliseconds > 0 && milliseconds < 0.05:
		return "<0.1ms"
	case milliseconds < 1:
		return strconv.FormatFloat(milliseconds, 'f', 1, 64) + "ms"
	case milliseconds < 999.5:
		return strconv.FormatFloat(milliseconds, 'f', 0, 64) + "ms"
	}
	took := time.Duration(min(milliseconds*float64(time.Millisecond), 1<<62)) // clocks jump, also by more than a duration holds
	if took < time.Hour {
		return took.Round(100 * time.Millisecond).String()
	}
	return strings.Replace(strings.TrimSuffix(took.Round(time.Minute).String(), "0s"), "h0m", "h", 1)
}
