package adopt

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"savant/fault"
	"savant/internal/markup"
	"savant/internal/pattern"
	"savant/internal/shell"
)

// page reads a page in Markdown, from its beginning to its end.
type page struct {
	draft  *Draft
	source []byte
	ends   []int  // of the lines of the source
	lines  int    // of the front matter, before the source
	last   string // the step that the next one follows
	// above are the headings above, from the title down.
	above []heading
	// open is a task that takes what follows it below the same headings, and holds nothing.
	open   *Step
	openIn string
	// fork is the condition whose branch is the next block, forked the one that ended last.
	fork, forked *fork
	goesOn       bool // another block follows what is read
	branches     int  // that are open
	// read is a list that a duty took with it.
	read ast.Node
}

// fork is a condition that ends with a colon: what stands below it happens where it holds,
// and what stands below an "otherwise:" where it does not.
type fork struct {
	asked, without, after *Step
	steps                 int    // how many there were when the branch began
	yes                   string // the last step of the first branch, once that ended
}

// merge ends a branch: its first steps wait for the answer, and both branches meet.
func (p *page) merge(f *fork) {
	p.branches--
	for _, each := range p.draft.Steps[f.steps:] {
		if each.When == "" && slices.Contains(each.Deps, f.asked.ID) {
			each.When = f.asked.Capture + ".answer == 'yes'"
		}
	}
	switch {
	case f.after != nil:
		f.after.Deps = []string{f.yes, p.last}
		p.draft.Steps = append(p.draft.Steps, f.after)
	case len(p.draft.Steps) == f.steps: // a block without a step
		return
	default:
		f.yes, f.without = p.last, p.draft.without(f.asked)
		f.after = p.draft.meet(f.asked, f.yes, f.without.ID)
	}
	p.forked = f
	p.follow(f.after)
}

// readPage reads a skill, or another page in Markdown.
func (d *Draft) readPage(source []byte) error {
	d.Kind = "page"
	front, body, lines := frontMatter(source)
	if front != nil {
		d.Kind = "skill"
		if name := identifier(front["name"], "", 48); name != "" {
			d.Name = name
		}
		d.Description = front["description"]
	}
	if !markup.IsBounded(string(body)) {
		return fault.New(fault.LimitExceeded, "a part of the page has too many signs of emphasis, cells of a table, or lists within lists to be read; shorten it")
	}
	p := &page{draft: d, source: body, lines: lines}
	for i, char := range body {
		if char == '\n' {
			p.ends = append(p.ends, i)
		}
	}
	parsed := goldmark.New(goldmark.WithExtensions(extension.Table, extension.TaskList)).Parser().Parse(text.NewReader(body))
	for block := parsed.FirstChild(); block != nil; block = block.NextSibling() {
		p.block(block)
	}
	p.close(0)
	for _, each := range d.Steps {
		if len(each.further) > 0 {
			each.Input["task"] = each.Input["task"].(string) + "\n" + strings.Join(each.further, "\n")
		}
	}
	return nil
}

// blockMark begins a text of several lines in YAML.
var blockMark = pattern.Lazy(`^[>|][-+0-9]*$`)

// frontMatter separates the YAML lines at the head of a skill, read as loosely as people
// write them: what is indented belongs to the key above it.
func frontMatter(source []byte) (front map[string]string, body []byte, lines int) {
	rest, is := bytes.CutPrefix(bytes.TrimPrefix(source, []byte("\xef\xbb\xbf")), []byte("---\n"))
	head, body, closed := bytes.Cut(rest, []byte("\n---"))
	if !is || !closed {
		return nil, source, 0
	}
	_, body, _ = bytes.Cut(body, []byte("\n"))
	front = map[string]string{}
	above, values := "", []string{}
	end := func() {
		front[above] = strings.Trim(strings.Join(strings.Fields(strings.Join(values, " ")), " "), `"'`)
	}
	for line := range strings.Lines(string(head)) {
		key, value, found := strings.Cut(line, ":")
		switch indented := strings.TrimLeft(line, " \t") != line; {
		case indented:
			values = append(values, line)
		case found:
			end()
			above, values = strings.TrimSpace(key), []string{blockMark().ReplaceAllString(strings.TrimSpace(value), "")}
		}
	}
	end()
	return front, body, bytes.Count(source[:len(source)-len(body)], []byte("\n"))
}

// line returns the line of a node in the document.
func (p *page) line(node ast.Node) int {
	for at := node; at != nil && at.Type() == ast.TypeBlock; at = at.FirstChild() {
		if at.Lines().Len() > 0 {
			above, _ := slices.BinarySearch(p.ends, at.Lines().At(0).Start)
			return p.lines + 1 + above
		}
	}
	return p.lines + 1
}

// words returns the text of a block as it is written, without line breaks.
func (p *page) words(node ast.Node) string {
	return strings.Join(strings.Fields(string(node.Lines().Value(p.source))), " ")
}

