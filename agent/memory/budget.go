package memory

import (
	"encoding/json"
	"fmt"
	"strings"

	"savant/fault"
)

// Budget is what a snapshot may have, in characters of JSON: about 4,000
// tokens. Over it, and with more than wholeSteps steps, only that many stay.
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
)

// view returns the steps that fit into so many characters. sizes holds those
// of each step, lines what each would be summarized to.
func view(steps []Step, sizes []int, lines []string, budget int) (View, bool) {
	if total(sizes) <= budget {
		return View{Steps: steps}, false
	}
	shown := View{Steps: steps}
	if len(steps) > wholeSteps {
		shown.Omitted = len(steps) - wholeSteps
		shown.Steps = steps[shown.Omitted:]
		shown.Summary = summary(lines[:shown.Omitted])
	}
	rest := budget - quotedSize(shown.Summary)
	if total(sizes[shown.Omitted:]) <= rest {
		return shown, false
	}
	shown.Steps = shortened(shown.Steps, rest)
	return shown, true
}

func total(sizes []int) int {
	sum := 0
	for _, each := range sizes {
		sum += each + 1 // the comma
	}
	return sum
}

// summary tells of steps in one line each, the latest that fit, in order: an
// extract, so that the same steps always give the same text.
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

// summarize returns the line of one step: what was called with what, and the
// beginning of what came of it.
func summarize(step Step) string {
	if len(step.Calls) == 0 {
		return fault.Cut(fmt.Sprintf("%d %s: %s", step.Index, step.Action, flat(step.Reasoning)), maxLine)
	}
	parts := make([]string, len(step.Calls))
	for i, each := range step.Calls {
		came := flat(string(each.Output))
		if each.Error != nil {
			came = each.Error.Error()
		}
		parts[i] = fmt.Sprintf("%s %s -> %s", each.Tool, fault.Cut(string(each.Args), maxLine/3), came)
	}
	each := maxLine / len(parts)
	for i := range parts {
		parts[i] = fault.Cut(parts[i], max(each, maxLine/4))
	}
	return fault.Cut(fmt.Sprintf("%d %s", step.Index, strings.Join(parts, "; ")), 2*maxLine)
}

func flat(text string) string { return strings.Join(strings.Fields(fault.Cut(text, 4*maxLine)), " ") }

// shortened cuts the texts of steps, the harder the less room there is: in
// small steps, so that only the largest are cut where that is enough.
func shortened(steps []Step, budget int) []Step {
	for limit := 4000; ; limit -= limit/5 + 1 {
		made := make([]Step, len(steps))
		for i, each := range steps {
			made[i] = each.cut(limit)
		}
		if limit < 20 || size(made) <= budget {
			return made
		}
	}
}

// cut returns the step with texts of at most limit bytes; an output that is
// cut says so and where the whole is.
func (s Step) cut(limit int) Step {
	s.Reasoning = fault.Cut(s.Reasoning, limit)
	calls := make([]Call, 0, len(s.Calls))
	for i, each := range s.Calls {
		if limit < 20 && i == wholeSteps { // dozens of calls in one step
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
	if len(c.Output) <= limit {
		return c
	}
	return c.cutOutput(limit)
}

func (c Call) cutOutput(limit int) Call {
	whole := len(c.Output)
	c.Output, c.Cut = text(beginning(c), limit), true
	c.Note = fmt.Sprintf("cut from %d bytes", whole)
	if c.Artifact != "" {
		c.Note += "; whole in " + c.Artifact
	}
	return c
}

// beginning returns an output as text; one that was cut before is text already.
func beginning(c Call) string {
	var already string
	if c.Cut && json.Unmarshal(c.Output, &already) == nil {
		return already
	}
	return string(c.Output)
}

// text returns the beginning of a text as a JSON string of about limit bytes:
// escapes count.
func text(whole string, limit int) json.RawMessage {
	for cut := limit; ; cut /= 2 {
		data, err := json.Marshal(fault.Cut(whole, cut))
		if err != nil {
			return json.RawMessage(`""`)
		}
		if len(data) <= limit+2 || cut < 4 {
			return data
		}
	}
}
