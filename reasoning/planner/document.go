package planner

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

var (
	documentHeading = pattern.Lazy(`^#{1,6}\s+(.*?)\s*#*\s*$`)
	underline       = pattern.Lazy(`^(?:=+|-+|~+|\^+|"+|\*+|\++)\s*$`)
	listItem        = pattern.Lazy(`^\s*(?:[-*+]|\d+[.)])\s`)
	listRow         = pattern.Lazy(`^\s*[-*]\s+-\s`) // of a table in reStructuredText
	tableRule       = pattern.Lazy(`^\|?[\s:|-]+\|?$`)
)

// headingAt returns the heading that a line is, by its mark or by the rule below it, or "".
func headingAt(lines []string, i int) string {
	if match := documentHeading().FindStringSubmatch(strings.TrimSpace(lines[i])); match != nil {
		return match[1]
	}
	if title := strings.TrimSpace(lines[i]); title != "" && i+1 < len(lines) && underline().MatchString(lines[i+1]) && len(lines[i+1]) >= len(title) {
		return title
	}
	return ""
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// documentReader splits a reading of a document into passages: sections, table rows,
// list items and paragraphs.
type documentReader struct {
	planner *planner
	reading reading
	heading string
	header  *quoted // of the current table
	block   []quoted
	fenced  bool
	found   []passage
}

func (p *planner) documentPassages(r reading) []passage {
	d := documentReader{planner: p, reading: r, fenced: beginsFenced(r.lines)}
	for i, line := range r.lines {
		d.line(i, quoted{r.start + i, line})
	}
	d.end()
	return d.found
}

// beginsFenced reports whether lines begin inside a fenced block: the first fence names no
// language, and nothing stands behind it, as behind one that closes.
func beginsFenced(lines []string) bool {
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "```") })
	return i >= 0 && strings.TrimSpace(lines[i]) == "```" && (i+1 == len(lines) || strings.TrimSpace(lines[i+1]) == "")
}

func (d *documentReader) line(i int, q quoted) {
	text := strings.TrimSpace(q.text)
	if strings.HasPrefix(text, "```") {
		d.fenced = !d.fenced
		d.block = append(d.block, q)
		return
	}
	if d.fenced {
		d.block = append(d.block, q)
		return
	}
	if !strings.HasPrefix(text, "|") {
		d.header = nil
	}
	switch title := headingAt(d.reading.lines, i); {
	case title != "":
		d.end()
		d.heading = title
		d.section(i, q)
	case text == "":
		d.end()
	case strings.HasPrefix(text, "|"):
		d.end()
		d.row(i, q, text)
	case listItem().MatchString(q.text):
		if len(d.block) == 0 || !listRow().MatchString(d.block[0].text) || indent(q.text) <= indent(d.block[0].text) {
			d.end()
		}
		d.block = append(d.block, q)
	default:
		d.block = append(d.block, q)
	}
}

// gather returns lines from an index on, at most so many, without blank ones, up to the first
// that does not belong to them. A fenced example belongs as a whole.
func (d *documentReader) gather(from, most int, belongs func(line string) bool) (lines []quoted) {
	fenced := false
	for i, line := range d.reading.lines[min(from, len(d.reading.lines)):] {
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(text, "```"):
			fenced = !fenced
		case text == "" && !fenced:
			continue
		case !fenced && (!belongs(line) || len(lines) >= most):
			return lines
		}
		if len(lines) == maxExample {
			return lines
		}
		lines = append(lines, quoted{d.reading.start + from + i, line})
	}
	return lines
}

// continues reports whether a line belongs to the paragraph before it: to a list, a table
// or an example.
func continues(line string) bool {
	return listItem().MatchString(line) || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

// section adds a heading with the lines that follow it. The words of the heading count most.
func (d *documentReader) section(i int, heading quoted) {
	most := maxSection
	if d.planner.question.list {
		most = maxExample
	}
	lines := d.gather(i+1, most, func(line string) bool { return !documentHeading().MatchString(line) })
	if d.planner.weigh(d.heading) > 0 {
		d.add(passage{path: d.reading.path, heading: d.heading, nameLine: heading.number, lines: append([]quoted{heading}, lines...)},
			d.heading, field{d.heading, 1.2}, field{textOf(lines), inBody})
	}
}

// row adds a row of a table, with the header row if the reading has it.
func (d *documentReader) row(i int, q quoted, text string) {
	switch {
	case i+1 < len(d.reading.lines) && tableRule().MatchString(strings.TrimSpace(d.reading.lines[i+1])):
		d.header = &q
	case !tableRule().MatchString(text):
		first, _, _ := strings.Cut(strings.TrimPrefix(text, "|"), "|")
		s := passage{path: d.reading.path, heading: d.heading, nameLine: q.number, lines: []quoted{q}, row: true}
		fields := []field{{text, 1.1}, {d.heading, inHeading}}
		if d.header != nil {
			s.lines = []quoted{*d.header, q}
			fields = append(fields, field{d.header.text, inHeading})
		}
		d.add(s, first, fields...)
	}
}

// end adds the current paragraph or list item.
func (d *documentReader) end() {
	if len(d.block) > 0 {
		factor, longest, title := 1.0, maxSection, ""
		var following []quoted
		switch first := d.block[0].text; {
		case strings.HasPrefix(strings.TrimSpace(first), "```"):
			factor, longest = inExample, maxExample
		case listItem().MatchString(first): // it is about its first word
			title = strings.Fields(strings.TrimLeft(first, "-*+ \t") + " -")[0]
		default:
			following = d.gather(d.block[len(d.block)-1].number+1-d.reading.start, maxExample, continues)
			longest = maxExample
		}
		d.add(passage{path: d.reading.path, heading: d.heading, nameLine: d.block[0].number, lines: append(slices.Clone(d.block[:min(len(d.block), longest)]), following...)}, title,
			field{textOf(d.block), factor}, field{textOf(following), inExample}, field{d.heading, inHeading})
	}
	d.block = nil
}

func (d *documentReader) add(s passage, title string, fields ...field) {
	if d.planner.weigh(fields[0].text) == 0 || d.planner.repeatsGoal(fields[0].text) {
		return
	}
	if d.planner.value(&s, title, fields...); s.score > 0 {
		d.found = append(d.found, s)
	}
}
