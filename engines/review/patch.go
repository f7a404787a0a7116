package review

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"savant/internal/pattern"
)

// line is one line of a patch. Old and New are its numbers in both versions, 0 where
// it is not part of one.
type line struct {
	Kind     byte // ' ', '+' or '-'
	Old, New int
	Text     string
}

// passage is a part of a patch that a model reads as one: changed lines with what
// surrounds them.
type passage struct {
	path  string
	lines []line
}

// hunkHeader is "@@ -old,count +new,count @@ section". Counts of 1 are left out.
var hunkHeader = pattern.Lazy(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// parsePatch reads the hunks of one file. Lines before the first hunk are its header.
// What a hunk holds is counted by its header, so that no line of a file can be taken
// for the beginning of another hunk.
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
				return nil, fmt.Errorf("%s: %q begins no line of a hunk", path, lines[i][:1])
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
	begin, _ = strconv.Atoi(first) // the pattern allows digits only; a number too large is 0
	lines = 1
	if count != "" {
		lines, _ = strconv.Atoi(count)
	}
	return begin, lines
}

// around is how many unchanged lines are kept before and after a change, of those
// that the function around it has.
const around = 8

// begins matches the line that a function or the like begins with: as git does
// without a driver for the language, one that is not indented.
var begins = pattern.Lazy(`^[\pL_$]`)

// clip cuts a hunk that shows whole functions down to its changes, the lines around
// them, and the line that the function of each change begins with.
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
	// What stands between two kept parts is left out. A part without a change is the
	// beginning of a function: it goes with the part that follows it.
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

// beginOf returns where the function around a line begins, or -1.
func beginOf(lines []line, at int, begin *regexp.Regexp) int {
	for ; at >= 0; at-- {
		if lines[at].Kind != '-' && begin.MatchString(lines[at].Text) {
			return at
		}
	}
	return -1
}

// changes counts the lines that a passage adds and removes.
func (p passage) changes() (count int) {
	for _, each := range p.lines {
		if each.Kind != ' ' {
			count++
		}
	}
	return count
}

// text writes a passage with the numbers of its lines in the new version; a line that
// is removed has none. Lines left out between two others are an ellipsis.
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

// follows says whether a line stands directly after another one.
func follows(before, after line) bool {
	switch {
	case before.New > 0 && after.New > 0:
		return after.New == before.New+1
	case before.Old > 0 && after.Old > 0:
		return after.Old == before.Old+1
	}
	return true // one is removed, the other added: they stand side by side
}

// split cuts a passage that is longer than room bytes between two lines. A single line
// that is longer stays whole: nothing of a change is left out.
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
