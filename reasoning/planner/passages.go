package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"savant/internal/pattern"
)

// passage is the unit of quoting: a declaration with its comment and the best lines of
// its body, a part of a document, or a line of text.
type passage struct {
	path  string
	lines []quoted
	// name is the declared name, at nameLine; empty for text. heading is the heading above
	// a part of a document, whose first line is then nameLine.
	name     string
	nameLine int
	heading  string
	row      bool // a row of a table
	testCase bool // it declares a test
	score    float64
	// coverage is the weighted fraction of the goal's words in the passage, from 0 to 1.
	coverage float64
}

// quoted is a line of a file.
type quoted struct {
	number int
	text   string
}

// Bounds of one passage.
const (
	textNear   = 2 // lines around a line of text
	maxComment = 10
	maxBody    = 25
	maxTelling = 3
	maxSection = 14
	maxExample = 24
)

// Weights of a passage: for its title, for a value, and for words found only in the
// body of a declaration, a heading, the path or an example.
const (
	titled     = 1.2  // a title with the same words as the goal
	filed      = 0.6  // a file whose name has the same words as the goal
	ofValue    = 1.6  // its title is a value of the requested kind
	hasList    = 1.5  // it lists things, as the question asks for
	noList     = 0.35 // it declares something else than a list
	doing      = 1.6  // its name has the verb of the question
	fitting    = 1.2  // it declares what the question asks for: a function, a test
	unfitting  = 0.6  // it declares no test, a type instead of a function, or nothing at all
	inHead     = 0.7  // the comment above a declaration
	inBody     = 0.5
	inHeading  = 0.8
	inPath     = 0.5
	inExample  = 0.7
	inTestPath = 0.9 // the name of a file of tests says what they test
)

// passages returns the passages to quote, best first, without overlaps.
func (p *planner) passages() []passage {
	var all []passage
	for _, each := range p.found.reads {
		share := p.share(each)
		var found []passage
		if isDocument(each.path) {
			found = p.documentPassages(each)
		} else {
			found = p.codePassages(each)
		}
		for _, s := range found {
			s.score *= s.coverage * (3 + share) / 4 * p.kindWeight(s.path, s.testCase)
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b passage) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path), a.lines[0].number-b.lines[0].number)
	})
	if p.question.kind == tests {
		all = ofTests(all)
	}
	return distinct(all)
}

// share is the best share of a hit in a reading.
func (p *planner) share(r reading) (best float64) {
	for _, hit := range p.found.rows {
		if hit.Path == r.path && hit.Line >= r.start && hit.Line < r.start+len(r.lines) {
			best = max(best, hit.share)
		}
	}
	return best
}

// distinct removes passages that share a line with a better one, and those of documents
// that only repeat better ones, as copies of a page do.
func distinct(all []passage) (passages []passage) {
	taken := map[string]bool{}
	for _, s := range all {
		place := func(q quoted) string { return fmt.Sprint(s.path, ":", q.number) }
		if slices.ContainsFunc(s.lines, func(q quoted) bool { return taken[place(q)] }) ||
			isDocument(s.path) && !slices.ContainsFunc(s.lines, func(q quoted) bool { return !taken[q.text] }) {
			continue
		}
		for _, q := range s.lines {
			taken[place(q)], taken[q.text] = true, true
		}
		passages = append(passages, s)
	}
	return passages
}

// codePassages returns the passages of code. If tests are asked for, a line of a test is no
// passage beside it.
func (p *planner) codePassages(r reading) (found []passage) {
	inTest := false
	for i, line := range r.lines {
		begins := isTestAt(r.lines, i)
		inTest = p.question.kind == tests && (begins || inTest && declared(line, declarations[:keywords]...) == "")
		if s, ok := p.passageAt(r, i); ok && (begins || !inTest) {
			found = append(found, s)
		}
	}
	return found
}

// passageAt returns the passage of a declaration, or of a line of text with words of
// the goal.
func (p *planner) passageAt(r reading, i int) (passage, bool) {
	name := cmp.Or(declared(r.lines[i], declarations...), p.keyed(r.lines, i))
	title := name
	if p.question.kind == tests && name == "" && isTestCase().MatchString(r.lines[i]) {
		title = nameIn(r.lines[i])
	}
	if title == "" && p.question.kind == locate && describes(r.lines, i) {
		return passage{}, false
	}
	if title == "" {
		return p.textAt(r, i)
	}
	s := passage{path: r.path, name: name, nameLine: r.start + i}
	first := commentAbove(r.lines, i)
	for j := first; j <= i; j++ {
		if j < first+maxComment || j == i { // a long comment begins with what matters
			s.lines = append(s.lines, quoted{r.start + j, r.lines[j]})
		}
	}
	body := p.bodyOf(r, i)
	head := textOf(s.lines)
	p.value(&s, title, field{r.lines[i], 1}, field{head, inHead}, field{textOf(body), inBody})
	if s.score == 0 {
		return passage{}, false
	}
	s.score *= 1.3 // a declaration says more than a line
	s.testCase = isTestAt(r.lines, i)
	p.fit(&s, r.lines[i])
	switch says := p.weigh(head) > 0 || p.ofNamedFile(s); {
	case p.question.kind == tests && says: // what it tests, or its file does
		return s, true
	case p.question.kind == tests:
		s.score *= unfitting
	}
	s.lines = append(s.lines, body...)
	return s, true
}

