package planner

import (
	"fmt"
	"slices"
	"strings"

	"savant/fault"
)

// Bounds of an answer.
const (
	maxPassages   = 5
	maxTests      = 8
	maxTestsOf    = 2    // of one file
	maxAnswer     = 3000 // bytes, after which no passage begins
	maxQuote      = 400
	maxOtherQuote = 1200
	maxHits       = 6
)

// noModel ends every answer.
const noModel = "No model was asked: this is the offline planner, which searches, reads and quotes. " +
	"Set REASONING_API_URL, SLM_MODEL or LLM_MODEL for an answer from a model."

// enough is the coverage at which a passage counts as an answer. It is lower for long
// goals, whose words rarely occur all together. A verb counts half, and not at all if no
// file has it; where nothing else is known, nothing is enough.
func (p *planner) enough() float64 {
	least, needed, known, unknown := 0.4, p.weight(), false, false
	if count := len(p.words); count <= 3 {
		least = 0.55
	} else if count <= 5 {
		least = 0.5
	}
	for _, w := range p.words {
		switch {
		case w.verb && w.absent:
			needed -= w.weight
		case w.verb:
			needed -= w.weight / 2
		case w.absent:
			unknown = true
		case !w.in(p.question.sought):
			known = true
		}
	}
	if unknown && !known {
		return 2
	}
	return least * needed / p.weight()
}

// answer writes the findings, and reports whether they answer the goal. Every statement
// is a quote with its path and line, or a commit.
func (p *planner) answer() (text string, found bool) {
	var out strings.Builder
	switch {
	case p.question.kind == change:
		out.WriteString("This goal asks for a change. Nothing was changed: the offline planner only searches, reads and quotes.\n\n")
	case len(p.found.past) > 0:
		found = p.writeHistory(&out)
	default:
		found = p.writeFound(&out)
	}
	found = p.writeOthers(&out) || found
	p.writeFailures(&out)
	out.WriteString(noModel)
	return out.String(), found
}

// writeFound quotes the best passages, or the hits if nothing could be read. What
// the goal names and nobody mentions comes first.
func (p *planner) writeFound(out *strings.Builder) bool {
	passages := p.passages()
	if p.question.kind == history && p.tools.log == nil {
		out.WriteString("The commits would answer this, but no tool that lists them is available (git.log).\n")
		passages = nil
	}
	if missing := p.missing(); len(p.found.searches) > 0 && len(missing) > 0 {
		fmt.Fprintf(out, "Not found: %s.\n", quoteAll(missing))
	}
	switch {
	case len(passages) > 0:
		count := maxPassages
		if p.question.kind == tests {
			count = maxTests
		}
		return p.writePassages(out, passages[:min(len(passages), count)])
	case len(p.found.rows) > 0:
		p.writeHits(out)
		return true
	case len(p.found.others) == 0:
		p.writeNothing(out)
	}
	return false
}

// ofTests returns the tests, at most maxTestsOf of each file, in their order; without one
// the passages in files of tests, and without one of these all.
func ofTests(all []passage) []passage {
	for _, fits := range []func(passage) bool{
		func(s passage) bool { return s.testCase },
		func(s passage) bool { return isTest(s.path) },
	} {
		of := map[string]int{}
		var passages []passage
		for _, s := range all {
			if !fits(s) {
				continue
			}
			if of[s.path]++; of[s.path] <= maxTestsOf {
				passages = append(passages, s)
			}
		}
		if len(passages) > 0 {
			return passages
		}
	}
	return all
}

func (p *planner) writePassages(out *strings.Builder, passages []passage) bool {
	good := !(p.question.whether && len(p.missing()) > 0) && slices.ContainsFunc(passages, func(s passage) bool { return s.coverage >= p.enough() })
	if goal := fault.Cut(p.request.Goal, maxQuote); good {
		fmt.Fprintf(out, "Found for %q, the best first: %s.\n\n", goal, passages[0].where())
	} else {
		fmt.Fprintf(out, "Nothing fits %q well; nearest:\n\n", goal)
	}
	for i, s := range passages {
		if out.Len() > maxAnswer {
			break
		}
		fmt.Fprintf(out, "%d. %s\n", i+1, s.where())
		for _, q := range s.lines[:min(len(s.lines), maxExample)] {
			fmt.Fprintf(out, "   > %s:%d: %s\n", s.path, q.number, fault.Cut(strings.TrimRight(q.text, " \t\r"), maxQuote))
		}
	}
	out.WriteString("\n")
	return good
}

// writeHits quotes the hits if their files could not be read.
func (p *planner) writeHits(out *strings.Builder) {
	fmt.Fprintf(out, "Hits of the search for %q; they were not read further.\n\n", join(p.words))
	places := p.places()
	for _, at := range places[:min(len(places), maxHits)] {
		i := slices.IndexFunc(p.found.rows, func(r row) bool { return r.Path == at.path && max(1, r.Line) == at.line })
		fmt.Fprintf(out, "   > %s:%d: %s\n", at.path, at.line, fault.Cut(strings.Join(strings.Fields(p.found.rows[i].Snippet), " "), maxQuote))
	}
	out.WriteString("\n")
}

func (p *planner) writeNothing(out *strings.Builder) {
	switch {
	case p.request.Policy.NoTools:
		out.WriteString("No tool may be called, so I did not look.\n\n")
	case len(p.found.searches) > 0:
		fmt.Fprintf(out, "Nothing fits %q: nothing was found for %s.\n\n", fault.Cut(p.request.Goal, maxQuote), quoteAll(slices.Compact(slices.Sorted(slices.Values(p.found.searches)))))
	case p.tools.search == nil && len(p.tools.others) == 0:
		out.WriteString("I cannot search: no available tool searches text, and the goal names none that I can call directly.\n\n")
	default:
		out.WriteString("I did not get to look.\n\n")
	}
}

// writeOthers quotes the results of the tools that the goal names, and reports whether
// there are any.
func (p *planner) writeOthers(out *strings.Builder) bool {
	for _, outcome := range p.found.others {
		fmt.Fprintf(out, "From %s:\n   > %s\n\n", outcome.ToolName, fault.Cut(strings.Join(strings.Fields(string(outcome.Result)), " "), maxOtherQuote))
	}
	return len(p.found.others) > 0
}

// missing returns the words of the goal that no file contains, without those that say
// which kind of value is expected.
func (p *planner) missing() (missing []string) {
	for _, w := range p.words {
		if w.absent && !w.in(p.question.sought) {
			missing = append(missing, w.text)
		}
	}
	return missing
}

// isAbsent reports whether no file contains a word. If the search does not count files,
// it considers the hits and the readings only.
func (p *planner) isAbsent(w word) bool {
	if with, counted := p.found.counts.Words[w.text]; counted {
		return with == 0
	}
	return !slices.ContainsFunc(p.found.rows, func(r row) bool { return w.in(strings.ToLower(r.Path + " " + r.Snippet)) }) &&
		!slices.ContainsFunc(p.found.reads, func(r reading) bool { return w.in(strings.ToLower(r.path + " " + strings.Join(r.lines, "\n"))) })
}

// writeFailures lists the failed calls.
func (p *planner) writeFailures(out *strings.Builder) {
	failures := slices.Compact(slices.Sorted(slices.Values(p.found.failures)))
	for _, failure := range failures[:min(len(failures), 3)] {
		fmt.Fprintf(out, "%s.\n", failure)
	}
}

func quoteAll(texts []string) string {
	quotedTexts := make([]string, len(texts))
	for i, text := range texts {
		quotedTexts[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(quotedTexts, ", ")
}