// block reads one block of the page. One below an open condition is its branch.
func (p *page) block(node ast.Node) {
	if node == p.read {
		return
	}
	f := p.fork
	p.fork, p.goesOn = nil, p.goesOnBehind(node)
	if head, is := node.(*ast.Heading); is {
		if f != nil && len(p.above) > 0 { // the sections below are the branch
			last := &p.above[len(p.above)-1]
			last.forks, f = append(last.forks, f), nil
		}
		p.heading(head)
	}
	if f != nil {
		defer p.merge(f)
	}
	switch block := node.(type) {
	case *ast.List:
		p.list(block)
	case *ast.FencedCodeBlock:
		p.code(block, string(block.Language(p.source)))
	case *ast.CodeBlock:
		p.code(block, "")
	case *tables.Table:
		p.table(block)
	case *ast.Paragraph, *ast.TextBlock:
		p.prose(p.words(block), p.line(block), block.NextSibling())
	case *ast.Blockquote:
		for inner := block.FirstChild(); inner != nil; inner = inner.NextSibling() {
			p.block(inner)
		}
	case *ast.HTMLBlock:
		p.prose(untagged(p.words(block)), p.line(block), block.NextSibling())
	}
}

// task adds a task after the last step.
func (p *page) task(id, words string, line int, quote string) *Step {
	step := p.draft.task(id, words, line, quote, p.last)
	if section := p.section(); section != "" {
		step.Input["section"] = section
	}
	p.follow(step)
	return step
}

// hold adds a duty after the last step.
func (p *page) hold(_, words string, line int, quote string) *Step {
	step := p.draft.hold(words, line, quote, p.last)
	p.follow(step)
	return step
}

// tell adds words to the open task, or makes one of them.
func (p *page) tell(id, words string, line int, quote string) *Step {
	if p.open != nil && p.open.ID == p.last && p.openIn == p.section() {
		p.open.further = append(p.open.further, words)
		return p.open
	}
	p.open, p.openIn = p.task(id, words, line, quote), p.section()
	return p.open
}

func (p *page) follow(s *Step) {
	p.last = s.ID
	p.used(s.ID)
}

// heldWhy says what became of a duty.
const heldWhy = "the model keeps it, says so and what shows it, and nothing below happens before that"

// maxBranches bounds the sentences that are read as one condition.
const maxBranches = 8

// prose reads a paragraph: each sentence is a unit, and those that hold nothing are a task,
// before what stands behind them. next is the block behind the paragraph.
func (p *page) prose(words string, line int, next ast.Node) {
	var plain []string
	tell := func() {
		if len(plain) == 0 {
			return
		}
		made := p.tell(cmp.Or(p.nearest(), plain[0]), strings.Join(plain, " "), line, plain[0])
		for _, each := range plain {
			p.draft.note(line, each, Asked, made.ID, "its words are the task")
		}
		plain = nil
	}
	read, all := 0, sentences(words)
	for i, each := range all {
		if i < read {
			continue // with a sentence before
		}
		for read = i + 1; read < min(len(all), i+maxBranches) && otherBranch().MatchString(all[read]) && isConditional(strings.Join(all[i:read+1], " ")); {
			read++
		}
		switch {
		case read == len(all) && p.answered(each, next):
			tell()
			p.query(each, line, next)
		case read > i+1:
			tell()
			verdict, step, why := p.sentence(strings.Join(all[i:read], " "), "", line, each)
			for _, part := range all[i:read] {
				p.draft.note(line, part, verdict, step, why)
			}
		case holds(each):
			tell()
			behind := next
			if read < len(all) {
				behind = nil
			}
			p.told(each, each, line, behind)
		default:
			plain = append(plain, each)
		}
	}
	tell()
}

// sentence makes the steps of one sentence or item, with what stands below it, and says what
// became of it.
func (p *page) sentence(words, below string, line int, quote string) (verdict, step, why string) {
	is, about, parts := meaningOf(words)
	words += below
	switch f := p.forked; {
	case is == forbids:
		for i, command := range strings.Split(about, "`") {
			if i%2 == 1 {
				id := "no_" + identifier(command, "command", 40) + "_" + strconv.Itoa(line)
				p.draft.Rules = append(p.draft.Rules, Rule{ID: id, Command: command, Message: words})
			}
		}
		p.used("")
		return Enforced, "", "a rule refuses the command where a client's hooks or Savant see the call"
	case is == approves:
		made := p.draft.approve(words, line, quote, p.last)
		p.follow(made)
		return Enforced, made.ID, "a person is asked, and what stands below waits for the answer"
	case is == opensBranch && p.goesOn:
		asked := p.draft.askWhether(about, line, quote, p.last)
		p.follow(asked)
		p.fork = &fork{asked: asked, steps: len(p.draft.Steps)}
		p.branches++
		return Enforced, asked.ID, "a question with yes and no decides whether what stands below happens"
	case is == opensOther && f != nil && p.goesOn && p.last == f.after.ID:
		f.steps = len(p.draft.Steps) - 1
		p.draft.Steps = p.draft.Steps[:f.steps] // the branches meet below
		p.last, p.fork, p.forked = f.without.ID, f, nil
		p.branches++
		return Enforced, f.asked.ID, "what stands below is the other branch of the question"
	case is == decides:
		asked, last := p.draft.branch(parts, line, quote, p.last)
		p.follow(last)
		return Enforced, asked.ID, "a question with yes and no decides the branch"
	case is == asks:
		made := p.draft.ask(words, line, quote, p.branches == 0, p.last)
		p.follow(made)
		return Enforced, made.ID, "a person answers it before what stands below"
	case is == obliges:
		made := p.hold(words, words, line, quote)
		return Enforced, made.ID, heldWhy
	}
	made := p.task(words, words, line, quote)
	return Asked, made.ID, "its words are the task"
}

