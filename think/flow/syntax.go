package flow

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A file's YAML as a tree takes a tenth of the time to read that the file
// takes: a run of a large workflow that is opened again in another process
// would wait for little else. The tree is of one source, whose texts it points
// to instead of repeating them.
//
// Its bytes are the mark, the number of nodes, and the nodes from the root
// down: what they are, their line as the distance from the node before, their
// column, their text, and how many nodes are below. Numbers are varints.

// syntaxMark names the form of the tree and what made it: another version of
// yaml.v3 may read a file differently.
const syntaxMark = "savant syntax 1, yaml.v3 v3.0.1\n"

// The bits of a node's first byte, above which stands its kind.
const (
	inSource  = 1 << iota // its text is in the source where the node stands
	commented             // a line comment follows
	kindShift = iota
)

// tags are those that a checked tree can have, by number.
var tags = []string{"", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!timestamp", "!!binary", "!!merge"}

// encodeSyntax writes a checked tree; nil where it has what none can have.
func encodeSyntax(src []byte, root *yaml.Node) []byte {
	w := &syntaxWriter{at: newPlaces(src), out: []byte(syntaxMark), fits: true}
	w.out = binary.AppendUvarint(w.out, uint64(countNodes(root)))
	w.node(root)
	if !w.fits {
		return nil
	}
	return w.out
}

func countNodes(node *yaml.Node) int {
	count := 1
	for _, child := range node.Content {
		count += countNodes(child)
	}
	return count
}

type syntaxWriter struct {
	at   *places
	out  []byte
	line int
	fits bool
}

func (w *syntaxWriter) node(node *yaml.Node) {
	tag := slices.Index(tags, node.Tag)
	if tag < 0 || node.Style > 255 || node.Kind > 255>>kindShift {
		w.fits = false
		return
	}
	first := byte(node.Kind) << kindShift
	here := w.at.holds(node)
	if here {
		first |= inSource
	}
	if node.LineComment != "" {
		first |= commented
	}
	w.out = append(w.out, first, byte(node.Style), byte(tag))
	w.out = binary.AppendVarint(w.out, int64(node.Line-w.line))
	w.line = node.Line
	w.out = binary.AppendUvarint(w.out, uint64(node.Column))
	w.out = binary.AppendUvarint(w.out, uint64(len(node.Value)))
	if !here {
		w.out = append(w.out, node.Value...)
	}
	if node.LineComment != "" {
		w.out = binary.AppendUvarint(w.out, uint64(len(node.LineComment)))
		w.out = append(w.out, node.LineComment...)
	}
	w.out = binary.AppendUvarint(w.out, uint64(len(node.Content)))
	for _, child := range node.Content {
		w.node(child)
	}
}

// decodeSyntax reads a tree of a source; nil where data is not one.
func decodeSyntax(src, data []byte) *yaml.Node {
	rest, ok := bytes.CutPrefix(data, []byte(syntaxMark))
	if !ok {
		return nil
	}
	r := &syntaxReader{at: newPlaces(src), source: string(src), rest: rest}
	count := r.number()
	if count < 1 || count > min(maxNodes+1, len(data)) {
		return nil
	}
	r.free = make([]yaml.Node, count)
	root := r.node(0)
	if r.bad || len(r.rest) > 0 || len(r.free) > 0 {
		return nil
	}
	return root
}

type syntaxReader struct {
	at     *places
	source string
	rest   []byte
	free   []yaml.Node
	line   int
	bad    bool
}

func (r *syntaxReader) node(depth int) *yaml.Node {
	head := r.take(3)
	if r.bad || len(r.free) == 0 || depth > maxDepth+1 || int(head[2]) >= len(tags) {
		r.bad = true
		return nil
	}
	node := &r.free[0]
	r.free = r.free[1:]
	node.Kind, node.Style, node.Tag = yaml.Kind(head[0]>>kindShift), yaml.Style(head[1]), tags[head[2]]
	r.line += r.signed()
	node.Line, node.Column = r.line, r.number()
	if size := r.number(); head[0]&inSource != 0 {
		from := r.at.textAt(node)
		if from < 0 || size > len(r.source)-from {
			r.bad = true
			return nil
		}
		node.Value = r.source[from : from+size]
	} else {
		node.Value = string(r.take(size))
	}
	if head[0]&commented != 0 {
		node.LineComment = string(r.take(r.number()))
	}
	r.below(node, r.number(), depth)
	return node
}

// below reads what a node holds: members in pairs, whose keys are texts.
func (r *syntaxReader) below(node *yaml.Node, count, depth int) {
	scalar := node.Kind == yaml.ScalarNode
	if !scalar && node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode {
		r.bad = true
	}
	if r.bad || count > len(r.free) || scalar && count > 0 || node.Kind == yaml.MappingNode && count%2 != 0 {
		r.bad = true
		return
	}
	if count == 0 {
		return
	}
	node.Content = make([]*yaml.Node, count)
	for i := range node.Content {
		child := r.node(depth + 1)
		if r.bad || node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind != yaml.ScalarNode {
			r.bad = true
			return
		}
		node.Content[i] = child
	}
}

func (r *syntaxReader) take(size int) []byte {
	if r.bad || size < 0 || size > len(r.rest) {
		r.bad = true
		return make([]byte, 3)
	}
	taken := r.rest[:size]
	r.rest = r.rest[size:]
	return taken
}

func (r *syntaxReader) number() int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > maxSource*2 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *syntaxReader) signed() int {
	n, size := binary.Varint(r.rest)
	if size <= 0 || n > maxSource || n < -maxSource {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// places finds where in the source a line and column are.
type places struct {
	source []byte
	lines  []int // where they begin
	// cursor is where textAt looked last, and offset there: nodes come in the
	// order of the file, so that a long line is gone over once.
	cursor place
	offset int
}

func newPlaces(src []byte) *places {
	p := &places{source: src, lines: make([]int, 1, bytes.Count(src, []byte("\n"))+1)}
	for at, c := range src {
		if c == '\n' {
			p.lines = append(p.lines, at+1)
		}
	}
	return p
}

// textAt returns the offset at which the text of a node would begin if it stood
// in the source as it is, or -1: behind the quote, if it has one. Columns count
// characters.
func (p *places) textAt(node *yaml.Node) int {
	if node.Line < 1 || node.Line > len(p.lines) {
		return -1
	}
	if p.cursor.line != node.Line || p.cursor.column > node.Column {
		p.cursor, p.offset = place{node.Line, 1}, p.lines[node.Line-1]
	}
	for ; p.cursor.column < node.Column && p.offset < len(p.source); p.cursor.column++ {
		_, size := utf8.DecodeRune(p.source[p.offset:])
		p.offset += size
	}
	at := p.offset
	if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	if at > len(p.source) {
		return -1
	}
	return at
}

// holds says whether the text of a node stands in the source as it is.
func (p *places) holds(node *yaml.Node) bool {
	at := p.textAt(node)
	return node.Value != "" && at >= 0 && bytes.HasPrefix(p.source[at:], []byte(node.Value))
}
