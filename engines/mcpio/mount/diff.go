package mount

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// visible writes out what a terminal would not show as it is: control
// characters, marks that change the direction of text, and other characters
// that cannot be seen.
func visible(text string) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) {
			out.WriteRune(r)
			continue
		}
		fmt.Fprintf(&out, "\\u{%04x}", r)
	}
	return out.String()
}

// lines writes a definition for people, a member at a time; texts as they
// read, not as JSON escapes them.
func lines(definition json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(definition, &members) != nil {
		return nil
	}
	var out []string
	for _, name := range pinnedMembers {
		raw, has := members[name]
		if !has {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var indented bytes.Buffer
			if json.Indent(&indented, raw, "", "  ") == nil {
				text = indented.String()
			}
		}
		out = append(out, name+":")
		for each := range strings.SplitSeq(text, "\n") {
			out = append(out, "  "+each)
		}
	}
	return out
}

const (
	// diffContext is how many lines around a change are shown.
	diffContext = 2
	// maxDiffLines bounds the table by which lines are compared; beyond it
	// the old is shown whole, and then the new.
	maxDiffLines = 3000
)

// edit is one line of a comparison: ' ', '-' or '+'.
type edit struct {
	mark byte
	text string
}

// diff compares lines and shows what changed with a little around it.
func diff(old, now []string) string {
	edits := compareLines(old, now)
	var out strings.Builder
	skipped := false
	for i, each := range edits {
		from, to := max(0, i-diffContext), min(len(edits), i+diffContext+1)
		if !slices.ContainsFunc(edits[from:to], func(near edit) bool { return near.mark != ' ' }) {
			skipped = true
			continue
		}
		if skipped {
			out.WriteString("  …\n")
			skipped = false
		}
		fmt.Fprintf(&out, "%c %s\n", each.mark, visible(each.text))
	}
	return out.String()
}

// compareLines finds the longest common lines of two texts.
func compareLines(old, now []string) []edit {
	if len(old) > maxDiffLines || len(now) > maxDiffLines {
		var all []edit
		for _, text := range old {
			all = append(all, edit{'-', text})
		}
		for _, text := range now {
			all = append(all, edit{'+', text})
		}
		return all
	}
	common := commonLengths(old, now)
	var edits []edit
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			edits = append(edits, edit{' ', old[i]})
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, edit{'-', old[i]})
			i++
		default:
			edits = append(edits, edit{'+', now[j]})
			j++
		}
	}
	return edits
}

// commonLengths returns how many lines two texts have in common from each
// pair of places on.
func commonLengths(old, now []string) [][]uint16 {
	common := make([][]uint16, len(old)+1)
	for i := range common {
		common[i] = make([]uint16, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}
