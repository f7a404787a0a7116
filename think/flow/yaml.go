package flow

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Bounds of a workflow file: far above any real workflow and far below what
// exhausts memory. Aliases are refused because 1,000 aliases of a 1 MB scalar
// are 1 GB as JSON (measured on yaml.v3 v3.0.1).
const (
	maxSource = 4 << 20
	maxNodes  = 400_000
	maxDepth  = 40
)

// readSource parses the bytes of a file into one YAML tree that holds only what JSON
// can express: no anchors, aliases, merges, tags, duplicate or non-string keys, and no
// second document.
func (r *report) readSource(src []byte) *yaml.Node {
	if len(src) > maxSource {
		r.addAt(fault.LimitExceeded, "", position{1, 1}, "the file has %d bytes; at most %d are read", len(src), maxSource)
		return nil
	}
	if at := invalidUTF8(src); at >= 0 {
		line := bytes.Count(src[:at], []byte("\n")) + 1
		r.addAt(fault.YAMLSchemaViolation, "", position{line, at - bytes.LastIndexByte(src[:at], '\n')},
			"not UTF-8 text; save the file as UTF-8")
		return nil
	}
	r.lines = bytes.Split(src, []byte("\n"))
	decoder := yaml.NewDecoder(bytes.NewReader(withoutVersion(src)))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		r.syntax(err)
		return nil
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			r.syntax(err)
		} else {
			r.add(fault.YAMLSchemaViolation, "", &second, "a second document; a file holds one: remove `---` or use two files")
		}
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		r.addAt(fault.YAMLSchemaViolation, "", position{1, 1}, "the file is empty%s", r.needs)
		return nil
	}
	if slices.ContainsFunc(otherEnds, func(end string) bool { return bytes.Contains(src, []byte(end)) }) {
		relocate(&document, editorLines(src))
	}
	before := len(r.diagnostics)
	root := document.Content[0]
	if r.foreign {
		left := maxSource
		if root, r.lines = expanded(root, 0, &left), nil; left < 0 { // where what is written twice stands is not looked at
			r.addAt(fault.LimitExceeded, "", position{1, 1}, "with its aliases written out the file has over %d bytes", maxSource)
			return nil
		}
	}
	count := 0
	r.checkNode(root, nil, 0, &count)
	if len(r.diagnostics) > before {
		return nil
	}
	return root
}

// expanded returns a copy of a tree in which aliases and merges are written out and tags are
// left out. It ends where nothing is left of a number of bytes, and below the depth that is
// read, so that an alias within its own value ends, too.
func expanded(node *yaml.Node, depth int, left *int) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	made := *node
	made.Anchor, made.Content = "", nil
	if node.Style&yaml.TaggedStyle != 0 {
		made.Style, made.Tag = node.Style&^yaml.TaggedStyle, node.ShortTag()
	}
	*left -= len(node.Value) + 10
	merged := []*yaml.Node{}
	for i, each := range node.Content {
		switch {
		case *left < 0 || depth > maxDepth:
			return &made
		case node.Kind == yaml.MappingNode && node.Content[i&^1].Tag == "!!merge":
			if i%2 == 1 {
				merged = append(merged, expanded(each, depth+1, left))
			}
		default:
			made.Content = append(made.Content, expanded(each, depth+1, left))
		}
	}
	has := map[string]bool{}
	for i := 0; len(merged) > 0 && i < len(made.Content); i += 2 {
		has[made.Content[i].Value] = true
	}
	for slices.Reverse(merged); len(merged) > 0; {
		first := merged[len(merged)-1]
		if merged = merged[:len(merged)-1]; first.Kind == yaml.SequenceNode {
			slices.Reverse(first.Content)
			merged = append(merged, first.Content...)
			continue
		}
		for i := 0; i+1 < len(first.Content); i += 2 {
			if key := first.Content[i].Value; !has[key] {
				has[key] = true
				made.Content = append(made.Content, first.Content[i], first.Content[i+1])
			}
		}
	}
	return &made
}

// lineEnd is what ends a line for yaml.v3. Of it, otherEnds end no line for editors.
var (
	lineEnd   = pattern.Lazy("\r\n|[\r\n\u0085\u2028\u2029]")
	otherEnds = []string{"\u0085", "\u2028", "\u2029"}
)

// editorLines returns for each line of yaml.v3 the line of an editor that has it, and how many
// characters of that line stand before it.
func editorLines(src []byte) []position {
	at, begin := position{line: 1}, 0
	lines := []position{at}
	for _, end := range lineEnd().FindAllIndex(src, -1) {
		if c := src[end[0]]; c == '\n' || c == '\r' {
			at = position{line: at.line + 1}
		} else {
			at.column += utf8.RuneCount(src[begin:end[1]])
		}
		lines, begin = append(lines, at), end[1]
	}
	return lines
}

