package models

import (
	"fmt"
	"strings"

	"savant/reasoning"
)

// OfflinePlanner is the name under which the offline planner signs. It is not
// a model: it searches, reads and quotes by fixed rules.
const OfflinePlanner = "offline-planner"

// Bounds of what the planner asks for at once. They keep four steps of
// searching and reading within what an agent remembers whole.
const (
	maxQueries   = 3
	maxReads     = 4
	maxOther     = 2
	searchLimit  = 8
	readLines    = 24
	linesBefore  = 6 // of a hit, where the comment above it is
	maxFollowUps = 2
)

// Plan decides what to do by fixed rules, from the request alone: search for
// the words of the goal, read the best places, search for what was named
// there, read again, and answer with quotes. The same request always gets the
// same intent.
func Plan(request reasoning.Request) reasoning.Intent {
	p := &planner{request: request, kit: chooseTools(request), words: wordsOf(request.Goal)}
	p.found = gather(request, p.kit)
	intent := p.decide()
	intent.Model = OfflinePlanner
	return intent
}

// planner is the making of one decision.
type planner struct {
	request reasoning.Request
	kit     toolkit
	words   []word
	found   evidence
}

func (p *planner) decide() reasoning.Intent {
	if p.mayCall() {
		for _, next := range []func() ([]reasoning.Call, string){p.firstSearch, p.firstRead, p.followUp, p.secondRead} {
			if calls, why := next(); len(calls) > 0 {
				return tools(calls, why)
			}
		}
	}
	return reasoning.Intent{Action: reasoning.ActionFinish, Final: p.answer(),
		Reasoning: "I have what searching and reading can give; the answer quotes it."}
}

// mayCall leaves the last step for the answer.
func (p *planner) mayCall() bool {
	policy, limits := p.request.Policy, p.request.Limits
	return !policy.NoTools && !policy.MustFinish && !policy.Stuck && limits.StepsLeft != 1
}

// tools is the intent of calls, in the form that fits their number.
func tools(calls []reasoning.Call, why string) reasoning.Intent {
	if len(calls) == 1 {
		return reasoning.Intent{Action: reasoning.ActionTool, ToolName: calls[0].ToolName, Args: calls[0].Args, Reasoning: why}
	}
	return reasoning.Intent{Action: reasoning.ActionTool, Calls: calls, Reasoning: why}
}

// atMost bounds calls by what the runtime takes in one intent.
func (p *planner) atMost(calls []reasoning.Call) []reasoning.Call {
	if limit := p.request.Limits.MaxCalls; limit > 0 && len(calls) > limit {
		return calls[:limit]
	}
	return calls
}

// firstSearch asks with the goal's words, all and then fewer, with words of
// like meaning, and asks the other tools that the goal names.
func (p *planner) firstSearch() ([]reasoning.Call, string) {
	if len(p.found.searches) > 0 || len(p.found.others) > 0 || p.found.failed > 0 {
		return nil, ""
	}
	var calls []reasoning.Call
	if p.kit.search != nil {
		for _, query := range firstQueries(p.words) {
			calls = append(calls, p.kit.searchFor(query))
		}
	}
	calls = p.atMost(append(calls, p.kit.others...))
	return calls, "Look for the words of the goal: " + spell(p.words) + "."
}

// firstQueries are from the most specific to what helps when that finds nothing.
func firstQueries(words []word) []string {
	if len(words) == 0 {
		return nil
	}
	queries := []string{join(words)}
	if related := relatedTo(words); related != "" {
		queries = append(queries, related)
	}
	if len(words) > 1 {
		rare := rarest(words)
		queries = append(queries, strings.Join(append([]string{rare.text}, rare.related[:min(len(rare.related), 2)]...), " "))
	}
	return queries[:min(len(queries), maxQueries)]
}

// firstRead reads around the best hits.
func (p *planner) firstRead() ([]reasoning.Call, string) {
	if len(p.found.reads) > 0 || p.found.readFailed {
		return nil, ""
	}
	return p.readPlaces("Read around the best hits: ")
}

// followUp searches for the names that stand beside the goal's words.
func (p *planner) followUp() ([]reasoning.Call, string) {
	if p.kit.search == nil || len(p.found.reads) == 0 || p.found.rounds >= 2 {
		return nil, ""
	}
	var calls []reasoning.Call
	var names []string
	for _, name := range p.names() {
		calls = append(calls, p.kit.searchFor(name))
		names = append(names, name)
	}
	return p.atMost(calls), "Follow the names that stand beside the goal's words: " + strings.Join(names, ", ") + "."
}

// secondRead reads what the follow-up brought to light.
func (p *planner) secondRead() ([]reasoning.Call, string) {
	if p.found.rounds < 2 || p.found.readAfterFollowUp {
		return nil, ""
	}
	return p.readPlaces("Read around what was found since: ")
}

// readPlaces asks for the best places that were not read yet.
func (p *planner) readPlaces(why string) ([]reasoning.Call, string) {
	if p.kit.read == nil {
		return nil, ""
	}
	var calls []reasoning.Call
	var where []string
	for _, at := range p.places() {
		if len(calls) == maxReads {
			break
		}
		calls = append(calls, p.kit.readFrom(at))
		where = append(where, fmt.Sprintf("%s:%d", at.path, at.line))
	}
	return p.atMost(calls), why + strings.Join(where, ", ") + "."
}
