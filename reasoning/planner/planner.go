// Package planner decides without a model. It searches, reads and quotes by fixed
// rules, and states only what it found.
package planner

import (
	"fmt"
	"strings"
	"time"

	"savant/reasoning"
)

// Name is how the planner signs its decisions. It is not a model.
const Name = reasoning.OfflinePlanner

// Limits of the planner's searches and readings. The answer is written from the last
// step, which a request shows in full.
const (
	maxReads     = 8
	maxTestReads = 6 // longer ones
	maxOther     = 2
	firstLimit   = 30 // of the first search, whose step has no readings
	searchLimit  = 12
	perFile      = 5
)

// Plan decides what to do from the request alone. A question about the past of the
// repository goes to a tool that lists commits. For any other question it searches for
// the words of the goal, reads the best places, and answers with quotes. A goal that asks for a change is refused. Plan
// is deterministic within a day; now is the reference for "last week". It does not read
// the earlier goals of a conversation: their words would be searched for, too.
func Plan(request reasoning.Request, now time.Time) reasoning.Intent {
	request.Goal, _, _ = strings.Cut(request.Goal, reasoning.EarlierMark)
	p := &planner{request: request, question: ask(request.Goal, now), tools: chooseTools(request)}
	p.words = wordsOf(p.question.subject, p.question.kind != history)
	p.gather()
	p.weighWords()
	intent := p.decide()
	intent.Model = Name
	return intent
}

// planner makes one decision.
type planner struct {
	request  reasoning.Request
	question question
	tools    toolkit
	words    []word
	found    evidence
}

func (p *planner) decide() reasoning.Intent {
	if p.mayCall() {
		for _, phase := range p.phases() {
			calls, why := phase()
			if limit := p.request.Limits.MaxCalls; limit > 0 {
				calls = calls[:min(len(calls), limit)]
			}
			switch len(calls) {
			case 0:
				continue
			case 1:
				return reasoning.Intent{Action: reasoning.ActionTool, ToolName: calls[0].ToolName, Args: calls[0].Args, Reasoning: why}
			}
			return reasoning.Intent{Action: reasoning.ActionTool, Calls: calls, Reasoning: why}
		}
	}
	final, found := p.answer()
	if !found {
		return reasoning.Intent{Action: reasoning.ActionError, Final: final, Error: "the offline planner found no answer",
			Reasoning: "Nothing that I found fits the goal well."}
	}
	return reasoning.Intent{Action: reasoning.ActionFinish, Final: final,
		Reasoning: "I have what searching and reading can give; the answer quotes it."}
}

func (p *planner) phases() []func() ([]reasoning.Call, string) {
	if p.question.kind == history && p.tools.log != nil {
		return []func() ([]reasoning.Call, string){p.searchSubject, p.readHistory}
	}
	return []func() ([]reasoning.Call, string){p.searchGoal, p.readPlaces}
}

// mayCall reports whether a call is possible; the last step is reserved for the answer.
func (p *planner) mayCall() bool {
	policy, limits := p.request.Policy, p.request.Limits
	return !policy.NoTools && !policy.MustFinish && !policy.Stuck && limits.StepsLeft != 1 && p.question.kind != change
}

// searchGoal searches for the words of the goal, and calls the other tools that
// the goal names.
func (p *planner) searchGoal() (calls []reasoning.Call, why string) {
	if len(p.found.searches) > 0 || len(p.found.others) > 0 || p.found.failed > 0 {
		return nil, ""
	}
	if p.tools.search != nil {
		calls = p.wholeQueries(firstLimit)
	}
	return append(calls, p.tools.others...), "Look for the words of the goal: " + strings.Join(strings.Fields(join(p.words)), ", ") + "."
}

// wholeQueries search for all words of the goal, in all files and in files of the kind
// that suits the question.
func (p *planner) wholeQueries(limit int) []reasoning.Call {
	if len(p.words) == 0 {
		return nil
	}
	calls := []reasoning.Call{p.search(join(p.words), nil, limit)}
	for _, globs := range p.question.globs() {
		if p.tools.search.takes["paths"] != nil {
			calls = append(calls, p.search(join(p.words), globs, limit))
		}
	}
	return calls
}

// search returns a search call, limited to globs; nil searches all files.
func (p *planner) search(query string, globs []string, limit int) reasoning.Call {
	args := map[string]any{"query": query, "limit": limit, "per_file": perFile, "counts": true}
	if globs != nil {
		args["paths"] = globs
	}
	return p.tools.search.call(args)
}

// window returns how many lines before a hit are read, for its comment or heading, and how
// many in all. The runtime shows 32 KB of all readings of a step, and the lines of
// documents are long.
func (p *planner) window(path string) (before, lines int) {
	switch {
	case isDocument(path):
		return 8, 32
	case p.question.kind == tests: // a file of tests may have many of them
		return 20, 100
	}
	return 20, 60
}

// readPlaces reads the best places. It repeats the search, because memory may truncate
// the earlier results.
func (p *planner) readPlaces() (calls []reasoning.Call, why string) {
	if p.tools.read == nil || len(p.found.reads) > 0 || p.found.readFailed {
		return nil, ""
	}
	var where []string
	count := maxReads
	if p.question.kind == tests {
		count = maxTestReads
	}
	places := p.places()
	for i, at := range places[:min(len(places), count)] {
		before, lines := p.window(at.path)
		if i == 0 {
			before, lines = 2*before, 2*lines
		}
		first := max(1, at.line-before)
		calls = append(calls, p.tools.read.call(map[string]any{"path": at.path, "start_line": first, "end_line": first + lines - 1}))
		where = append(where, fmt.Sprintf("%s:%d", at.path, at.line))
	}
	if len(calls) > 0 && p.tools.search != nil {
		calls = append(calls, p.wholeQueries(searchLimit)...)
	}
	return calls, "Read around the best hits: " + strings.Join(where, ", ") + "."
}