// keyed is the name of a key, or of a field whose comment begins with its name, that the goal
// names as it is written, or "".
func (p *planner) keyed(lines []string, i int) string {
	match := key().FindStringSubmatch(lines[i])
	if match == nil || !slices.ContainsFunc(p.words, func(w word) bool { return w.text == match[1] && w.text != w.stem }) {
		return ""
	}
	first := commentAbove(lines, i)
	if match[2] == "" && (first == i || !strings.HasPrefix(strings.TrimLeft(lines[first], " \t/#*-"), match[1]+" ")) {
		return ""
	}
	return match[1]
}

// fit weighs a passage by whether its line declares what the question asks for.
func (p *planner) fit(s *passage, line string) {
	switch {
	case (p.question.kind == tests) != s.testCase:
		s.score *= unfitting * unfitting
	case p.question.callers && (isComment(line) || p.likeness(declared(line, declarations...)) > 0):
		s.score *= noList * unfitting
	case p.question.acts && isType().MatchString(line), p.question.acts && isValue().MatchString(line) && !isFunction().MatchString(line) && !makingWords().MatchString(p.question.verb):
		s.score *= unfitting
	case p.question.acts && p.doesVerb(s.name):
		s.score *= doing
	case p.question.acts && isFunction().MatchString(line), s.testCase:
		s.score *= fitting
	}
}

// doesVerb reports whether a name has the verb of the question, as copyFile for "copied".
func (p *planner) doesVerb(name string) bool {
	return slices.ContainsFunc(p.words, func(w word) bool { return w.verb && w.in(strings.ToLower(name)) })
}

var (
	// isFunction matches the declaration of a function.
	isType     = pattern.Lazy(`^\s*(?:(?:export|default|pub|public|abstract)\s+)*(?:type|class|struct|interface|enum|trait)\b`)
	isValue    = pattern.Lazy(`^\s*(?:(?:export|const|let|var|static)\s+)*[\w.$]+\s*=[^=>]`)
	isFunction = pattern.Lazy(`\b(?:func|def|fn|function)\b|=>`)
	// isTestCase matches the declaration of a test.
	testMark   = pattern.Lazy(`^\s*(?:#\[(?:\w+::)?test\b|@Test\b|\[(?:Fact|Test)\b)`)
	isTestCase = pattern.Lazy("^\\s*(?:(?:async )?(?:func|def|fn|function)\\s+(?:Test|test)|(?:it|test|describe)\\(\\s*[\"'`](.*?)[\"'`])")
)

// value sets the score and the coverage of a passage. title is the declared name, the
// heading, or the first cell of a row, or "". The path counts only if the passage itself
// has words of the goal.
func (p *planner) value(s *passage, title string, fields ...field) {
	if expected := p.question.value; expected != nil && expected().MatchString(fields[0].text) && asksVariable().MatchString(p.question.sought) {
		fields = append(fields, field{p.question.sought, 1}) // what a variable is named for says it
	}
	if p.cover(slices.Clone(fields)...) == 0 && !p.ofNamedFile(*s) {
		return
	}
	byPath := inPath
	if p.question.kind == tests {
		byPath = inTestPath
	}
	s.score = p.cover(append(slices.Clone(fields), field{s.path, byPath})...) / p.weight()
	like := p.likeness(title)
	s.score *= (1 + titled*like*like) * (1 + filed*p.likenessOfFile(s.path))
	texts := []string{s.path}
	for _, f := range fields {
		texts = append(texts, f.text)
	}
	if expected := p.question.value; expected != nil {
		has := expected().MatchString(strings.Join(texts[1:], "\n"))
		if expected().MatchString(title) {
			s.score *= ofValue
		}
		switch {
		case has:
			texts = append(texts, p.question.sought)
		default:
			s.score *= noList
		}
	}
	if p.question.list {
		if !s.row && slices.ContainsFunc(fields, func(f field) bool { return lists(f.text) }) {
			s.score *= hasList
		} else {
			s.score *= noList
		}
	}
	s.coverage = p.coverage(texts...)
}

// ofNamedFile reports whether a passage is a test in a file that is named as what the
// question asks the tests of.
func (p *planner) ofNamedFile(s passage) bool {
	return p.question.kind == tests && isTestCase().MatchString(s.lines[len(s.lines)-1].text) && p.likenessOfFile(s.path) >= 0.9
}

// enumeration matches a sentence with at least three things.
var enumeration = pattern.Lazy("[\\w*`)\"-]+,\\s+(?:[\\w./()*`\"-]+\\s+){0,3}?(?:[\\w./()*`\"-]+,?\\s+)(?:and|or)\\s+[\\w*`(\"-]")

