package planner

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/reasoning"
)

// record is a list of commits, as returned by a tool.
type record struct {
	Commits []struct {
		Short   string   `json:"short"`
		Author  string   `json:"author"`
		Date    string   `json:"date"`
		Subject string   `json:"subject"`
		Files   []string `json:"files"`
	} `json:"commits"`
	Authors []struct {
		Name    string `json:"name"`
		Commits int    `json:"commits"`
	} `json:"authors"`
	Truncated bool `json:"truncated"`
}

// Bounds of a question about the past.
const (
	usualCommits = 20
	maxCommits   = 50
	maxFiles     = 8
)

// searchSubject searches for the subject of a question about the past, unless it names
// a path.
func (p *planner) searchSubject() ([]reasoning.Call, string) {
	if p.tools.search == nil || !p.hasSubject() || len(p.question.period.paths) > 0 || len(p.found.searches) > 0 {
		return nil, ""
	}
	query := join(p.words)
	return []reasoning.Call{p.search(query, nil, firstLimit)}, "Look for the files of " + query + "."
}

// hasSubject reports whether the question is about a part of the project.
func (p *planner) hasSubject() bool {
	return strings.TrimSpace(p.question.subject) != "" && len(p.words) > 0
}

// readHistory lists the commits of the period that changed the paths of the question or
// of its subject.
func (p *planner) readHistory() ([]reasoning.Call, string) {
	if len(p.found.past) > 0 || p.found.failed > 0 {
		return nil, ""
	}
	period := p.question.period
	paths := period.paths
	if len(paths) == 0 && p.hasSubject() {
		if paths = p.subjectPaths(); len(paths) == 0 {
			return nil, ""
		}
	}
	limit := period.last
	switch {
	case limit == 0 && (!period.since.IsZero() || period.after != "" || p.question.when):
		limit = maxCommits
	case limit == 0:
		limit = usualCommits
	}
	args := map[string]any{"limit": min(limit, maxCommits), "files": !p.question.authors && !p.question.when}
	if !period.since.IsZero() {
		args["since"] = period.since.Format(time.RFC3339)
	}
	if period.after != "" {
		args["from"] = period.after
	}
	if len(paths) > 0 {
		args["paths"] = paths
	}
	if p.question.authors {
		args["authors"] = true
	}
	return []reasoning.Call{p.tools.log.call(args)}, "The commits answer this: " + p.selected(paths) + "."
}

// subjectPaths returns the folder named like a word of the subject, else the file that
// mentions it most.
func (p *planner) subjectPaths() []string {
	for _, w := range p.words {
		for _, hit := range p.found.rows {
			parts := strings.Split(path.Dir(hit.Path), "/")
			if i := slices.IndexFunc(parts, func(part string) bool { return stem(strings.ToLower(part)) == w.stem }); i >= 0 {
				return []string{strings.Join(parts[:i+1], "/")}
			}
		}
	}
	for _, at := range p.places() {
		if p.coverage(at.text, at.path) >= p.enough() {
			return []string{at.path}
		}
	}
	return nil
}

// selected describes the commits asked for.
func (p *planner) selected(paths []string) string {
	period := p.question.period
	text := "commits"
	if period.last > 0 {
		text = fmt.Sprintf("the last %d commits", period.last)
	}
	if !period.since.IsZero() {
		text += " since " + period.since.Format(time.DateOnly)
	}
	if period.after != "" {
		text += " since " + period.after
	}
	if len(paths) > 0 {
		text += " that change " + strings.Join(paths, ", ")
	}
	return text
}

func (p *planner) takeLog(outcome reasoning.Outcome) {
	var result record
	if json.Unmarshal(wholePart(outcome, `},{`, `}],"truncated":true}`), &result) != nil {
		p.found.failures = append(p.found.failures, "the answer of "+outcome.ToolName+" cannot be read")
		return
	}
	result.Truncated = result.Truncated || outcome.Cut
	p.found.past = append(p.found.past, result)
	var paths []string
	if p.tools.log.argument(outcome, "paths", &paths) == nil {
		p.question.period.paths = paths
	}
}

// writeHistory writes the listed commits, and reports whether there are any.
func (p *planner) writeHistory(out *strings.Builder) bool {
	past := p.found.past[len(p.found.past)-1]
	which := p.selected(p.question.period.paths)
	if len(past.Commits) == 0 {
		fmt.Fprintf(out, "No commit fits: %s.\n\n", which)
		return false
	}
	switch {
	case len(past.Authors) > 0:
		past.writeAuthors(out, which)
	case p.question.when:
		newest, oldest := past.Commits[0], past.Commits[len(past.Commits)-1]
		fmt.Fprintf(out, "Last changed %s by %s: %s %s\n", newest.Date, newest.Author, newest.Short, newest.Subject)
		if past.Truncated {
			fmt.Fprintf(out, "The first commit was not looked for: these are the newest %d.\n", len(past.Commits))
		} else {
			fmt.Fprintf(out, "First commit %s by %s: %s %s\n", oldest.Date, oldest.Author, oldest.Short, oldest.Subject)
		}
		fmt.Fprintf(out, "Looked at: %s.\n", which)
	default:
		more := ""
		if past.Truncated && p.question.period.last == 0 {
			more = " (the newest; there are more)"
		}
		fmt.Fprintf(out, "Listed: %s, %d%s.\n\n", which, len(past.Commits), more)
		past.writeCommits(out)
	}
	out.WriteString("\n")
	return true
}

func (r record) writeCommits(out *strings.Builder) {
	for _, each := range r.Commits {
		fmt.Fprintf(out, "   > %s %s %s: %s\n", each.Short, day(each.Date), each.Author, fault.Cut(each.Subject, maxQuote))
		if count := len(each.Files); count > 0 {
			shown, rest := strings.Join(each.Files[:min(count, maxFiles)], ", "), ""
			if count > maxFiles {
				rest = fmt.Sprintf(" and %d more", count-maxFiles)
			}
			fmt.Fprintf(out, "     changes %s%s\n", shown, rest)
		}
	}
}

// writeAuthors writes how many commits each author made.
func (r record) writeAuthors(out *strings.Builder, which string) {
	fmt.Fprintf(out, "%s made the most, counted over all %s:\n\n", r.Authors[0].Name, which)
	for _, each := range r.Authors[:min(len(r.Authors), 10)] {
		fmt.Fprintf(out, "   > %d: %s\n", each.Commits, each.Name)
	}
	newest := r.Commits[0]
	fmt.Fprintf(out, "\nThe newest is %s %s by %s: %s\n", newest.Short, day(newest.Date), newest.Author, fault.Cut(newest.Subject, maxQuote))
}

// day is the date of a time in RFC 3339.
func day(date string) string { return date[:min(len(date), len(time.DateOnly))] }
