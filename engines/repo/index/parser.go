package index

import (
	"slices"
	"strings"

	"savant/internal/words"
)

// parser reads the tokens of a query.
type parser struct {
	tokens []token
	query  *ParsedQuery
	depth  int
}

// question reads a question: a file matches if it has any of its words. Stop words
// are dropped unless the question has no others.
func (p *parser) question() {
	for _, all := range []bool{false, true} {
		var nodes []*node
		for _, each := range p.tokens {
			made, ok := leafOf(each)
			if !ok || !all && each.kind == 'w' && !each.prefix && words.IsStop(made.whole) {
				continue
			}
			if len(made.parts) == 1 && each.kind == 'w' && !each.prefix {
				made.forms, made.short = forms(made.whole), abbreviations(made.whole)
			}
			if !p.query.has(made) {
				nodes = append(nodes, p.query.add(made))
			}
		}
		p.query.root = &node{operator: opAny, nodes: nodes}
		if len(nodes) > 0 {
			return
		}
	}
}

func (q *ParsedQuery) has(l leaf) bool {
	return slices.ContainsFunc(q.leaves, func(each leaf) bool {
		return each.whole == l.whole && each.prefix == l.prefix && slices.Equal(each.parts, l.parts)
	})
}

// expression reads all tokens: any = all {OR all}, all = not {[AND] not},
// not = [NOT] (word | phrase | "(" any ")").
func (p *parser) expression() error {
	root, err := p.any()
	if err != nil {
		return err
	}
	if len(p.tokens) > 0 {
		return bad("%q is not expected here", p.tokens[0].text)
	}
	p.query.root = root
	if !root.positive() {
		return bad("NOT alone finds nothing: add what to look for, as in cache NOT test")
	}
	return nil
}

// positive reports whether a node requires a word, so that not every file without
// its words matches.
func (n *node) positive() bool {
	switch n.operator {
	case opLeaf:
		return true
	case opNot:
		return false
	case opAny:
		return !slices.ContainsFunc(n.nodes, func(each *node) bool { return !each.positive() })
	default:
		return slices.ContainsFunc(n.nodes, (*node).positive)
	}
}

func (p *parser) next(kinds string) (token, bool) {
	if len(p.tokens) == 0 || !strings.ContainsRune(kinds, rune(p.tokens[0].kind)) {
		return token{}, false
	}
	taken := p.tokens[0]
	p.tokens = p.tokens[1:]
	return taken, true
}

func (p *parser) any() (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, bad("parentheses are nested more than %d deep", maxDepth)
	}
	made := &node{operator: opAny}
	for {
		each, err := p.all()
		if err != nil {
			return nil, err
		}
		made.nodes = append(made.nodes, each)
		if _, more := p.next("|"); !more {
			return made, nil
		}
	}
}

func (p *parser) all() (*node, error) {
	made := &node{operator: opAll}
	for {
		each, err := p.not()
		if err != nil {
			return nil, err
		}
		if each != nil {
			made.nodes = append(made.nodes, each)
		}
		if _, said := p.next("&"); said {
			continue
		}
		if len(p.tokens) == 0 || p.tokens[0].kind == '|' || p.tokens[0].kind == ')' {
			break
		}
	}
	if len(made.nodes) == 0 {
		return nil, bad("a word is missing")
	}
	return made, nil
}

// not reads one operand. It returns nil for one without letters or digits ("--").
func (p *parser) not() (*node, error) {
	if _, negated := p.next("!"); negated {
		inner, err := p.not()
		if err != nil || inner == nil {
			return nil, err
		}
		return &node{operator: opNot, nodes: []*node{inner}}, nil
	}
	if _, opened := p.next("("); opened {
		inner, err := p.any()
		if err != nil {
			return nil, err
		}
		if _, closed := p.next(")"); !closed {
			return nil, bad("a ( is not closed")
		}
		return inner, nil
	}
	taken, ok := p.next("wp")
	if !ok {
		return nil, bad("a word or phrase is missing%s", p.before())
	}
	made, ok := leafOf(taken)
	if !ok {
		return nil, nil
	}
	return p.query.add(made), nil
}

func (p *parser) before() string {
	if len(p.tokens) == 0 {
		return " at the end"
	}
	return " before " + p.tokens[0].text
}
