package models

import (
	"fmt"
	"strings"

	"savant/reasoning"
)

// OfflinePlanner is the name under which the offline planner signs. It is not a
// model: it searches, reads and quotes by fixed rules.
const OfflinePlanner = "offline-planner"

// How much the planner asks for. Four steps of searching and reading fit into what
// an agent remembers whole.
const (
	maxQueries   = 3
	maxReads     = 4
	maxOther     = 2
	searchLimit  = 8
	readLines    = 24
	linesBefore  = 6 // before a hit, where its comment is
	maxFollowUps = 2
)

// Plan decides what to do by fixed rules, from the request alone: search for the
// words of the goal, read the best places, search for the names found there, read
// again, and answer with quotes. The same request always gets the same intent.
func Plan(request reasoning.Request) reasoning.Intent {
	p := &planner{request: request, tools: chooseTools(request), words: wordsOf(request.Goal)}
	p.gather()
	p.weighWords()
	intent := p.decide()
	intent.Model = OfflinePlanner
	return intent
}

// planner makes one decision.
type planner struct {
	request reasoning.Request
	tools   toolkit
	words   []word
	found   evidence
}

func (p *planner) decide() reasoning.Intent {
	if p.mayCall() {
		for _, phase := range []func() ([]reasoning.Call, string){p.firstSearch, p.firstRead, p.followUp, p.secondRead} {
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
	return reasoning.Intent{Action: reasoning.ActionFinish, Final: p.answer(),
		Reasoning: "I have what searching and reading can give; the answer quotes it."}
}

// mayCall leaves the last step for the answer.
func (p *planner) mayCall() bool {
	policy, limits := p.request.Policy, p.request.Limits
	return !policy.NoTools && !policy.MustFinish && !policy.Stuck && limits.StepsLeft != 1
}

// firstSearch searches for the words of the goal, and calls the other tools that
// the goal names.
func (p *planner) firstSearch() (calls []reasoning.Call, why string) {
	if len(p.found.searches) > 0 || len(p.found.others) > 0 || p.found.failed > 0 {
		return nil, ""
	}
	if p.tools.search != nil {
		for _, query := range firstQueries(p.words) {
			calls = append(calls, p.tools.search.call(query, searchLimit))
		}
	}
	return append(calls, p.tools.others...), "Look for the words of the goal: " + strings.Join(strings.Fields(join(p.words)), ", ") + "."
}

// firstQueries are all words of the goal, words of like meaning, and the word that
// finds least with its related ones.
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

// followUp searches for the names near the goal's words.
func (p *planner) followUp() (calls []reasoning.Call, why string) {
	if p.tools.search == nil || len(p.found.reads) == 0 || p.found.rounds >= 2 {
		return nil, ""
	}
	names := p.names()
	for _, name := range names {
		calls = append(calls, p.tools.search.call(name, searchLimit))
	}
	return calls, "Follow the names that stand beside the goal's words: " + strings.Join(names, ", ") + "."
}

// secondRead reads what the follow-up found.
func (p *planner) secondRead() ([]reasoning.Call, string) {
	if p.found.rounds < 2 || p.found.readAfterFollowUp {
		return nil, ""
	}
	return p.readPlaces("Read around what was found since: ")
}

// readPlaces reads the best places that were not read yet.
func (p *planner) readPlaces(why string) (calls []reasoning.Call, _ string) {
	if p.tools.read == nil {
		return nil, ""
	}
	places := p.places()
	var where []string
	for _, at := range places[:min(len(places), maxReads)] {
		first := max(1, at.line-linesBefore)
		calls = append(calls, p.tools.read.call(at.path, first, first+readLines-1))
		where = append(where, fmt.Sprintf("%s:%d", at.path, at.line))
	}
	return calls, why + strings.Join(where, ", ") + "."
}
