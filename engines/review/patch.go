package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"savant/internal/pattern"
)

// line is one line of a patch. Old and New are its numbers in both versions, 0 if it is
// not part of that version.
type line struct {
	Kind     byte // ' ', '+' or '-'
	Old, New int
	Text     string
}

// passage is a coherent part of a patch: changed lines with context.
type passage struct {
	path  string
	lines []line
}

// parsePatch parses the hunks of one file: a patch of git, or hunks alone, as GitLab
// answers them.
func parsePatch(path, patch string) (hunks []passage, err error) {
	if strings.HasPrefix(patch, "@@ ") {
		patch = "--- a\n+++ b\n" + patch
	}
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, file := range files { // two for a change of type: a deletion and an addition
		for _, fragment := range file.TextFragments {
			hunks = append(hunks, numberedHunk(path, fragment))
		}
	}
	return hunks, nil
}

// numberedHunk returns a hunk with the numbers of its lines.
func numberedHunk(path string, fragment *gitdiff.TextFragment) passage {
	hunk := passage{path: path}
	old, now := int(fragment.OldPosition), int(fragment.NewPosition)
	for _, each := range fragment.Lines {
		next := line{Kind: each.Op.String()[0], Text: strings.TrimSuffix(each.Line, "\n")}
		if each.Old() {
			next.Old, old = old, old+1
		}
		if each.New() {
			next.New, now = now, now+1
		}
		hunk.lines = append(hunk.lines, next)
	}
	return hunk
}

// isWider reports whether a changed line is longer than room bytes.
func (p passage) isWider(room int) bool {
	return slices.ContainsFunc(p.lines, func(each line) bool { return each.Kind != ' ' && len(each.Text) > room })
}

// around is the number of context lines around a change, within the enclosing function.
const around = 8

// begins matches the first line of a function or similar: as in git without a driver
// for the language, one that is not indented.
var begins = pattern.Lazy(`^[\pL_$]`)

// clip reduces a hunk with whole functions to its changes, their context, and the first
// line of each enclosing function.
func clip(hunk passage) (passages []passage) {
	keep := make([]bool, len(hunk.lines))
	for i, each := range hunk.lines {
		if each.Kind == ' ' {
			continue
		}
		for j := max(0, i-around); j <= min(len(keep)-1, i+around); j++ {
			keep[j] = true
		}
		if at := beginOf(hunk.lines, i); at >= 0 {
			keep[at] = true
		}
	}
	// The lines between two kept parts are omitted. A part without a change is the
	// beginning of a function and belongs to the next part.
	current := passage{path: hunk.path}
	changed, gap := false, false
	for i, each := range hunk.lines {
		if !keep[i] {
			gap = true
			continue
		}
		if gap && changed {
			passages = append(passages, current)
			current, changed = passage{path: hunk.path}, false
		}
		gap = false
		current.lines = append(current.lines, each)
		changed = changed || each.Kind != ' '
	}
	if changed {
		passages = append(passages, current)
	}
	return passages
}

// beginOf returns the first line of the function around a line, or -1.
func beginOf(lines []line, at int) int {
	for ; at >= 0; at-- {
		if lines[at].Kind != '-' && begins().MatchString(lines[at].Text) {
			return at
		}
	}
	return -1
}

// count counts the added and the removed lines of a passage.
func (p passage) count() (added, removed int) {
	for _, each := range p.lines {
		switch each.Kind {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// changes is the number of added and removed lines of a passage.
func (p passage) changes() int {
	added, removed := p.count()
	return added + removed
}

// text formats a passage with line numbers of the new version; removed lines have none.
// An ellipsis stands for omitted lines.
func (p passage) text() string {
	var out strings.Builder
	for i, each := range p.lines {
		if i > 0 && !follows(p.lines[i-1], each) {
			out.WriteString("      …\n")
		}
		if each.New > 0 {
			fmt.Fprintf(&out, "%5d %c%s\n", each.New, each.Kind, each.Text)
		} else {
			fmt.Fprintf(&out, "      %c%s\n", each.Kind, each.Text)
		}
	}
	return out.String()
}

// follows reports whether a line is directly after another one.
func follows(before, after line) bool {
	switch {
	case before.New > 0 && after.New > 0:
		return after.New == before.New+1
	case before.Old > 0 && after.Old > 0:
		return after.Old == before.Old+1
	}
	return true // one is removed, the other added: they are adjacent
}

// split splits a passage that is longer than room bytes between lines. A single longer
// line stays whole: no change is omitted.
func (p passage) split(room int) (parts []passage) {
	current, size := passage{path: p.path}, 0
	for _, each := range p.lines {
		length := len(each.Text) + numberWidth
		if size > 0 && size+length > room {
			parts = append(parts, current)
			current, size = passage{path: p.path}, 0
		}
		current.lines = append(current.lines, each)
		size += length
	}
	return append(parts, current)
}

// numberWidth is what text adds to a line, in bytes.
const numberWidth = 8
