package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/reasoning"
)

// evidence is the results of earlier steps, read back from the request.
type evidence struct {
	searches   []string // the queries
	counts     counts
	rows       []row
	reads      []reading
	past       []record
	others     []reasoning.Outcome
	readFailed bool
	failed     int
	failures   []string // sentences for the answer
}

// counts has the number of files searched, and of those that contain each word.
type counts struct {
	Files int            `json:"files"`
	Words map[string]int `json:"words"`
}

// row is one hit of a search.
type row struct {
	Path    string  `json:"path"`
	Line    int     `json:"line"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
	// share is the score relative to the best hit of its search.
	share float64
}

// reading is a range of a file that was read.
type reading struct {
	path  string
	start int
	lines []string
}

// gather reads the outcomes of the run's present goal: of an earlier one the last step
// has another action than a tool or a reason, and what was found for it answers another
// question. The outcomes of the last step come from the last output, because memory may
// have cut them or lack them.
func (p *planner) gather() {
	p.found.counts.Words = map[string]int{}
	steps, last := p.request.Memory.Steps, p.request.LastOutput
	if count := len(steps); len(last) > 0 && count > 0 && steps[count-1].Index == p.request.Step-1 {
		steps = steps[:count-1]
	}
	for i, step := range slices.Backward(steps) {
		if step.Action != reasoning.ActionTool && step.Action != reasoning.ActionReason {
			steps = steps[i+1:]
			break
		}
	}
	for _, step := range steps {
		p.take(step.Outcomes)
	}
	p.take(last)
}

// take adds the outcomes of one step.
func (p *planner) take(outcomes []reasoning.Outcome) {
	e := &p.found
	for _, outcome := range outcomes {
		isSearch, isRead := p.tools.search.is(outcome), p.tools.read.is(outcome)
		switch {
		case outcome.Error != nil:
			e.failed++
			e.readFailed = e.readFailed || isRead
			e.failures = append(e.failures, fmt.Sprintf("%s failed: %s", outcome.ToolName, fault.Cut(outcome.Error.Error(), 200)))
		case isSearch:
			p.takeSearch(outcome)
		case isRead:
			p.takeRead(outcome)
		case p.question.kind == history && p.tools.log.is(outcome):
			p.takeLog(outcome)
		default:
			e.others = append(e.others, outcome)
		}
	}
}

func (p *planner) takeSearch(outcome reasoning.Outcome) {
	var query string
	_ = p.tools.search.argument(outcome, "query", &query) // the query of a cut call is empty
	p.found.searches = append(p.found.searches, query)
	var result struct {
		Counts counts `json:"counts"`
		Rows   []row  `json:"rows"`
	}
	if json.Unmarshal(wholePart(outcome, `},{`, `}]}`), &result) != nil {
		if !outcome.Cut { // in a truncated answer even the first hit may be incomplete
			p.found.failures = append(p.found.failures, "the hits of "+outcome.ToolName+" cannot be read")
		}
		return
	}
	if result.Counts.Files > 0 {
		p.found.counts.Files = result.Counts.Files
		maps.Copy(p.found.counts.Words, result.Counts.Words)
	}
	for i, each := range result.Rows {
		known := func(r row) bool { return r.Path == each.Path && r.Line == each.Line }
		if p.repeatsGoal(each.Snippet) || slices.ContainsFunc(p.found.rows, known) {
			continue
		}
		each.share = 1 / float64(1+i)
		if best := result.Rows[0].Score; best > 0 {
			each.share = each.Score / best
		}
		p.found.rows = append(p.found.rows, each)
		if p.tools.read == nil && each.Path != "" && each.Snippet != "" { // the hit is all there is to read
			p.found.reads = append(p.found.reads, reading{path: each.Path, start: max(1, each.Line), lines: strings.Split(each.Snippet, "\n")})
		}
	}
}

// repeatsGoal reports whether a text contains the goal itself, as tests and examples
// do. Such a text does not answer it.
func (p *planner) repeatsGoal(text string) bool {
	goal := strings.TrimSpace(p.request.Goal)
	return len(strings.Fields(goal)) > 2 && strings.Contains(strings.ToLower(text), strings.ToLower(goal))
}

func (p *planner) takeRead(outcome reasoning.Outcome) {
	var result struct {
		Path      string `json:"path"`
		Text      string `json:"text"`
		StartLine int    `json:"start_line"`
	}
	if json.Unmarshal(wholePart(outcome, `\n`, `"}`), &result) != nil || result.Path == "" {
		p.found.readFailed = true
		if !outcome.Cut { // in a truncated answer even the first line may be incomplete
			p.found.failures = append(p.found.failures, "the answer of "+outcome.ToolName+" cannot be read")
		}
		return
	}
	if outcome.Cut && result.StartLine == 0 && p.tools.read.argument(outcome, "start_line", &result.StartLine) != nil {
		return // start_line comes after the text, and was cut
	}
	lines := strings.Split(strings.TrimSuffix(result.Text, "\n"), "\n")
	p.found.reads = append(p.found.reads, reading{path: result.Path, start: max(1, result.StartLine), lines: lines})
}

// wholePart returns the result of a call. It truncates a cut result at the last
// separator and closes the JSON again, so that only whole rows or lines remain.
func wholePart(outcome reasoning.Outcome, separator, closing string) json.RawMessage {
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
