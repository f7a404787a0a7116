package adopt

import (
	"cmp"
	"html"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

var (
	mermaidHead = pattern.Lazy(`(?i)^(?:flowchart|graph)\b`)
	// mermaidAside is what says nothing of the procedure: the front matter, directives,
	// comments and descriptions in braces.
	mermaidAside = pattern.Lazy(`\A\s*---\n(?s:.*?)\n---|(?s:%%\{.*?\}%%)|(?m:^\s*%%.*$)|accDescr\s*\{[^}]*\}`)
	// mermaidRest are statements that draw.
	mermaidRest   = pattern.Lazy(`^(?:classDef|class|style|linkStyle|click|subgraph|end|direction|accTitle|accDescr)(?:[\s:]|$)`)
	mermaidEntity = pattern.Lazy(`#(\w+);`)
	mermaidID     = pattern.Lazy(`^(?:[-=]?[\p{L}\p{M}\p{N}_!#$%'*+?\\/]|\.)+`)
	// mermaidData is the shape and the label of a node as @{shape: diamond, label: "…"}.
	mermaidData  = pattern.Lazy(`^@\{(?:"[^"]*"|[^"}])*\}`)
	mermaidLabel = pattern.Lazy(`\blabel:\s*"([^"]*)"`)
	mermaidClass = pattern.Lazy(`^:::\w+(?:-\w+)*`)
	// mermaidArrow is an arrow with an id, and words behind it: -->, e1@-->, -.->, ==>|yes|.
	mermaidArrow = pattern.Lazy(`^(?:([\w-]+)@)?[<ox]?(?:--+[->ox]|==+[=>ox]|-\.+-[>ox]?|(~~~+))(?:\s*\|\s*("[^"]*"|[^|]*?)\s*\|)?`)
	// mermaidWords is an arrow with words within: -- yes -->, == yes ==>, -.yes.->.
	mermaidWords = pattern.Lazy(`^(?:([\w-]+)@)?[<ox]?(?:--\s*("[^"]*"|.+?)\s*--+[->ox]|==\s*("[^"]*"|.+?)\s*==+[=>ox]|-\.\s*("[^"]*"|.+?)\s*\.+-[>ox]?)`)
	// mermaidOpen ends a line that goes on in the next one.
	mermaidOpen   = pattern.Lazy(`(?:--[->]|==[=>]|\.->?|~~~|&|\|)$`)
	mermaidTag    = pattern.Lazy(`<br\s*/?>`)
	mermaidQuoted = pattern.Lazy(`^\s*"[^"]*"\s*`)
	mermaidChar   = pattern.Lazy("#(\\w+)" + entityEnd)
)

// shapes are the brackets of nodes, those that others begin with after them.
var shapes = []struct {
	open  string
	close []string
}{{"(((", []string{")))"}}, {"((", []string{"))"}}, {"([", []string{"])"}}, {"(", []string{")"}}, {"[[", []string{"]]"}}, {"[(", []string{")]"}},
	{"[/", []string{"/]", `\]`}}, {`[\`, []string{`\]`, "/]"}}, {"[", []string{"]"}}, {"{{", []string{"}}"}}, {"{", []string{"}"}}, {">", []string{"]"}}}

// entityEnd stands for the semicolon of an entity, which ends no statement.
const entityEnd = "\uE000"

// mermaid reads a flowchart, statement by statement.
type mermaid struct {
	chart
	arrowIDs map[string]bool
}

// readMermaid reads a flowchart; first is the line of its first line in the document.
func (d *Draft) readMermaid(source string, first int, above string) ([]*Step, error) {
	m := &mermaid{arrowIDs: map[string]bool{}}
	started := false
	for _, each := range statements(source) {
		line := first + each.line
		switch {
		case !started && mermaidHead().MatchString(each.text):
			started = true
			d.Kind = cmp.Or(d.Kind, "mermaid")
		case !started:
			return nil, fault.New(fault.YAMLSchemaViolation, "line %d: a flowchart begins with flowchart or graph, and this is %q", line, fault.Cut(each.text, 60))
		case mermaidRest().MatchString(each.text):
		case len(each.text) > maxStatement:
			return nil, fault.New(fault.LimitExceeded, "line %d: a statement of a flowchart has at most %d bytes: write its arrows in lines of their own", line, maxStatement)
		default:
			if err := m.statement(each.text, line); err != nil {
				return nil, err
			}
		}
	}
	return d.readChart(&m.chart, above)
}

// maxStatement bounds a statement, in bytes.
const maxStatement = 10_000

// statement is one statement of a flowchart, and its line, which counts from 0.
type statement struct {
	text string
	line int
}

// statements splits a flowchart at the ends of lines and at semicolons, outside of quotes.
func statements(source string) (all []statement) {
	source = mermaidAside().ReplaceAllStringFunc(source, func(aside string) string { return strings.Repeat("\n", strings.Count(aside, "\n")) })
	source = mermaidEntity().ReplaceAllString(source, "#${1}"+entityEnd)
	quoted, begin, line, from := false, 0, 0, 0
	for i, char := range source + "\n" {
		switch {
		case char == '"':
			quoted = !quoted
		case quoted || char != '\n' && char != ';':
		default:
			text := strings.TrimSpace(source[begin:i])
			if last := len(all) - 1; text != "" && last >= 0 && len(all[last].text) <= maxStatement && isOpen(all[last].text) {
				all[last].text += " " + text
			} else if text != "" {
				all = append(all, statement{text, from})
			}
			begin = i + 1
		}
		if char == '\n' {
			line++
		}
		if begin == i+1 {
			from = line
		}
	}
	return all
}

// isOpen reports whether a statement goes on in the next line.
func isOpen(text string) bool { return mermaidOpen().MatchString(text[max(0, len(text)-8):]) }

// statement reads A[text] -->|label| B & C --> D.
func (m *mermaid) statement(text string, line int) error {
	if id, _, is := strings.Cut(text, "@{"); is && m.arrowIDs[id] { // how an arrow is drawn
		return nil
	}
	from, rest, err := m.group(text, line)
	for err == nil && rest != "" {
		found := mermaidArrow().FindStringSubmatch(rest)
		if found == nil {
			found = mermaidWords().FindStringSubmatch(rest)
		}
		if found == nil {
			return unreadable(rest, line)
		}
		m.arrowIDs[found[1]] = true
		hidden := strings.HasPrefix(found[2], "~~~")
		label, _ := readable(cmp.Or(found[2:]...))
		var to []*node
		if to, rest, err = m.group(rest[len(found[0]):], line); err != nil {
			return err
		}
		for _, a := range from {
			for _, b := range to {
				if !hidden {
					m.arrow(a, b, label, line)
				}
			}
		}
		from = to
	}
	return err
}

func unreadable(text string, line int) error {
	return fault.New(fault.YAMLSchemaViolation, "line %d: the flowchart cannot be read at %q", line, fault.Cut(text, 60))
}

// group reads nodes joined by &.
func (m *mermaid) group(text string, line int) (nodes []*node, rest string, err error) {
	for {
		text = strings.TrimSpace(text)
		id := mermaidID().FindString(text)
		if id == "" {
			return nil, "", unreadable(text, line)
		}
		label, rest := shapeOf(text[len(id):])
		words, quote := readable(label)
		nodes = append(nodes, m.node(id, words, line, cmp.Or(quote, id)))
		rest = strings.TrimSpace(rest[len(mermaidClass().FindString(rest)):])
		joined, more := strings.CutPrefix(rest, "&")
		if !more {
			return nodes, rest, nil
		}
		text = joined
	}
}

// shapeOf takes the shape of a node off a text, and returns the label in it.
func shapeOf(text string) (label, rest string) {
	if data := mermaidData().FindString(text); data != "" {
		if found := mermaidLabel().FindStringSubmatch(data); found != nil {
			label = found[1]
		}
		return label, text[len(data):]
	}
	for _, shape := range shapes {
		inner, is := strings.CutPrefix(text, shape.open)
		if !is {
			continue
		}
		quoted := mermaidQuoted().FindString(inner)
		end, size := -1, 0
		for _, each := range shape.close {
			if at := strings.Index(inner[len(quoted):], each); at >= 0 && (end < 0 || at < end) {
				end, size = at, len(each)
			}
		}
		if end < 0 || quoted != "" && end > 0 {
			continue
		}
		end += len(quoted)
		return inner[:end], inner[end+size:]
	}
	return "", text
}

// readable returns a label without its quotes, tags and entities, and the part of it that
// stands in one line of the document as it is.
func readable(label string) (words, quote string) {
	label = strings.Trim(strings.TrimSpace(label), "\"`")
	quote, _, _ = strings.Cut(strings.ReplaceAll(label, entityEnd, ";"), "\n")
	words = mermaidTag().ReplaceAllString(label, " ")
	for _, each := range mermaidChar().FindAllStringSubmatch(words, -1) {
		name := each[1]
		if name[0] >= '0' && name[0] <= '9' {
			name = "#" + name
		}
		words = strings.ReplaceAll(words, each[0], html.UnescapeString("&"+name+";"))
	}
	return strings.Join(strings.Fields(words), " "), strings.TrimSpace(quote)
}
