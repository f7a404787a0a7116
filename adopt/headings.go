package adopt

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"savant/fault"
)

// heading is a heading above what is read. unit is its place in the report: the first step
// below it decides its verdict; -1 once one did.
type heading struct {
	level, unit int
	words       string
	forks       []*fork // the conditions under which its section happens, or the rest of it
}

// maxHeading bounds the words of a heading that each task below it repeats, in bytes.
const maxHeading = 300

// goesOnBehind reports whether what belongs to a block may stand behind it: another block,
// or a section within its own.
func (p *page) goesOnBehind(node ast.Node) bool {
	next, is := node.NextSibling().(*ast.Heading)
	return node.NextSibling() != nil && (!is || len(p.above) > 0 && next.Level > p.above[len(p.above)-1].level)
}

// heading reads a heading. One that is a condition has its section for its branch, one of a
// duty or of what shall not be has the list below it, and a numbered one without a section
// is a step.
func (p *page) heading(head *ast.Heading) {
	p.close(head.Level)
	words, line, next := p.words(head), p.line(head), head.NextSibling()
	below, headed := next.(*ast.Heading)
	list, listed := next.(*ast.List)
	empty := next == nil || headed && below.Level <= head.Level
	bare := numbered().ReplaceAllString(words, "") + ":"
	is, _, _ := meaningOf(bare)
	section := heading{level: head.Level, unit: -1, words: fault.Cut(words, maxHeading)}
	switch other := p.forked != nil && p.last == p.forked.after.ID; {
	case empty && bare != words+":":
		p.told(words, words, line, nil)
	case !empty && (is == opensBranch || is == opensOther && other):
		p.goesOn = true
		p.told(bare, words, line, nil)
		section.forks, p.fork = []*fork{p.fork}, nil
	case listed && !list.IsOrdered() && (is == obliges || refused().MatchString(words)):
		if is != obliges {
			bare = "Never: " + bare
		}
		p.told(bare, words, line, next)
	default:
		p.draft.note(line, words, LeftOut, "", "the section has no step")
		section.unit = len(p.draft.Units) - 1
	}
	p.above = append(p.above, section)
}

// close ends the sections of a level and below it, and the branches that they are.
func (p *page) close(level int) {
	for len(p.above) > 0 && p.above[len(p.above)-1].level >= level {
		last := p.above[len(p.above)-1]
		p.above = p.above[:len(p.above)-1]
		for _, each := range slices.Backward(last.forks) {
			p.merge(each)
		}
	}
}

// section is the way of headings to what is read.
func (p *page) section() string {
	var words []string
	for _, each := range p.above {
		words = append(words, each.words)
	}
	return strings.Join(words, " > ")
}

// nearest is the heading above.
func (p *page) nearest() string {
	if len(p.above) == 0 {
		return ""
	}
	return p.above[len(p.above)-1].words
}

// used notes that the sections above have a step.
func (p *page) used(step string) {
	for i := range p.above {
		if at := p.above[i].unit; at >= 0 {
			unit := &p.draft.Units[at]
			unit.Verdict, unit.Step, unit.Why = Asked, step, "its words are with the tasks below it"
			p.above[i].unit = -1
		}
	}
}
