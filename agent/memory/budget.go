package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Budget bounds a snapshot, in characters of JSON: about 4,000 tokens. Above it, a run
// of more than wholeSteps steps keeps only the latest wholeSteps in full.
const (
	Budget     = 16_000
	wholeSteps = 5
)

// Bounds of the parts of a snapshot, in bytes.
const (
	maxSummary  = 3000
	maxGoal     = 1000
	maxFinal    = 2000
	maxDetails  = 200
	maxFailures = 5
	maxLine     = 160
	minText     = 20 // of each text
)

// View is the memory within its budget: the latest steps, and a summary of the
// Omitted ones before them.
type View struct {
	Summary string
	Omitted int
	Steps   []Step
}

// sizedStep is a step with its size and summary line.
type sizedStep struct {
	Step
	line string // of the summary
	size int
}

// view returns the latest steps that fit into budget characters.
func view(steps []sizedStep, budget int) View {
	omitted, summarized := 0, ""
	if !fits(steps, budget) && len(steps) > wholeSteps {
		omitted = len(steps) - wholeSteps
		summarized = summary(steps[:omitted])
		budget -= size(summarized)
	}
	whole := steps[omitted:]
	v := View{Summary: summarized, Omitted: omitted, Steps: stepsOf(whole)}
	if !fits(whole, budget) {
		v.Steps = fitSteps(v.Steps, budget)
	}
	return v
}

func stepsOf(list []sizedStep) []Step {
	steps := make([]Step, len(list))
	for i, each := range list {
		steps[i] = each.Step
	}
	return steps
}

// fits reports whether steps need at most budget characters.
func fits(steps []sizedStep, budget int) bool {
	for _, each := range steps {
		budget -= each.size + 1 // 1 for the comma
	}
	return budget >= 0
}

// size returns the characters of the JSON of a value.
func size(value any) int { return utf8.RuneCount(jsonvalue.Encoded(value)) }

// summary has one line for each step: the latest that fit, in order.
func summary(steps []sizedStep) string {
	first, length := len(steps), 0
	for first > 0 && length+len(steps[first-1].line)+1 <= maxSummary {
		first--
		length += len(steps[first].line) + 1
	}
	var lines []string
	if first > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier steps are left out)", first))
	}
	for _, each := range steps[first:] {
		lines = append(lines, each.line)
	}
	return strings.Join(lines, "\n")
}

// summarize returns the line of one step: its calls, and the beginning of what
// each returned.
func summarize(step Step) string {
	if len(step.Calls) == 0 {
		return fault.Cut(fmt.Sprintf("%d %s: %s", step.Index, step.Action, oneLine(cmp.Or(step.Reasoning, step.Final, step.Error))), maxLine)
	}
	parts := make([]string, len(step.Calls))
	for i, each := range step.Calls {
		result := oneLine(string(each.Output))
		if each.Error != nil {
			result = each.Error.Error()
		}
		part := fmt.Sprintf("%s %s -> %s", each.Tool, fault.Cut(string(each.Args), maxLine/3), result)
		parts[i] = fault.Cut(part, max(maxLine/len(parts), maxLine/4))
	}
	return fault.Cut(fmt.Sprintf("%d %s", step.Index, strings.Join(parts, "; ")), 2*maxLine)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(fault.Cut(text, 4*maxLine)), " ")
}

// fitSteps cuts the longest texts of steps first, to a limit that shrinks until the
// steps fit.
func fitSteps(steps []Step, budget int) []Step {
	for limit := 4000; ; limit -= limit/5 + 1 {
		made, left := make([]Step, len(steps)), budget
		for i, each := range steps {
			made[i] = each.cut(limit)
			left -= size(made[i]) + 1
		}
		if limit < minText || left >= 0 {
			return made
		}
	}
}

// cut returns the step with texts of at most limit bytes. A very small limit also drops
// all calls but the first.
func (s Step) cut(limit int) Step {
	s.Reasoning, s.Final, s.Error = fault.Cut(s.Reasoning, limit), fault.Cut(s.Final, limit), fault.Cut(s.Error, limit)
	calls := make([]Call, 0, len(s.Calls))
	for i, each := range s.Calls {
		if limit < minText && i == wholeSteps {
			calls = append(calls, Call{Tool: "…", Note: fmt.Sprintf("and %d more calls", len(s.Calls)-i)})
			break
		}
		calls = append(calls, each.cut(limit))
	}
	s.Calls = calls
	return s
}

func (c Call) cut(limit int) Call {
	if len(c.Args) > limit {
		c.Args = text(string(c.Args), limit)
	}
	if c.Error != nil {
		c.Error = &fault.Error{Code: c.Error.Code, Details: fault.Cut(c.Error.Details, min(limit, maxDetails))}
	}
	if len(c.Output) > limit {
		return c.cutOutput(limit)
	}
	return c
}

// cutOutput returns the call with the beginning of its output, and a note.
func (c Call) cutOutput(limit int) Call {
	whole, size := string(c.Output), len(c.Output)
	if c.Cut { // it is a JSON string already
		var beginning string
		if json.Unmarshal(c.Output, &beginning) == nil {
			whole = beginning
		}
	}
	c.Output, c.Cut = text(whole, limit), true
	c.Note = fmt.Sprintf("cut from %d bytes", size)
	if c.Artifact != "" {
		c.Note += "; whole in " + c.Artifact
	}
	return c
}

// text returns the beginning of a text as a JSON string of about limit bytes,
// escapes included.
func text(whole string, limit int) json.RawMessage {
	for cut := limit; ; cut /= 2 {
		data := jsonvalue.Encoded(fault.Cut(whole, cut))
		if len(data) <= limit+2 || cut < 4 {
			return data
		}
	}
}