// table reads a table: its rows are one task, and those that hold something a duty behind it.
func (p *page) table(table *tables.Table) {
	var rows, held []string
	var lines []int
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, p.words(cell))
		}
		rows, lines = append(rows, strings.Join(cells, " | ")), append(lines, p.line(row))
		if row != table.FirstChild() && slices.ContainsFunc(cells, demands) {
			held = append(held, rows[len(rows)-1])
		}
	}
	quote, _, _ := strings.Cut(rows[0], " | ") // a table has a head
	step := p.tell(cmp.Or(p.nearest(), rows[0]), "Follow this table:\n"+strings.Join(rows, "\n"), lines[0], quote)
	kept := step
	if len(held) > 0 {
		kept = p.hold("", "the table's rows:\n"+strings.Join(held, "\n"), lines[0], quote)
	}
	for i, each := range rows {
		if slices.Contains(held, each) {
			p.draft.note(lines[i], each, Enforced, kept.ID, heldWhy)
			continue
		}
		p.draft.note(lines[i], each, Asked, step.ID, "the table is a part of the task")
	}
}

// shells are the languages of code blocks that are commands.
var shells = []string{"sh", "bash", "shell", "zsh", "console", "terminal", "shellsession"}

// charts are the languages of code blocks that are flowcharts, Mermaid and then Graphviz'.
var charts = []string{"mermaid", "dot", "graphviz", "gv"}

// code reads a code block: a flowchart, a command, or a part of a task.
func (p *page) code(block ast.Node, language string) {
	body := string(block.Lines().Value(p.source))
	line, words, why := p.line(block), strings.TrimSpace(body), "the block is a part of the task"
	switch {
	case words == "":
		return
	case slices.Contains(charts, strings.ToLower(language)):
		read := p.draft.readDOT
		if strings.EqualFold(language, charts[0]) {
			read = p.draft.readMermaid
		}
		outer, err := read(body, line, p.last)
		if err == nil {
			p.follow(p.draft.closeChart(outer))
			return
		}
		why += ", and no flowchart: " + fault.From(err).Message()
	case slices.Contains(shells, strings.ToLower(language)):
		if script := typed(words); shell.Reads(script) {
			p.command(words, script, line)
			return
		}
		why += ", and no commands that a shell reads"
	}
	first, _, _ := strings.Cut(words, "\n")
	step := p.tell(cmp.Or(p.nearest(), "use the example"), "Use this as the page shows it:\n"+words, line, first)
	p.draft.note(line, fault.Cut(words, 200), Asked, step.ID, why)
}

// typed returns what a person typed in a session of a shell, without what it printed: the
// lines behind a prompt, if there are any, with those that go on.
func typed(session string) string {
	var script []string
	goesOn := false
	for line := range strings.SplitSeq(session, "\n") {
		line, prompted := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if prompted || goesOn {
			script = append(script, line)
			goesOn = strings.HasSuffix(line, "\\")
		}
	}
	if script == nil {
		return session
	}
	return strings.Join(script, "\n")
}

// command makes a command of .savant/ci.yaml of a code block, and a step that runs it.
func (p *page) command(words, script string, line int) {
	name := p.draft.commandOf(script, "sh", script, line)
	first, _, _ := strings.Cut(words, "\n")
	step := p.draft.add(&Step{ID: "run " + name, Call: callCommand, Input: map[string]any{"name": name}, Deps: compact([]string{p.last}), Witness: "required", Line: line, Quote: first})
	p.follow(step)
	p.draft.note(line, fault.Cut(words, 200), Enforced, step.ID, "the command "+name+" of .savant/ci.yaml is run, and Savant sees the call")
}

// commandOf adds a command of a shell to the draft, and returns its name, which no other has.
func (d *Draft) commandOf(title, shell, script string, line int) string {
	name := d.commands.give(identifier(title, "command", 40))
	d.Commands = append(d.Commands, Command{Name: name, Run: []string{shell, "-ec", script}, Line: line})
	return name
}
