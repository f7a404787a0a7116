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
	Change   Manifest  `json:"change"`
	Decision string    `json:"decision"`
	Summary  string    `json:"summary"`
	Reasons  []string  `json:"reasons,omitempty"`
	Findings []Finding `json:"findings"`
	Dropped  []Dropped `json:"dropped,omitempty"`
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
}

// Lines counts the changed lines of a change.
type Lines struct {
	All      int `json:"all"`
	Reviewed int `json:"reviewed"`
	// Cut are in parts that a model did not see as a whole.
	Cut     int `json:"cut,omitempty"`
	LeftOut int `json:"left_out"`
}

// partInfo describes a part.
type partInfo struct {
	Number int      `json:"number"`
	Paths  []string `json:"paths"`
	Lines  int      `json:"lines" doc:"changed lines"`
	Cut    bool     `json:"cut,omitempty" doc:"a model did not see it as a whole"`
}

// warn adds the warnings of the run that makes the report. Item N of a step that reads
// parts, such as review_0, reads part N+1. The lines of a part that was cut do not count
// as reviewed, since it is unknown which of them were seen.
func (r *Report) warn(warnings []engines.Warning) {
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
		cut.Cut = true
		r.Change.Lines.Cut += cut.Lines
		r.Change.Lines.Reviewed -= cut.Lines
	}
}

// Markdown formats a report for people: the decision, the findings by severity, and the
// coverage.
func (r Report) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Review of %s: %s\n\n%s\n", r.Change.Title, strings.ReplaceAll(r.Decision, "_", " "), oneParagraph(r.Summary))
	for _, reason := range r.Reasons {
		fmt.Fprintf(&out, "\n- %s", oneParagraph(reason))
	}
	if len(r.Reasons) > 0 {
		out.WriteString("\n")
	}
	if r.Tests != "" {
		fmt.Fprintf(&out, "\nTests: %s.\n", oneParagraph(r.Tests))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&out, "\nWarning: %s.\n", oneParagraph(warning))
	}
	fmt.Fprintf(&out, "\n## Findings (%d)\n", len(r.Findings))
	if len(r.Findings) == 0 {
		out.WriteString("\nNone.\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "\n### %s: %s:%d\n\n%s\n\n%s", f.Severity, f.Path, f.Line, oneParagraph(f.Message), fenced(f.Evidence))
		if f.Suggestion != "" {
			fmt.Fprintf(&out, "\nSuggestion:\n\n%s", fenced(f.Suggestion))
		}
	}
	r.writeSeen(&out)
	return out.String()
}

// writeSeen writes how many lines were reviewed, and what was not.
func (r Report) writeSeen(out *strings.Builder) {
	lines := r.Change.Lines
	fmt.Fprintf(out, "\n## What was seen\n\n%d of %d changed lines, in %d parts.", lines.Reviewed, lines.All, len(r.Change.Parts))
	if lines.Cut > 0 {
		fmt.Fprintf(out, " %d lines are in parts that were not seen as a whole.", lines.Cut)
	}
	if lines.LeftOut > 0 {
		fmt.Fprintf(out, " %d lines were left out.", lines.LeftOut)
	}
	out.WriteString("\n\n| file | change | lines | |\n| --- | --- | --- | --- |\n")
	for _, file := range r.Change.Files {
		change := file.Status
		if file.RenamedFrom != "" {
			change += " from " + cell(file.RenamedFrom)
		}
		seen := "reviewed"
		if cut := r.cutPartsOf(file.Path); cut != "" {
			seen = "not seen as a whole: " + cut
		}
		if file.LeftOut != "" {
			seen = "left out: " + file.LeftOut
		}
		fmt.Fprintf(out, "| %s | %s | +%d -%d | %s |\n", cell(file.Path), change, file.Additions, file.Deletions, seen)
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(out, "\nDropped, since the change does not bear them out:\n\n%s", ungrounded(r.Dropped))
	}
}

// cutPartsOf names the parts with lines of a file that were not seen as a whole.
func (r Report) cutPartsOf(path string) string {
	var cut []string
	for _, each := range r.Change.Parts {
		if each.Cut && slices.Contains(each.Paths, path) {
			cut = append(cut, strconv.Itoa(each.Number))
		}
	}
	if len(cut) == 0 {
		return ""
	}
	return "part " + strings.Join(cut, ", ")
}

func oneParagraph(text string) string { return strings.Join(strings.Fields(text), " ") }

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
