package lsp

import (
	"strings"

	"savant/internal/pattern"
)

// item is what stands for the items of a list in the path of a place.
const item = "[]"

// cursor is where the cursor stands in a YAML text, which may be half written: it is read
// from the indentation, line by line.
type cursor struct {
	// path are the keys from the root to the value at the cursor, item for each list.
	path []string
	// key: the cursor is in a key, which is not in path.
	key bool
	// before is the value up to the cursor.
	before string
	// siblings are the plain values of each mapping on the way, by the length of its path.
	siblings map[int]map[string]string
}

var keyed = pattern.Lazy(`^("[^"]*"|'[^']*'|[^\s:#{}\[\],"'-][^:#{}\[\],]*?|-[^\s:#{}\[\],][^:#{}\[\],]*?)\s*:(?:\s+|$)`)

// row is a line: where its list marks stand, and its key and value.
type row struct {
	marks []int // the columns of "-"
	at    int   // where the rest begins
	key   string
	value string // behind the key; without a key, the whole rest
	from  int    // where value begins
}

// blank reports a line without content.
func (r row) blank() bool { return r.key == "" && r.value == "" && len(r.marks) == 0 }

func rowOf(line string) row {
	r := row{}
	indent := func() {
		for r.at < len(line) && line[r.at] == ' ' {
			r.at++
		}
	}
	for indent(); r.at < len(line) && line[r.at] == '-' && (r.at+1 == len(line) || line[r.at+1] == ' '); indent() {
		r.marks = append(r.marks, r.at)
		r.at++
	}
	rest := line[r.at:]
	if strings.HasPrefix(rest, "#") {
		rest = ""
	}
	if found := keyed().FindStringSubmatchIndex(rest); found != nil {
		r.key, r.value, r.from = strings.Trim(rest[found[2]:found[3]], `"'`), rest[found[1]:], r.at+found[1]
		return r
	}
	r.value, r.from = rest, r.at
	return r
}

// placeAt returns the place of a byte of a line.
func placeAt(text lines, number, at int) cursor {
	line := text.line(number)
	at = min(at, len(line))
	cut := line[:at]
	here, whole := rowOf(cut), rowOf(line)
	p := cursor{siblings: map[int]map[string]string{}}
	indent := here.at
	if here.blank() {
		indent = at
	}
	up := p.above(text, number, indent, here.marks)
	p.path = up
	p.key = here.key == ""
	if p.before = here.value; here.key != "" {
		p.path = append(p.path, here.key)
	}
	p.note(text, number, whole.at, len(up))
	if strings.HasPrefix(here.value, "{") || strings.HasPrefix(here.value, "[") {
		p.flow(here.value, line[min(len(line), here.from):])
	}
	return p
}

// above returns the path of the mapping or list that a line with an indentation is in.
func (p *cursor) above(text lines, number, indent int, marks []int) (path []string) {
	var reversed []string
	limit, listed := indent, false
	pass := func(marks []int) {
		for i := len(marks) - 1; i >= 0; i-- {
			reversed = append(reversed, item)
			limit, listed = marks[i], true
		}
	}
	type level struct{ line, indent, depth int }
	var levels []level
	pass(marks)
	for number--; number >= 0 && (limit > 0 || listed); number-- {
		r := rowOf(text[number])
		if r.blank() {
			continue
		}
		if r.key != "" && (r.at < limit || listed && r.at == limit && len(r.marks) == 0) {
			levels = append(levels, level{number, r.at, len(reversed) + 1})
			reversed = append(reversed, r.key)
			limit, listed = r.at, false
			pass(r.marks)
			continue
		}
		if len(r.marks) > 0 && r.marks[0] < limit { // an item whose mapping begins in this line
			for _, mark := range r.marks {
				if mark < limit && r.at >= limit {
					pass([]int{mark})
				}
			}
		}
	}
	for i := len(reversed) - 1; i >= 0; i-- {
		path = append(path, reversed[i])
	}
	for _, each := range levels {
		p.note(text, each.line, each.indent, len(path)-each.depth)
	}
	return path
}

// note keeps the plain values of the mapping that a line is in.
func (p *cursor) note(text lines, number, indent, depth int) {
	found := map[string]string{}
	read := func(r row) {
		if r.key != "" && r.at == indent {
			found[r.key] = plain(r.value)
		}
	}
	for at := number; at >= 0; at-- {
		r := rowOf(text[at])
		if r.blank() || r.at > indent && len(r.marks) == 0 {
			continue
		}
		if read(r); r.at < indent || len(r.marks) > 0 && r.at == indent {
			break
		}
	}
	for at := number + 1; at < len(text); at++ {
		r := rowOf(text[at])
		if r.blank() {
			continue
		}
		if r.at < indent || len(r.marks) > 0 && r.marks[0] < indent {
			break
		}
		if len(r.marks) == 0 {
			read(r)
		}
	}
	p.siblings[depth] = found
}

func plain(value string) string {
	value, _, _ = strings.Cut(value, " #")
	return strings.Trim(strings.TrimSpace(value), `"'`)
}

// flow follows a value in braces up to the cursor.
func (p *cursor) flow(before, whole string) {
	type level struct {
		open  byte
		begin int
		key   string
	}
	var open []level
	from, quote := 0, byte(0)
	for i := 0; i < len(before); i++ {
		c := before[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.TrimSpace(before[from:i]) == "":
			quote = c
		case c == '{' || c == '[':
			open, from = append(open, level{open: c, begin: i}), i+1
		case (c == '}' || c == ']') && len(open) > 0:
			open, from = open[:len(open)-1], i+1
		case c == ',' && len(open) > 0:
			open[len(open)-1].key, from = "", i+1
		case c == ':' && len(open) > 0 && open[len(open)-1].open == '{' && (i+1 == len(before) || before[i+1] == ' '):
			open[len(open)-1].key, from = strings.Trim(strings.TrimSpace(before[from:i]), `"'`), i+1
		}
	}
	if len(open) == 0 {
		return
	}
	for i, each := range open {
		switch {
		case each.open == '[':
			p.path = append(p.path, item)
		default:
			p.siblings[len(p.path)] = entries(whole[each.begin:])
			if each.key != "" {
				p.path = append(p.path, each.key)
			}
		}
		if i == len(open)-1 {
			p.key = each.open == '{' && each.key == ""
			p.before = strings.TrimLeft(before[from:], ` "'`)
		}
	}
}

var entryPattern = pattern.Lazy(`([A-Za-z_][\w-]*)\s*:\s*("[^"]*"|'[^']*'|[^,{}\[\]]*)`)

// entries are the plain values of a mapping in braces, up to the first that closes.
func entries(text string) map[string]string {
	found := map[string]string{}
	for _, each := range entryPattern().FindAllStringSubmatch(outermost(text), -1) {
		found[each[1]] = plain(each[2])
	}
	return found
}

// outermost is the text of a mapping in braces, up to the first that closes: brackets and what
// is nested in it are spaces, so that the rest stands where it stood.
func outermost(text string) string {
	own, depth := []byte(text), 0
	for i, c := range own {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth == 1 {
				continue
			}
		}
		if own[i] = ' '; depth == 0 {
			return string(own[:i])
		}
	}
	return string(own)
}
