package review

import (
	"cmp"
	"slices"
	"strings"

	"savant/internal/pattern"
	"savant/internal/words"
)

// Finding is one finding of a review. Evidence is quoted from the patch.
type Finding struct {
	Path       string `json:"path" doc:"File, relative to the repository."`
	Line       int    `json:"line,omitempty" min:"0" doc:"Line in the new version."`
	Severity   string `json:"severity" enum:"blocker,major,minor,note"`
	Message    string `json:"message" doc:"What is wrong and why it matters."`
	Suggestion string `json:"suggestion,omitempty" doc:"What to write instead."`
	Evidence   string `json:"evidence" doc:"The line of the patch that shows it, quoted."`
}

// Dropped is a finding whose evidence is not in the change.
type Dropped struct {
	Finding
	Why string `json:"why"`
}

var severities = []string{"blocker", "major", "minor", "note"}

// check keeps the findings whose evidence is in the patch of their file, corrects their
// lines, and merges duplicates. The kept findings are sorted by severity, then by file.
func (c *change) check(findings []Finding) (kept []Finding, dropped []Dropped, merged int) {
	for _, each := range findings {
		each.Path = strings.TrimPrefix(each.Path, "./")
		line, why := c.locate(each)
		if why != "" {
			dropped = append(dropped, Dropped{each, why})
			continue
		}
		each.Line = line
		if i := slices.IndexFunc(kept, func(other Finding) bool { return isDuplicate(each, other) }); i >= 0 {
			if slices.Index(severities, each.Severity) < slices.Index(severities, kept[i].Severity) {
				kept[i].Severity = each.Severity
			}
			merged++
			continue
		}
		kept = append(kept, each)
	}
	slices.SortStableFunc(kept, func(a, b Finding) int {
		return cmp.Or(slices.Index(severities, a.Severity)-slices.Index(severities, b.Severity), strings.Compare(a.Path, b.Path), a.Line-b.Line)
	})
	return kept, dropped, merged
}

// locate returns the line of the new version with the evidence of a finding, the
// nearest to the claimed line. For a removed line it is the following one.
func (c *change) locate(f Finding) (at int, why string) {
	file, known := c.files[f.Path]
	switch {
	case !known:
		return 0, "the change does not contain the file"
	case file.LeftOut != "":
		return 0, "the file was not reviewed: " + file.LeftOut
	}
	quote := evidenceLines(f.Evidence)
	if len(quote) == 0 {
		return 0, "it has no evidence"
	}
	best := -1
	for _, hunk := range c.hunks[f.Path] {
		next := 0 // the line of the new version that is here or follows
		for i := len(hunk.lines) - 1; i >= 0; i-- {
			each := hunk.lines[i]
			if each.New > 0 {
				next = each.New
			}
			if holds(hunk.lines[i:], quote) && (best < 0 || distance(next, f.Line) < distance(best, f.Line)) {
				best = max(next, 1)
			}
		}
	}
	if best < 0 {
		return 0, "the patch of the file does not contain its evidence"
	}
	return best, ""
}

func distance(a, b int) int { return max(a-b, b-a) }

// evidenceLines returns the lines of a quotation, normalised for comparison: without the
// numbers and signs of a part, surrounding white space and empty lines.
func evidenceLines(evidence string) (lines []string) {
	for text := range strings.Lines(evidence) {
		text = strings.TrimSpace(shownNumber().ReplaceAllString(text, ""))
		if text = plain(text); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// shownNumber matches what a part shows before a line: its number and its sign.
var shownNumber = pattern.Lazy(`^\s*(?:\d+ [ +-]|[+-])`)

// plain writes a text as one paragraph, with single spaces.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// holds reports whether lines begin with a quotation: each of its lines is part of the
// next non-empty line. Removed and added lines may be interleaved.
func holds(lines []line, quote []string) bool {
	if !strings.Contains(plain(lines[0].Text), quote[0]) {
		return false
	}
	found := 1
	for _, each := range lines[1:] {
		if found == len(quote) {
			break
		}
		if strings.Contains(plain(each.Text), quote[found]) {
			found++
		} else if each.Kind == ' ' && plain(each.Text) != "" {
			return false
		}
	}
	return found == len(quote)
}

// isDuplicate reports whether two findings are duplicates: the same line, and more than half
// of the words of the shorter message in common.
func isDuplicate(a, b Finding) bool {
	if a.Path != b.Path || a.Line != b.Line {
		return false
	}
	first, second := telling(a.Message), telling(b.Message)
	shared := 0
	for _, word := range first {
		if slices.Contains(second, word) {
			shared++
		}
	}
	return 2*shared > min(len(first), len(second))
}

// telling returns the distinct significant words of a text.
func telling(text string) []string {
	all := slices.DeleteFunc(words.Split(text), words.IsStop)
	slices.Sort(all)
	return slices.Compact(all)
}
