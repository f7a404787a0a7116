package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Budget is the most that a snapshot has, in characters of JSON: about 4,000
// tokens. Over it, and with more than wholeSteps steps, only that many steps stay
// whole.
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
	minText     = 20 // of each text; less room than that is not enough
)

// View is the memory within its budget: the latest steps, and a summary of the
// Omitted ones before them.
type View struct {
	Summary string
	Omitted int
	Steps   []Step
}

// view returns the steps that fit into so many characters. lines has a line for
// the summary of each step.
func view(steps []Step, lines []string, budget int) View {
	if fits(steps, budget) {
		return View{Steps: steps}
	}
	v := View{Steps: steps}
	if len(steps) > wholeSteps {
		v.Omitted = len(steps) - wholeSteps
		v.Steps = steps[v.Omitted:]
		v.Summary = summary(lines[:v.Omitted])
		budget -= size(v.Summary)
	}
	if !fits(v.Steps, budget) {
		v.Steps = shortened(v.Steps, budget)
	}
	return v
}

// fits says whether steps need at most so many characters.
func fits(steps []Step, budget int) bool {
	for _, each := range steps {
		if budget -= size(each) + 1; budget < 0 { // 1 for the comma
			return false
		}
	}
	return true
}

// size returns the characters of the JSON of a value.
func size(value any) int { return utf8.RuneCount(encoded(value)) }

// encoded returns the JSON of a value. What is remembered always has one: it was
// written to the journal before.
func encoded(value any) json.RawMessage {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// summary has one line for each step: the latest that fit, in order.
func summary(lines []string) string {
	first, length := len(lines), 0
	for first > 0 && length+len(lines[first-1])+1 <= maxSummary {
		first--
		length += len(lines[first]) + 1
	}
	text := strings.Join(lines[first:], "\n")
	if first > 0 {
		text = fmt.Sprintf("(%d earlier steps are not told)\n", first) + text
	}
	return text
}

// summarize returns the line of one step: its calls, and the beginning of what
// each returned.
func summarize(step Step) string {
	if len(step.Calls) == 0 {
		return fault.Cut(fmt.Sprintf("%d %s: %s", step.Index, step.Action, oneLine(step.Reasoning)), maxLine)
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

// shortened cuts the texts of steps to a limit that shrinks until they fit, so
// that only the largest are cut if that is enough.
func shortened(steps []Step, budget int) []Step {
	for limit := 4000; ; limit -= limit/5 + 1 {
		made := make([]Step, len(steps))
		for i, each := range steps {
			made[i] = each.cut(limit)
		}
		if limit < minText || fits(made, budget) {
			return made
		}
	}
}

// cut returns the step with texts of at most limit bytes. With hardly any room
// it has only the first of its calls.
func (s Step) cut(limit int) Step {
	s.Reasoning = fault.Cut(s.Reasoning, limit)
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
		data := encoded(fault.Cut(whole, cut))
		if len(data) <= limit+2 || cut < 4 {
			return data
		}
	}
}
