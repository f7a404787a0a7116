package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"savant/fault"
)

// The layout counts in pixels: so many are a letter of a text drawing, and a row of it.
const (
	letterWidth = columnGap / 3
	rowHeight   = 16
)

// maxTextNodes bounds the nodes of a text drawing: a larger one is not read.
const maxTextNodes = 400

// Text draws a graph with the letters of ASCII. Each node is a box with lines of text, below
// those that it comes after. A + joins lines; where lines merely cross, the vertical one
// goes on. LIMIT_EXCEEDED above 400 nodes.
func Text(nodes [][]string, edges []Edge) (string, error) {
	if len(nodes) > maxTextNodes {
		return "", fault.New(fault.LimitExceeded, "%d nodes; at most %d are drawn as text", len(nodes), maxTextNodes)
	}
	sizes := make([]Size, len(nodes))
	for i, lines := range nodes {
		for _, line := range lines {
			sizes[i].Width = max(sizes[i].Width, (utf8.RuneCountInString(line)+4)*letterWidth)
		}
		sizes[i].Height = rowHeight
	}
	drawing := Layout(sizes, edges)
	t := &textDrawing{drawing: drawing, edges: edges, nodes: nodes, levels: map[int]int{}}
	for _, box := range drawing.Nodes {
		t.levels[box.Y] = 0
	}
	for i, y := range slices.Sorted(maps.Keys(t.levels)) {
		t.levels[y] = i
	}
	for level := range len(t.levels) {
		t.row(level)
		t.gap(level)
	}
	return t.String(), nil
}

// textDrawing is a text drawing under way.
type textDrawing struct {
	drawing Drawing
	edges   []Edge
	nodes   [][]string
	levels  map[int]int // the row of nodes by their Y
	lines   [][]rune
}

// columns returns where an edge crosses the gaps: below each row from that of its upper
// node on, and above that of its lower one.
func (t *textDrawing) columns(edge int) (columns []int) {
	points := t.drawing.Edges[edge]
	for i := 1; i < len(points); i += 2 {
		columns = append(columns, points[i].X/letterWidth)
	}
	return append(columns, points[len(points)-1].X/letterWidth)
}

func (t *textDrawing) level(node int) int { return t.levels[t.drawing.Nodes[node].Y] }

// row draws the nodes of a row, and the edges that pass between them.
func (t *textDrawing) row(level int) {
	height := 0
	for i, lines := range t.nodes {
		if t.level(i) == level {
			height = max(height, len(lines)+2)
		}
	}
	top := len(t.lines)
	t.lines = append(t.lines, make([][]rune, height)...)
	for i, edge := range t.edges {
		if from, to := t.level(edge.From), t.level(edge.To); from < level && level < to {
			if columns := t.columns(i); level-from < len(columns) {
				for line := range height {
					t.put(top+line, columns[level-from], '|')
				}
			}
		}
	}
	for i, lines := range t.nodes {
		if t.level(i) != level {
			continue
		}
		left, width := t.drawing.Nodes[i].X/letterWidth, t.drawing.Nodes[i].Width/letterWidth
		for line := range height {
			text := ""
			if line > 0 && line <= len(lines) {
				text = lines[line-1]
			}
			whole := "| " + text + strings.Repeat(" ", width-4-utf8.RuneCountInString(text)) + " |"
			if line == 0 || line == height-1 {
				whole = "+" + strings.Repeat("-", width-2) + "+"
			}
			for k, letter := range []rune(whole) {
				t.put(top+line, left+k, letter)
			}
		}
	}
}

// bundle is what leads from one column above a gap to columns below it.
type bundle struct {
	from int
	to   []int
}

// straight reports whether all of it goes straight down.
func (b bundle) straight() bool {
	return !slices.ContainsFunc(b.to, func(to int) bool { return to != b.from })
}

// gap draws the edges between a row and the next one. Each bundle that is not straight has
// a line of its own, so that no two lie on each other.
func (t *textDrawing) gap(level int) {
	bundles, arrows := t.bundles(level)
	if len(bundles) == 0 {
		return
	}
	top := len(t.lines)
	height := 1 + len(slices.DeleteFunc(slices.Clone(bundles), bundle.straight))
	t.lines = append(t.lines, make([][]rune, height)...)
	line := top
	for _, b := range bundles {
		if b.straight() {
			for each := top; each < top+height; each++ {
				t.put(each, b.from, '|')
			}
			continue
		}
		for each := top; each < line; each++ {
			t.put(each, b.from, '|')
		}
		for column := min(b.from, slices.Min(b.to)); column <= max(b.from, slices.Max(b.to)); column++ {
			if t.get(line, column) != '|' {
				t.put(line, column, '-')
			}
		}
		t.put(line, b.from, '+')
		for _, to := range b.to {
			t.put(line, to, '+')
			for each := line + 1; each < top+height; each++ {
				if t.get(each, to) != '+' {
					t.put(each, to, '|')
				}
			}
		}
		line++
	}
	for _, column := range arrows {
		t.put(top+height-1, column, 'v')
	}
}

// bundles returns what crosses a gap, in the order of their lines, and the columns that
// end at a node. A bundle that begins where another one ends is above it.
func (t *textDrawing) bundles(level int) (ordered []bundle, arrows []int) {
	found := map[int][]int{}
	for i, edge := range t.edges {
		from, to, columns := t.level(edge.From), t.level(edge.To), t.columns(i)
		at := level - from
		if at < 0 || level >= to || at+1 >= len(columns) {
			continue
		}
		found[columns[at]] = append(found[columns[at]], columns[at+1])
		if level == to-1 {
			arrows = append(arrows, columns[at+1])
		}
	}
	var open []bundle
	for from, to := range found {
		slices.Sort(to)
		open = append(open, bundle{from, slices.Compact(to)})
	}
	slices.SortFunc(open, func(a, b bundle) int { return cmp.Compare(a.from, b.from) })
	for len(open) > 0 {
		next := slices.IndexFunc(open, func(b bundle) bool {
			return !slices.ContainsFunc(open, func(other bundle) bool { return other.from != b.from && slices.Contains(b.to, other.from) })
		})
		next = max(next, 0)
		ordered, open = append(ordered, open[next]), slices.Delete(open, next, next+1)
	}
	return ordered, arrows
}

func (t *textDrawing) get(line, column int) rune {
	if column < len(t.lines[line]) {
		return t.lines[line][column]
	}
	return ' '
}

func (t *textDrawing) put(line, column int, letter rune) {
	for len(t.lines[line]) <= column {
		t.lines[line] = append(t.lines[line], ' ')
	}
	t.lines[line][column] = letter
}

// String returns the drawing without the margin that all lines have.
func (t *textDrawing) String() string {
	var out strings.Builder
	for _, line := range t.lines {
		out.WriteString(strings.TrimRight(strings.TrimPrefix(string(line), strings.Repeat(" ", margin/letterWidth)), " ") + "\n")
	}
	return out.String()
}
