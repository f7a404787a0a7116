package review

import (
	"fmt"
	"slices"
	"strings"
)

// part is what a model reads at once: passages of one or several files.
type part struct {
	passages []passage
}

// pack puts passages into parts of at most room bytes, in order. It splits a longer
// passage at lines and drops pieces without a change.
func pack(passages []passage, room int) (parts []part) {
	var current part
	size := 0
	for _, whole := range passages {
		for _, each := range whole.split(room - headRoom) {
			if each.changes() == 0 {
				continue
			}
			length := len(each.text()) + headRoom + len(each.path)
			if size > 0 && size+length > room {
				parts, current, size = append(parts, current), part{}, 0
			}
			current.passages = append(current.passages, each)
			size += length
		}
	}
	if len(current.passages) > 0 {
		parts = append(parts, current)
	}
	return parts
}

// headRoom is reserved for the heading of a file in a part, in bytes.
const headRoom = 120

// paths are the files of a part, in order.
func (p part) paths() (paths []string) {
	for _, each := range p.passages {
		paths = append(paths, each.path)
	}
	return slices.Compact(paths)
}

func (p part) changes() (count int) {
	for _, each := range p.passages {
		count += each.changes()
	}
	return count
}

// text formats a part for a model: a heading per file, then its passages with numbered
// lines.
func (p part) text(files map[string]fileChange) string {
	var out strings.Builder
	for i, each := range p.passages {
		if p.begins(i) {
			fmt.Fprintf(&out, "## %s (%s)\n", each.path, files[each.path].describe())
		} else {
			out.WriteString("      …\n")
		}
		out.WriteString(each.text())
	}
	return out.String()
}

// begins reports whether a passage is the first one of its file.
func (p part) begins(passage int) bool {
	return passage == 0 || p.passages[passage-1].path != p.passages[passage].path
}

// after returns what follows the first lines of a part's text, by file, and the number of
// changed lines in it.
func (p part) after(shown int) (rest []unseenLines, changed int) {
	at := 0
	for _, each := range p.passages {
		at++ // the heading, or the ellipsis
		for i, line := range each.lines {
			if i > 0 && !follows(each.lines[i-1], line) {
				at++ // an ellipsis
			}
			if at++; at <= shown || line.Kind == ' ' {
				continue
			}
			if len(rest) == 0 || rest[len(rest)-1].Path != each.path {
				rest = append(rest, unseenLines{Path: each.path, From: nextNew(each.lines[i:])})
			}
			rest[len(rest)-1].Lines++
			changed++
		}
	}
	return rest, changed
}

// nextNew is the number that the first of some lines has in the new version, or would
// have if it was not removed.
func nextNew(lines []line) int {
	if i := slices.IndexFunc(lines, func(each line) bool { return each.New > 0 }); i >= 0 {
		return lines[i].New
	}
	return lines[0].Old
}