// relocate counts the lines and columns of a tree as editors do.
func relocate(node *yaml.Node, lines []position) {
	if node.Line > 0 && node.Line <= len(lines) {
		in := lines[node.Line-1]
		node.Line, node.Column = in.line, node.Column+in.column
	}
	for _, each := range node.Content {
		relocate(each, lines)
	}
}

// withoutVersion makes a comment of the directive %YAML 1.2, which yaml.v3 refuses
// although it reads the language.
func withoutVersion(src []byte) []byte {
	for at := len(src) - len(bytes.TrimPrefix(src, []byte("\ufeff"))); at < len(src); {
		line, _, _ := bytes.Cut(src[at:], []byte("\n"))
		switch said := bytes.TrimRight(line, " \t\r"); {
		case len(said) == 0 || said[0] == '#':
		case directive().Match(said):
			src = bytes.Clone(src)
			src[at] = '#'
			return src
		default:
			return src
		}
		at += len(line) + 1
	}
	return src
}

var directive = pattern.Lazy(`^%YAML[ \t]+1\.2(?:[ \t]+#.*)?$`)

// invalidUTF8 returns the offset of the first byte that is not UTF-8 text, or -1. A NUL
// and a byte order mark of UTF-16 count as invalid.
func invalidUTF8(src []byte) int {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return 0
	}
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		if c == 0 || c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func (r *report) checkNode(node *yaml.Node, at *yamlPath, depth int, count *int) {
	*count++
	switch {
	case *count > maxNodes:
		if *count == maxNodes+1 {
			r.add(fault.LimitExceeded, at.path(), node, "more than %d values in one file", maxNodes)
		}
		return
	case depth > maxDepth:
		r.add(fault.LimitExceeded, at.path(), node, "nested deeper than %d", maxDepth)
		return
	case node.Kind == yaml.AliasNode:
		r.add(fault.YAMLSchemaViolation, at.path(), node, "aliases are not part of the language: write the value out, or quote a text that starts with *")
		return
	case node.Anchor != "":
		r.add(fault.YAMLSchemaViolation, at.path(), node, "anchors are not part of the language: remove &%s, or quote a text that starts with &", node.Anchor)
		return
	case node.Style&yaml.TaggedStyle != 0:
		r.tag(at, node, strings.TrimSpace(node.Tag+" "+node.Value))
		return
	case r.startsWith(node, '!'): // a tag without a name leaves no other trace
		r.tag(at, node, "! "+node.Value)
		return
	}
	switch node.Kind {
	case yaml.MappingNode:
		r.checkMapping(node, at, depth, count)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			r.checkNode(item, &yamlPath{above: at, index: i + 1}, depth+1, count)
		}
	case yaml.ScalarNode:
		if r.cutText(node, at); notANumber(node) {
			r.add(fault.YAMLSchemaViolation, at.path(), node, "%s is not a JSON number; quote it if it is text", fault.Cut(node.Value, 80))
		}
	}
}

func (r *report) tag(at *yamlPath, node *yaml.Node, written string) {
	r.add(fault.YAMLSchemaViolation, at.path(), node, "an unquoted ! is a YAML tag and its text is lost: write it quoted, %q", fault.Cut(written, 80))
}

// startsWith says whether a node's text in the file begins with a character.
func (r *report) startsWith(node *yaml.Node, first byte) bool {
	if node.Line < 1 || node.Line > len(r.lines) {
		return false
	}
	line := r.lines[node.Line-1]
	if r.cursor.line != node.Line || r.cursor.column > node.Column {
		r.cursor, r.offset = position{node.Line, 1}, 0
	}
	for ; r.cursor.column < node.Column && r.offset < len(line); r.cursor.column++ {
		_, size := utf8.DecodeRune(line[r.offset:])
		r.offset += size
	}
	return r.offset < len(line) && line[r.offset] == first
}

func (r *report) checkMapping(node *yaml.Node, at *yamlPath, depth int, count *int) {
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Style&yaml.TaggedStyle != 0 || key.Anchor != "" {
			fix := "a key must be plain text"
			if key.Kind == yaml.MappingNode {
				fix = "an unquoted {{ }} is a YAML map: put the template in quotes"
			}
			r.add(fault.YAMLSchemaViolation, at.path(), key, "%s", fix)
			continue
		}
		if line, taken := seen[key.Value]; taken {
			r.add(fault.YAMLSchemaViolation, join(at.path(), key.Value), key, "duplicate key %q, first on line %d: remove one", fault.Cut(key.Value, 80), line)
			continue
		}
		seen[key.Value] = key.Line
		r.cutBefore(key, value, &yamlPath{above: at, key: key.Value})
		if i > 0 && node.Style&yaml.FlowStyle != 0 {
			r.cutByComma(node.Content[i-1], key, value, at)
		}
		if key.Tag != "!!str" && ofStep(at.path()) {
			r.add(fault.YAMLSchemaViolation, at.path(), key, "the key %s is not text: quote it", key.Value)
		}
		r.checkNode(value, &yamlPath{above: at, key: key.Value}, depth+1, count)
	}
}

