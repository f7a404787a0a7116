package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/engines"
)

// Report is the result of a review.
type Report struct {
	Change   Manifest `json:"change" list:"brief" doc:"Of review.change." example:"{\"source\":{\"base\":\"main\",\"head\":\"feature\",\"merge_base\":true},\"digest\":\"sha256:6f1e\",\"files\":[],\"parts\":[],\"lines\":{\"all\":3,\"reviewed\":3,\"left_out\":0},\"checked_out\":true,\"title\":\"main...feature\"}"`
	Decision string   `json:"decision" example:"request changes"`
	Summary  string   `json:"summary" example:"A failed transfer is reported as paid."`
	Reasons  []string `json:"reasons,omitempty"`
	// Vetoes are why the verdict, an approval, does not count: Decision is not its own.
	Vetoes   []string  `json:"vetoes,omitempty"`
	Findings []Finding `json:"findings" example:"[{\"path\":\"pay.go\",\"line\":7,\"severity\":\"blocker\",\"message\":\"The error is dropped.\",\"evidence\":\"_ = transfer()\"}]"`
	Dropped  []Dropped `json:"dropped,omitempty" list:"brief" doc:"Of review.check."`
	// Tests is the outcome of the tests, or why they were not run.
	Tests string `json:"tests,omitempty"`
	// Warnings say which inputs of models were truncated.
	Warnings []string `json:"warnings,omitempty"`
}

// Manifest describes a change and what of it is reviewed, without the patches.
type Manifest struct {
	Source source `json:"source"`
	// Digest covers all patches: review.part refuses a working tree that has changed.
	Digest string       `json:"digest"`
	Files  []fileChange `json:"files"`
	Parts  []partInfo   `json:"parts"`
	// Lines counts added and removed lines.
	Lines Lines `json:"lines"`
	// CheckedOut: the files on disk are those of the change, so test results apply to
	// it.
	CheckedOut bool   `json:"checked_out"`
	Title      string `json:"title" doc:"the change in a few words"`
	// Words are what people wrote about the request, where a forge is mounted.
	Words *Words `json:"words,omitempty"`
}

// Lines counts the changed lines of a change.
type Lines struct {
	All      int `json:"all"`
	Reviewed int `json:"reviewed"`
	// Cut lines were not seen: the prompt of the model had no room for the whole part.
	Cut     int `json:"cut,omitempty"`
	LeftOut int `json:"left_out"`
}

// partInfo describes a part.
type partInfo struct {
	Number int      `json:"number"`
	Paths  []string `json:"paths"`
	Lines  int      `json:"lines" doc:"changed lines"`
	Cut    bool     `json:"cut,omitempty" doc:"a model did not see it as a whole"`
	// Unseen is what the model did not see of a part that was cut.
	Unseen []unseenLines `json:"unseen,omitempty"`
}

// unseenLines is what a model did not see of a file in a part that was cut.
type unseenLines struct {
	Path  string `json:"path"`
	From  int    `json:"from,omitempty" doc:"the first line that was not seen, in the new version"`
	Lines int    `json:"lines" doc:"changed lines from there on"`
}

// warn adds the warnings of the run that makes the report. A warning about item N of a
// step, such as review_0, is about part N+1: the lines that the model did not see do not
// count as reviewed. If parts is nil, because the change cannot be read again, or the
// number of seen lines is unknown, no line of the part counts.
func (r *Report) warn(warnings []engines.Warning, parts []part) {
	r.Change.Parts = slices.Clone(r.Change.Parts)
	for _, each := range warnings {
		if !slices.Contains(r.Warnings, each.Text) {
			r.Warnings = append(r.Warnings, each.Text)
		}
		item, err := strconv.Atoi(each.StepID[strings.LastIndexByte(each.StepID, '_')+1:])
		if err != nil || item < 0 || item >= len(r.Change.Parts) || r.Change.Parts[item].Cut {
			continue
		}
		cut := &r.Change.Parts[item]
		lines, known := each.Seen["part"]
		missing := cut.Lines
		switch {
		case len(each.Seen) > 0 && !known: // something else was cut
			continue
		case known && item < len(parts):
			if cut.Unseen, missing = parts[item].after(lines); missing == 0 {
				continue // only lines around a change
			}
		}
		cut.Cut = true
		r.Change.Lines.Cut += missing
		r.Change.Lines.Reviewed -= missing
	}
}

