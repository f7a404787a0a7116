package models

import (
	"fmt"
	"slices"
	"strings"

	"savant/fault"
)

// Bounds of an answer.
const (
	maxSpans      = 5
	maxQuote      = 200
	maxOtherQuote = 1200
	maxHits       = 6
)

// noModel is the end of every answer.
const noModel = "No model was asked: this is the offline planner, which searches, reads and quotes. " +
	"Set REASONING_API_URL, SAVANT_SLM or SAVANT_LLM for an answer that was thought about."

// answer writes what was found. Every statement is a quote with its path and line.
func (p *planner) answer() string {
	var out strings.Builder
	spans := p.spans()
	switch {
	case len(spans) > 0:
		p.writeSpans(&out, spans[:min(len(spans), maxSpans)])
	case len(p.found.rows) > 0:
		p.writeHits(&out)
	case len(p.found.others) == 0:
		p.writeNothing(&out)
	}
	p.writeOthers(&out)
	p.writeGaps(&out)
	out.WriteString(noModel)
	return out.String()
}

func (p *planner) writeSpans(out *strings.Builder, spans []span) {
	fmt.Fprintf(out, "The best place for %q is %s.\n\n", fault.Cut(p.request.Goal, maxQuote), spans[0].where())
	for i, s := range spans {
		fmt.Fprintf(out, "%d. %s\n", i+1, s.where())
		for _, q := range s.lines {
			fmt.Fprintf(out, "   > %s:%d: %s\n", s.path, q.number, fault.Cut(strings.TrimRight(q.text, " \t\r"), maxQuote))
		}
	}
	out.WriteString("\n")
}

// where names a span.
func (s span) where() string {
	if s.name == "" {
		return fmt.Sprintf("%s:%d", s.path, s.lines[0].number)
	}
	return fmt.Sprintf("%s:%d, %s", s.path, s.nameLine, s.name)
}

// writeHits quotes hits whose files could not be read.
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
		fmt.Fprintf(out, "Nothing was found for %s.\n\n", quoteAll(p.found.searches))
	case p.tools.search == nil && len(p.tools.others) == 0:
		out.WriteString("I have no tool to look: none of those offered searches text, and the goal names none that can be called as it is.\n\n")
	default:
		out.WriteString("I did not get to look.\n\n")
	}
}

// writeOthers quotes the results of the tools that the goal names.
func (p *planner) writeOthers(out *strings.Builder) {
	for _, outcome := range p.found.others {
		fmt.Fprintf(out, "From %s:\n   > %s\n\n", outcome.ToolName, fault.Cut(strings.Join(strings.Fields(string(outcome.Result)), " "), maxOtherQuote))
	}
}

// writeGaps says what the answer lacks: words of the goal that were not found in what
// was read, and calls that failed.
func (p *planner) writeGaps(out *strings.Builder) {
	var missing []string
	for _, w := range p.words {
		if !p.seen(w) {
			missing = append(missing, w.text)
		}
	}
	if len(p.found.reads) > 0 && len(missing) > 0 {
		fmt.Fprintf(out, "Not found in what was read: %s.\n", quoteAll(missing))
	}
	failures := slices.Compact(slices.Sorted(slices.Values(p.found.failures)))
	for _, failure := range failures[:min(len(failures), 3)] {
		fmt.Fprintf(out, "%s.\n", failure)
	}
}

func (p *planner) seen(w word) bool {
	return slices.ContainsFunc(p.found.reads, func(r reading) bool {
		return mentions(strings.ToLower(r.path+" "+strings.Join(r.lines, "\n")), w.stem)
	})
}

func quoteAll(texts []string) string {
	quotedTexts := make([]string, len(texts))
	for i, text := range texts {
		quotedTexts[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(quotedTexts, ", ")
}
