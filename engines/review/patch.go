package review

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

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

// hunkHeader matches "@@ -old,count +new,count @@ section". Counts of 1 are omitted.
var hunkHeader = pattern.Lazy(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// parsePatch parses the hunks of one file. Lines before the first hunk are its header.
// The header's counts determine where a hunk ends, so that no line of a file can
// imitate another hunk.
func parsePatch(path, patch string) ([]passage, error) {
	var hunks []passage
	lines := strings.SplitAfter(patch, "\n")
	for i := 0; i < len(lines); {
		match := hunkHeader().FindStringSubmatch(lines[i])
		i++
		if match == nil {
			continue
		}
		old, removed := numbers(match[1], match[2])
		now, added := numbers(match[3], match[4])
		hunk := passage{path: path}
		for ; removed > 0 || added > 0; i++ {
			if i >= len(lines) || lines[i] == "" {
				return nil, fmt.Errorf("%s: the patch ends within a hunk", path)
			}
			text := strings.TrimRight(lines[i][1:], "\n")
			switch lines[i][0] {
			case ' ', '\n':
				hunk.lines = append(hunk.lines, line{' ', old, now, text})
				old, now, removed, added = old+1, now+1, removed-1, added-1
			case '+':
				hunk.lines = append(hunk.lines, line{'+', 0, now, text})
				now, added = now+1, added-1
			case '-':
				hunk.lines = append(hunk.lines, line{'-', old, 0, text})
				old, removed = old+1, removed-1
			case '\\': // no newline at the end of the file
			default:
				return nil, fmt.Errorf("%s: no line of a hunk begins with %q", path, lines[i][:1])
			}
		}
		hunks = append(hunks, hunk)
	}
	return hunks, nil
}

// longest is the length of the longest changed line, in bytes.
func (p passage) longest() (most int) {
	for _, each := range p.lines {
		if each.Kind != ' ' {
			most = max(most, len(each.Text))
		}
	}
	return most
}

func numbers(first, count string) (begin, lines int) {
	begin, _ = strconv.Atoi(first) // the pattern allows digits only; of more than fit it takes the largest number
	lines = 1
	if count != "" {
		lines, _ = strconv.Atoi(count)
	}
	return begin, lines
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
		if at := beginOf(hunk.lines, i, begins()); at >= 0 {
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
func beginOf(lines []line, at int, begin *regexp.Regexp) int {
	for ; at >= 0; at-- {
		if lines[at].Kind != '-' && begin.MatchString(lines[at].Text) {
			return at
		}
	}
	return -1
}

// changes counts the added and removed lines of a passage.
func (p passage) changes() (count int) {
	for _, each := range p.lines {
		if each.Kind != ' ' {
			count++
		}
	}
	return count
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