// ofStep reports whether a path denotes a whole step.
func ofStep(path string) bool {
	return strings.HasPrefix(path, "steps[") && strings.Count(path, ".") == 0
}

// Span returns the bytes of a file that the value of a path has, from begin to end. deeper
// says that the value begins no further right than its key, as a list in lines may. It is
// not known of a plain text in several lines, and of one behind | or > whose first line says
// more than that.
func (l *Layout) Span(src []byte, path string) (begin, end int, deeper, known bool) {
	node := l.values[path]
	if node == nil {
		return 0, 0, false, false
	}
	lines := lineStarts(src)
	begin, known = offset(src, lines, node)
	if !known {
		return 0, 0, false, false
	}
	end, known = endOf(src, lines, node)
	key := l.keys[path]
	return begin, end, node.Line > key.Line && node.Column <= key.Column, known
}

// lineStarts returns where the lines of a text begin.
func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, b := range src {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// offset returns where a node begins; columns count letters.
func offset(src []byte, lines []int, node *yaml.Node) (int, bool) {
	if node.Line < 1 || node.Line > len(lines) {
		return 0, false
	}
	at := lines[node.Line-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(src[at:])
		if at += size; size == 0 {
			return 0, false
		}
	}
	return at, at < len(src)
}

// endOf returns where a node ends.
func endOf(src []byte, lines []int, node *yaml.Node) (int, bool) {
	begin, known := offset(src, lines, node)
	switch {
	case !known:
		return 0, false
	case node.Kind == yaml.ScalarNode && node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return quoteEnd(src, begin)
	case node.Kind == yaml.ScalarNode && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return blockEnd(src, begin)
	case node.Kind == yaml.ScalarNode:
		plain := bytes.HasPrefix(src[begin:], []byte(node.Value))
		return begin + len(node.Value), plain && node.Value != ""
	case src[begin] == '{' || src[begin] == '[':
		return bracketEnd(src, begin)
	case len(node.Content) == 0:
		return 0, false
	}
	return endOf(src, lines, node.Content[len(node.Content)-1])
}

// blockEnd returns the end of the last line of a text behind | or >, which are as far right
// as its first one. Blank lines behind it are none of it.
func blockEnd(src []byte, begin int) (int, bool) {
	head, rest, _ := bytes.Cut(src[begin:], []byte("\n"))
	if bytes.ContainsAny(head, "#0123456789") {
		return 0, false // a comment would be lost; a number says another indentation
	}
	end, at, indent := begin+len(bytes.TrimRight(head, " \r")), begin+len(head)+1, -1
	for line := range bytes.Lines(rest) {
		text := bytes.TrimRight(line, " \r\n")
		own := len(text) - len(bytes.TrimLeft(text, " "))
		if indent < 0 && len(text) > 0 {
			indent = own
		}
		if len(text) > 0 {
			if own < indent {
				break
			}
			end = at + len(bytes.TrimRight(line, "\r\n"))
		}
		at += len(line)
	}
	return end, true
}

// quoteEnd returns the end of a quoted text.
func quoteEnd(src []byte, begin int) (int, bool) {
	quote := src[begin]
	for i := begin + 1; i < len(src); i++ {
		switch {
		case quote == '"' && src[i] == '\\':
			i++
		case src[i] == quote && quote == '\'' && i+1 < len(src) && src[i+1] == quote:
			i++
		case src[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// bracketEnd returns the end of a list or map in brackets.
func bracketEnd(src []byte, begin int) (int, bool) {
	depth := 0
	for i := begin; i < len(src); i++ {
		before := byte(' ')
		if i > begin {
			before = src[i-1]
		}
		switch c := src[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case (c == '"' || c == '\'') && strings.IndexByte(" \n\t,:[{", before) >= 0: // else it is part of a word
			end, known := quoteEnd(src, i)
			if !known {
				return 0, false
			}
			i = end - 1
		case c == '#' && (before == ' ' || before == '\t' || before == '\n'):
			if end := bytes.IndexByte(src[i:], '\n'); end >= 0 {
				i += end
			}
		}
	}
	return 0, false
}

// nodeAt follows a JSON pointer as far as it leads.
func nodeAt(node *yaml.Node, pointer string) *yaml.Node {
	for token := range jsonvalue.Tokens(pointer) {
		below := childOf(node, token)
		if below == nil {
			break
		}
		node = below
	}
	return node
}

// childOf returns the value of a key, or an item by its index, or nil.
func childOf(node *yaml.Node, name string) *yaml.Node {
	if index, err := strconv.Atoi(name); err == nil && node.Kind == yaml.SequenceNode && index >= 0 && index < len(node.Content) {
		return node.Content[index]
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	return entries(node.Content).value(name)
}
