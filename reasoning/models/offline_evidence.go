package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"savant/fault"
	"savant/reasoning"
)

// evidence is what the steps so far have brought, read back from the request.
type evidence struct {
	goal     string
	searches []string // queries asked
	rows     []row
	reads    []reading
	others   []reasoning.Outcome
	// rounds is how many steps searched; readAfterFollowUp says that a step
	// after the second of them read.
	rounds            int
	readAfterFollowUp bool
	readFailed        bool
	failed            int
	// failures are sentences for the answer.
	failures []string
}

// row is one hit of a search.
type row struct {
	Path    string  `json:"path"`
	Line    int     `json:"line"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
	rank    int
}

// reading is a range of a file that was read.
type reading struct {
	path  string
	start int
	lines []string
}

func (r reading) holds(at place) bool {
	return r.path == at.path && at.line >= r.start && at.line < r.start+len(r.lines)
}

// gather reads the outcomes of the run, those of the last step too where
// memory does not have them yet.
func gather(request reasoning.Request, kit toolkit) evidence {
	found := evidence{goal: request.Goal}
	steps := request.Memory.Steps
	if len(request.LastOutput) > 0 && !remembered(steps, request.LastOutput) {
		steps = append(steps[:len(steps):len(steps)], reasoning.Step{Outcomes: request.LastOutput})
	}
	for i, step := range steps {
		outcomes := step.Outcomes
		if i == len(steps)-1 && len(request.LastOutput) > 0 {
			outcomes = request.LastOutput // whole, where memory may have cut it
		}
		found.take(outcomes, kit)
	}
	return found
}

// remembered says whether the newest step of memory made the same calls.
func remembered(steps []reasoning.Step, last []reasoning.Outcome) bool {
	if len(steps) == 0 {
		return false
	}
	newest := steps[len(steps)-1].Outcomes
	if len(newest) != len(last) {
		return false
	}
	for i := range last {
		if newest[i].ToolName != last[i].ToolName || !sameJSON(newest[i].Args, last[i].Args) {
			return false
		}
	}
	return true
}

func sameJSON(a, b json.RawMessage) bool {
	var left, right bytes.Buffer
	if json.Compact(&left, a) != nil || json.Compact(&right, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(left.Bytes(), right.Bytes())
}

// take adds the outcomes of one step.
func (e *evidence) take(outcomes []reasoning.Outcome, kit toolkit) {
	searched := false
	for _, outcome := range outcomes {
		isSearch := kit.search != nil && outcome.ToolName == kit.search.name
		isRead := kit.read != nil && outcome.ToolName == kit.read.name
		searched = searched || isSearch
		if isRead && e.rounds >= 2 {
			e.readAfterFollowUp = true
		}
		switch {
		case outcome.Error != nil:
			e.failed++
			e.readFailed = e.readFailed || isRead
			e.failures = append(e.failures, fmt.Sprintf("%s failed: %s", outcome.ToolName, fault.Cut(outcome.Error.Error(), 200)))
		case isSearch:
			e.takeSearch(outcome, kit)
		case isRead:
			e.takeRead(outcome, kit)
		default:
			e.others = append(e.others, outcome)
		}
	}
	if searched {
		e.rounds++
	}
}

func (e *evidence) takeSearch(outcome reasoning.Outcome, kit toolkit) {
	var args map[string]any
	if json.Unmarshal(outcome.Args, &args) == nil {
		query, _ := args[kit.search.query].(string)
		e.searches = append(e.searches, query)
	}
	var result struct {
		Rows []row `json:"rows"`
	}
	if json.Unmarshal(begun(outcome, `},{`, `}]}`), &result) != nil {
		e.failures = append(e.failures, "the hits of "+outcome.ToolName+" cannot be read")
		return
	}
	for i, each := range result.Rows {
		if !repeats(each.Snippet, e.goal) {
			each.rank = i
			e.rows = append(e.rows, each)
			e.readHit(each, kit)
		}
	}
}

// readHit takes the line of a hit for what was read where nothing can read more.
func (e *evidence) readHit(hit row, kit toolkit) {
	if kit.read == nil && hit.Path != "" && hit.Snippet != "" {
		e.reads = append(e.reads, reading{path: hit.Path, start: max(1, hit.Line), lines: strings.Split(hit.Snippet, "\n")})
	}
}

// repeats says that a line holds the goal itself, as tests and examples do: it
// is no answer to it.
func repeats(text, goal string) bool {
	return len(strings.Fields(goal)) > 2 && strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimSpace(goal)))
}

func (e *evidence) takeRead(outcome reasoning.Outcome, kit toolkit) {
	var result struct {
		Path      string `json:"path"`
		Text      string `json:"text"`
		StartLine int    `json:"start_line"`
	}
	if json.Unmarshal(begun(outcome, `\n`, `"}`), &result) != nil || result.Path == "" {
		e.readFailed = true
		e.failures = append(e.failures, "what "+outcome.ToolName+" answered cannot be read")
		return
	}
	if outcome.Cut && result.StartLine == 0 { // it stands behind the text
		var args map[string]json.RawMessage
		if json.Unmarshal(outcome.Args, &args) != nil || json.Unmarshal(args[kit.read.startLine], &result.StartLine) != nil {
			return
		}
	}
	lines := strings.Split(strings.TrimSuffix(result.Text, "\n"), "\n")
	e.reads = append(e.reads, reading{path: result.Path, start: max(1, result.StartLine), lines: lines})
}

// begun returns the result of a call. Of one that memory cut it is what came
// before the last separator that can be closed to JSON again: whole rows of a
// search, whole lines of a reading.
func begun(outcome reasoning.Outcome, separator, closing string) json.RawMessage {
	var text string
	if !outcome.Cut || json.Unmarshal(outcome.Result, &text) != nil {
		return outcome.Result
	}
	for end := strings.LastIndex(text, separator); end > 0; end = strings.LastIndex(text[:end], separator) {
		if closed := json.RawMessage(text[:end] + closing); json.Valid(closed) {
			return closed
		}
	}
	return outcome.Result
}
