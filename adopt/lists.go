package adopt

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// point is an item of a list, or what stands below one, that holds nothing.
type point struct {
	words string
	line  int
	depth int
	box   bool // it has a box to tick
}

// list reads the items of a list in their order. A numbered item is a step, with the points
// below it; points that follow each other without numbers are one. What holds something, and
// numbered items below others, are steps of their own, one after the other.
func (p *page) list(list *ast.List) {
	var open []point
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		points, plain := p.points(item, 0)
		if plain {
			open = append(open, points...)
		}
		if list.IsOrdered() || !plain {
			p.pointed(open, list.IsOrdered())
			open = nil
		}
		if !plain {
			p.item(item)
		}
	}
	p.pointed(open, false)
}

// points returns what an item says; plain is false where a part of it is a step of its own.
func (p *page) points(item ast.Node, depth int) (found []point, plain bool) {
	for child := item.FirstChild(); child != nil; child = child.NextSibling() {
		switch block := child.(type) {
		case *ast.Paragraph, *ast.TextBlock:
			written := p.words(block)
			words := unchecked(written)
			if holds(words) || decidesIn(words) || p.answered(words, block.NextSibling()) {
				return nil, false
			}
			if words != "" {
				found = append(found, point{words, p.line(block), depth, words != written})
			}
		case *ast.List:
			for inner := block.FirstChild(); inner != nil; inner = inner.NextSibling() {
				below, plain := p.points(inner, depth+1)
				if !plain || block.IsOrdered() {
					return nil, false
				}
				found = append(found, below...)
			}
		default:
			return nil, false
		}
	}
	return found, true
}

// holds reports whether a sentence becomes more than a task.
func holds(words string) bool {
	is, _, _ := meaningOf(words)
	return is != plain
}

// decidesIn reports whether sentences decide a branch behind the first one.
func decidesIn(words string) bool {
	all := sentences(words)
	return slices.ContainsFunc(all[min(1, len(all)):], isConditional)
}

// answers returns what a list says if its items say what follows from the answers to the
// question above it: "If yes, …".
func (p *page) answers(block ast.Node) string {
	list, is := block.(*ast.List)
	if !is || list.ChildCount() > 2 {
		return ""
	}
	var said []string
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		if item.ChildCount() != 1 || !otherBranch().MatchString(p.words(item.FirstChild())) {
			return ""
		}
		said = append(said, strings.TrimRight(p.words(item.FirstChild()), ".")+".")
	}
	return strings.Join(said, " ")
}

// answered reports whether words are a question above the list of what follows from its answers.
func (p *page) answered(words string, next ast.Node) bool {
	return !isConditional(words) && isConditional(words+" "+p.answers(next))
}

// query reads such a question with its list.
func (p *page) query(words string, line int, next ast.Node) {
	verdict, step, why := p.sentence(words+" "+p.answers(next), "", line, words)
	p.draft.note(line, words, verdict, step, why)
	for each := next.FirstChild(); each != nil; each = each.NextSibling() {
		p.draft.note(p.line(each), p.words(each.FirstChild()), verdict, step, why)
	}
	p.read = next
}

// demands reports whether a cell of a table holds more than a case of it.
func demands(words string) bool {
	is, _, _ := meaningOf(words)
	return is == obliges || is == approves || is == forbids
}

// unchecked takes the box of a task list away.
func unchecked(words string) string {
	for _, box := range []string{"[ ]", "[x]", "[X]"} {
		words = strings.TrimPrefix(words, box)
	}
	return strings.TrimSpace(words)
}

// pointed makes one task of points: of a numbered item the first is the task, and the others
// stand below it.
func (p *page) pointed(points []point, numbered bool) {
	if len(points) == 0 {
		return
	}
	var task []string
	for _, each := range points {
		task = append(task, strings.Repeat("  ", each.depth)+"- "+each.words)
	}
	if numbered || len(points) == 1 {
		task[0] = points[0].words
	}
	add, verdict, why := p.tell, Asked, "its words are the task"
	switch {
	case slices.ContainsFunc(points, func(each point) bool { return each.box }):
		add, verdict, why = p.hold, Enforced, "the model says that it is done and what shows it, and nothing below happens before that"
	case ruled().MatchString(p.nearest()):
		add, verdict, why = p.hold, Enforced, heldWhy
	case numbered:
		add = p.task
	}
	step := add(points[0].words, strings.Join(task, "\n"), points[0].line, points[0].words)
	for _, each := range points {
		p.draft.note(each.line, each.words, verdict, step.ID, why)
	}
}

// item reads an item of which a part is a step of its own.
func (p *page) item(item ast.Node) {
	first := item.FirstChild()
	words := ""
	if _, nested := first.(*ast.List); !nested {
		words = unchecked(p.words(first))
	}
	if words != "" {
		line := p.line(first)
		p.goesOn = first.NextSibling() != nil
		next := first.NextSibling()
		switch {
		case p.answered(words, next):
			p.query(words, line, next)
		case !holds(words) && decidesIn(words):
			p.prose(words, line, next)
		default:
			p.told(words, words, line, next)
		}
		first = next
	}
	for inner := first; inner != nil; inner = inner.NextSibling() {
		p.block(inner)
	}
}

// told reads a sentence or item, quoted as the page has it; next is the block behind it. A
// duty above a command holds once that was run.
func (p *page) told(words, quote string, line int, next ast.Node) {
	var points []point
	var rest []ast.Node
	if is, _, _ := meaningOf(words); strings.HasSuffix(strings.TrimRight(words, "* "), ":") && (is == obliges || is == approves || is == asks) {
		switch next.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			p.block(next)
			p.read = next
		default:
			points, rest = p.taken(next, is == asks)
		}
	}
	var below strings.Builder
	for _, each := range points {
		below.WriteString("\n" + strings.Repeat("  ", each.depth) + "- " + each.words)
	}
	verdict, step, why := p.sentence(words, below.String(), line, quote)
	p.draft.note(line, quote, verdict, step, why)
	for _, each := range points {
		p.draft.note(each.line, each.words, verdict, step, why)
	}
	for _, each := range rest {
		p.item(each)
	}
}

// taken returns what belongs to words with a colon before it: the points of a list, of a
// numbered one only where they may be answers, or a quotation; and the items that are steps
// of their own.
func (p *page) taken(next ast.Node, answers bool) (found []point, rest []ast.Node) {
	switch block := next.(type) {
	case *ast.Blockquote:
		for inner := block.FirstChild(); inner != nil; inner = inner.NextSibling() {
			if inner.Kind() != ast.KindParagraph {
				return nil, nil
			}
			found = append(found, point{words: p.words(inner), line: p.line(inner)})
		}
	case *ast.List:
		for item := block.FirstChild(); item != nil && (answers || !block.IsOrdered()); item = item.NextSibling() {
			switch points, plain := p.points(item, 0); {
			case plain:
				found = append(found, points...)
			case answers:
				found = append(found, point{words: p.words(item.FirstChild()), line: p.line(item)})
			default:
				rest = append(rest, item)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	p.read = next
	return found, rest
}