// Markdown formats a report for people: the decision, the findings by severity, and the
// coverage.
func (r Report) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Review of %s: %s\n\n", r.Change.Title, strings.ReplaceAll(r.Decision, "_", " "))
	for _, veto := range r.vetoed() {
		out.WriteString(veto + "\n\n")
	}
	out.WriteString(plain(r.Summary) + "\n")
	for _, reason := range r.Reasons {
		fmt.Fprintf(&out, "\n- %s", plain(reason))
	}
	if len(r.Reasons) > 0 {
		out.WriteString("\n")
	}
	if r.Tests != "" {
		fmt.Fprintf(&out, "\nTests: %s.\n", plain(r.Tests))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&out, "\nWarning: %s.\n", plain(warning))
	}
	fmt.Fprintf(&out, "\n## Findings (%d)\n", len(r.Findings))
	if len(r.Findings) == 0 {
		out.WriteString("\nNone.\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "\n### %s: %s:%d\n\n%s\n\n%s", f.Severity, f.Path, f.Line, plain(f.Message), fenced(f.Evidence))
		if f.Suggestion != "" {
			fmt.Fprintf(&out, "\nSuggestion:\n\n%s", fenced(f.Suggestion))
		}
	}
	r.writeSeen(&out)
	return out.String()
}

// vetoed says why an approval does not count; nil if it does, or if there is none.
func (r Report) vetoed() []string {
	if len(r.Vetoes) == 0 {
		return nil
	}
	return []string{"Veto: the reviewer approved this change, but " + plain(strings.Join(r.Vetoes, ", and ")) + ". So changes are asked for."}
}

// writeSeen writes how many lines were reviewed, and what was not.
func (r Report) writeSeen(out *strings.Builder) {
	lines := r.Change.Lines
	fmt.Fprintf(out, "\n## What was seen\n\n%d of %d changed lines, in %s.", lines.Reviewed, lines.All, quantity(len(r.Change.Parts), "part", "parts"))
	if lines.Cut > 0 {
		fmt.Fprintf(out, " %s not seen.", quantity(lines.Cut, "line was", "lines were"))
	}
	if lines.LeftOut > 0 {
		fmt.Fprintf(out, " %s left out.", quantity(lines.LeftOut, "line was", "lines were"))
	}
	out.WriteString("\n\n| file | change | lines | |\n| --- | --- | --- | --- |\n")
	for _, file := range r.Change.Files {
		change := file.Status
		if file.RenamedFrom != "" {
			change += " from " + cell(file.RenamedFrom)
		}
		seen := "reviewed"
		if cut := r.unseenOf(file.Path); len(cut) > 0 {
			seen = "not seen: " + strings.Join(cut, "; ")
		}
		if file.LeftOut != "" {
			seen = "left out: " + file.LeftOut
		}
		fmt.Fprintf(out, "| %s | %s | +%d -%d | %s |\n", cell(file.Path), change, file.Additions, file.Deletions, seen)
	}
	if len(r.Dropped) > 0 {
		out.WriteString("\nDropped, because the change does not support them:\n\n")
	}
	for _, each := range r.Dropped {
		fmt.Fprintf(out, "- %s:%d: %s (%s)\n", each.Path, each.Line, each.Message, each.Why)
	}
}

// unseenOf says what of a file was not seen.
func (r Report) unseenOf(path string) (all []string) {
	for _, each := range r.Change.Parts {
		where := fmt.Sprintf("some of part %d", each.Number)
		if each.Unseen != nil {
			i := slices.IndexFunc(each.Unseen, func(u unseenLines) bool { return u.Path == path })
			if i < 0 {
				continue
			}
			where = fmt.Sprintf("%s of part %d, from line %d on", quantity(each.Unseen[i].Lines, "line", "lines"), each.Number, each.Unseen[i].From)
		}
		if each.Cut && slices.Contains(each.Paths, path) {
			all = append(all, where)
		}
	}
	return all
}

// quantity writes a number before what it counts.
func quantity(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

func cell(text string) string {
	return "`" + strings.NewReplacer("|", `\|`, "`", "'", "\n", " ").Replace(text) + "`"
}

// fenced puts text into a code fence longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
