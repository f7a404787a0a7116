package adopt

import (
	"cmp"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

var (
	mermaidHead = pattern.Lazy(`(?i)^\s*(flowchart|graph)\b`)
	// mermaidNode is ID with its shape, and what follows: [text], (text), {text}, ((text)), [[text]], >text] …
	mermaidNode = pattern.Lazy(`^([A-Za-z0-9_][A-Za-z0-9_.-]*?)\s*(?:(\[{1,2}[(/\\]?|\({1,3}\[?|\{{1,2}|>)\s*("[^"]*"|[^\]})"]*?)\s*([)/\\]?\]{1,2}|\]?\){1,3}|\}{1,2}))?(?::::[A-Za-z0-9_-]+)?\s*(&\s*|$|[<ox]?(?:--|==|-\.)|~~~)`)
	// mermaidArrow is an arrow with its words: -->|yes|, -- yes -->, -.->, ==>.
	mermaidArrow = pattern.Lazy(`^\s*(?:<|o|x)?(?:--\s+([^->|]+?)\s+--+[>ox]?|==\s+([^=>|]+?)\s+==+>?|-\.\s+([^.>|]+?)\s+\.-+>?|(?:--+|==+|-\.+-)[>ox]?)\s*(?:\|\s*("[^"]*"|[^|]*?)\s*\|)?\s*`)
)

// mermaidRest are statements that draw, and say nothing of the procedure.
var mermaidRest = []string{"classDef", "class", "style", "linkStyle", "click", "subgraph", "end", "direction", "%%", "---", "accTitle", "accDescr", "title"}

// readMermaid reads a flowchart; first is the line of its first line in the document.
func (d *Draft) readMermaid(source string, first int) error {
	c := &chart{}
	started := false
	for i, line := range strings.Split(source, "\n") {
		for statement := range strings.SplitSeq(line, ";") {
			statement = strings.TrimSpace(statement)
			switch {
			case statement == "":
			case !started && mermaidHead().MatchString(statement):
				started = true
				if d.Kind == "" {
					d.Kind = "mermaid"
				}
			case drawing(statement):
			case !started:
				return fault.New(fault.YAMLSchemaViolation, "line %d: a flowchart begins with flowchart or graph, and this is %q", first+i, fault.Cut(statement, 60))
			default:
				if err := c.statement(statement, first+i); err != nil {
					return err
				}
			}
		}
	}
	if len(c.nodes) == 0 {
		return fault.New(fault.YAMLSchemaViolation, "the flowchart has no node")
	}
	d.readChart(c)
	return nil
}

func drawing(statement string) bool {
	for _, each := range mermaidRest {
		if rest, is := strings.CutPrefix(statement, each); is && (rest == "" || rest[0] == ' ' || rest[0] == ':' || each == "%%" || each == "---") {
			return true
		}
	}
	return false
}

// statement reads A[text] -->|label| B & C --> D.
func (c *chart) statement(text string, line int) error {
	from, rest, err := c.group(text, line)
	for err == nil && rest != "" {
		found := mermaidArrow().FindStringSubmatch(rest)
		if found == nil || found[0] == "" {
			return unreadable(rest, line)
		}
		label := strings.Trim(cmp.Or(found[1:]...), `"`)
		var to []int
		if to, rest, err = c.group(rest[len(found[0]):], line); err != nil {
			return err
		}
		for _, a := range from {
			for _, b := range to {
				c.arrows = append(c.arrows, arrow{from: a, to: b, label: strings.TrimSpace(label), line: line})
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
func (c *chart) group(text string, line int) (nodes []int, rest string, err error) {
	for {
		found := mermaidNode().FindStringSubmatch(strings.TrimSpace(text))
		if found == nil {
			return nil, "", unreadable(text, line)
		}
		text = strings.TrimSpace(text)
		label := strings.Trim(found[3], `"`)
		for _, tag := range []string{"<br/>", "<br>", "<br />"} {
			label = strings.ReplaceAll(label, tag, " ")
		}
		nodes = append(nodes, c.node(found[1], strings.TrimSpace(label), line, cmp.Or(strings.Trim(found[3], `"`), found[1])))
		rest = text[len(found[0])-len(found[5]):]
		joined, more := strings.CutPrefix(rest, "&")
		if !more {
			return nodes, strings.TrimSpace(rest), nil
		}
		text = joined
	}
}