// minList is the number of items that make a list.
const minList = 2

// lists reports whether a text is a list: items, table rows, the elements of a literal,
// or a sentence with several things.
func lists(text string) bool {
	items := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if listItem().MatchString(line) || strings.HasPrefix(line, "|") && !tableRule().MatchString(line) || strings.HasSuffix(line, ",") && len(strings.Fields(line)) <= minList {
			items++
		}
	}
	return items >= minList || enumeration().MatchString(text)
}

func (p *planner) textAt(r reading, i int) (passage, bool) {
	line := strings.TrimSpace(r.lines[i])
	if p.weigh(line) == 0 || len(line) < 8 || p.repeatsGoal(line) {
		return passage{}, false
	}
	s := passage{path: r.path, nameLine: r.start + i}
	var near []quoted
	for j := max(0, i-textNear); j < len(r.lines) && j <= i+textNear; j++ {
		s.lines = append(s.lines, quoted{r.start + j, r.lines[j]})
		if j != i {
			near = append(near, quoted{r.start + j, r.lines[j]})
		}
	}
	p.value(&s, nameIn(line), field{line, 1}, field{textOf(near), inBody})
	p.fit(&s, line)
	if p.question.kind == locate {
		s.score *= unfitting
	}
	return s, true
}

// isTestAt reports whether a line declares a test, by its name or by the line above it.
func isTestAt(lines []string, i int) bool {
	return isTestCase().MatchString(lines[i]) || i > 0 && testMark().MatchString(lines[i-1]) && declared(lines[i], declarations...) != ""
}

// commentAbove returns the first line of the comment above a line.
func commentAbove(lines []string, at int) int {
	first := at
	for first > 0 && (isComment(lines[first-1]) || blankBelow(lines, first-1)) {
		first--
	}
	return first
}

// blankBelow reports whether a line is blank, below the end of a comment.
func blankBelow(lines []string, i int) bool {
	return i > 0 && strings.TrimSpace(lines[i]) == "" && strings.HasSuffix(strings.TrimSpace(lines[i-1]), "*/")
}

// describes reports whether a line is of the comment of a declaration.
func describes(lines []string, i int) bool {
	first := i
	for i < len(lines) && (isComment(lines[i]) || blankBelow(lines, i)) {
		i++
	}
	return i > first && i < len(lines) && declared(lines[i], declarations...) != ""
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return slices.ContainsFunc([]string{"//", "#", "/*", "*", `"""`, "--", "@"}, func(mark string) bool { return strings.HasPrefix(line, mark) })
}

// bodyOf returns the lines of a declaration's body that are worth quoting: all of a
// literal if the question asks for a list.
func (p *planner) bodyOf(r reading, at int) (body []quoted) {
	if p.question.list && isLiteral(r.lines[at]) {
		for j := at + 1; j < len(r.lines) && len(body) < maxExample && !strings.HasPrefix(r.lines[j], "}"); j++ {
			body = append(body, quoted{r.start + j, r.lines[j]})
		}
		return body
	}
	return p.tellingLines(r, at+1)
}

// isLiteral reports whether a declaration assigns a value of several lines.
func isLiteral(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "=") && strings.ContainsAny(line[len(line)-1:], "{[(")
}

// tellingLines are the lines of a body with most words of the goal, in their order.
func (p *planner) tellingLines(r reading, from int) []quoted {
	var lines []quoted
	for j := from; j < len(r.lines) && (j < from+maxBody || p.question.kind == tests); j++ {
		if line := r.lines[j]; strings.TrimSpace(line) != "" && indent(line) <= indent(r.lines[from-1]) && !opening().MatchString(line) || isTestCase().MatchString(line) {
			break
		}
		if p.weigh(r.lines[j]) > 0 {
			lines = append(lines, quoted{r.start + j, r.lines[j]})
		}
	}
	slices.SortStableFunc(lines, func(a, b quoted) int { return cmp.Compare(p.weigh(b.text), p.weigh(a.text)) })
	lines = lines[:min(len(lines), maxTelling)]
	slices.SortFunc(lines, func(a, b quoted) int { return a.number - b.number })
	return lines
}

// opening matches a line that only closes the head of a declaration, or opens its body.
var opening = pattern.Lazy(`^\s*(?:[)\]}].*[{:(\[]\s*$|\{\s*$|where\b)`)

func textOf(lines []quoted) string {
	var out strings.Builder
	for _, q := range lines {
		out.WriteString(q.text + "\n")
	}
	return out.String()
}

// where returns the location of a passage.
func (s passage) where() string {
	switch {
	case s.name != "":
		return fmt.Sprintf("%s:%d, %s", s.path, s.nameLine, s.name)
	case s.heading != "":
		return fmt.Sprintf("%s:%d, under %q", s.path, s.nameLine, s.heading)
	}
	return fmt.Sprintf("%s:%d", s.path, max(s.nameLine, s.lines[0].number))
}
