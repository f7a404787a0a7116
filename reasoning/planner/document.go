package planner

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

var (
	documentHeading = pattern.Lazy(`^#{1,6}\s+(.*?)\s*#*\s*$`)
	listItem        = pattern.Lazy(`^\s*(?:[-*+]|\d+[.)])\s`)
	tableRule       = pattern.Lazy(`^\|?[\s:|-]+\|?$`)
)

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
	switch match := documentHeading().FindStringSubmatch(text); {
	case match != nil:
		d.end()
		d.heading = match[1]
		d.section(i, q)
	case text == "":
		d.end()
	case strings.HasPrefix(text, "|"):
		d.end()
		d.row(i, q, text)
	case listItem().MatchString(q.text):
		d.end()
		d.block = append(d.block, q)
	default:
		d.block = append(d.block, q)
	}
}

// following returns the lines after a paragraph that belong to it, up to the next paragraph:
// a list, a table, an example.
func (d *documentReader) following() (lines []quoted) {
	last := d.block[len(d.block)-1]
	fenced := false
	for number := last.number + 1; number < d.reading.start+len(d.reading.lines) && len(lines) < maxExample; number++ {
		line := d.reading.lines[number-d.reading.start]
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence:
			fenced = !fenced
		case fenced, listItem().MatchString(line), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "  "), strings.HasPrefix(line, "\t"):
		case strings.TrimSpace(line) == "":
			continue
		default:
			return lines
		}
		lines = append(lines, quoted{number, line})
	}
	return lines
}

// section adds a heading with the lines that follow it, a fenced example completely. The
// words of the heading count most.
func (d *documentReader) section(i int, heading quoted) {
	s := passage{path: d.reading.path, heading: d.heading, nameLine: heading.number, lines: []quoted{heading}}
	fenced := false
	whole := func() bool { return fenced || d.planner.question.list }
	for j := i + 1; j < len(d.reading.lines) && (j <= i+maxSection || whole() && len(s.lines) < maxExample); j++ {
		line := d.reading.lines[j]
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && documentHeading().MatchString(line) {
			break
		}
		if strings.TrimSpace(line) != "" {
			s.lines = append(s.lines, quoted{d.reading.start + j, line})
		}
	}
	if d.planner.weigh(d.heading) > 0 {
		d.add(s, d.heading, field{d.heading, 1.2}, field{textOf(s.lines[1:]), inBody})
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
			title = strings.Fields(first + " -")[1]
		default:
			following = d.following()
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
