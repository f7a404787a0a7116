package index

import (
	"strings"
	"unicode/utf8"

	"savant/fault"
)

// Bounds of a query.
const (
	maxQuery  = 1000 // bytes
	maxLeaves = 32
	maxDepth  = 16
)

// Query says what to look for.
type Query struct {
	// Text is a question or some words. "..." is a phrase, foo* a prefix.
	// Identifiers are split: readFile finds read_file too.
	Text string
	// Literal takes Text as an expression: every word is required as written, and
	// AND, OR, NOT and parentheses are operators. Otherwise files with all the
	// words come first, and those with some follow.
	Literal bool
	// Limit bounds the rows, 10 when zero. PerFile bounds the rows of one file, 1 when
	// zero.
	Limit, PerFile int
	// Paths are folders or globs. A file must match one of them, and be in one of
	// Languages. An empty list matches every file.
	Paths, Languages []string
}

// leaf is a word or phrase to look for, in lower case.
type leaf struct {
	text   string   // as in the query
	parts  []string // in this order, with only separators between them
	whole  string   // the same as one identifier; "" for a phrase
	forms  []string // other forms of a single word, such as plurals
	short  []string // abbreviations that a path may have: env for environment
	prefix bool     // the last part is only the beginning of a word
}

// node is an expression: a leaf, or an operator over others.
type node struct {
	operator operator
	leaf     int // index into ParsedQuery.leaves, for opLeaf
	nodes    []*node
}

type operator byte

const (
	opLeaf operator = iota
	opAll
	opAny
	opNot
)

// ParsedQuery is a parsed query. It can be used with several indexes.
type ParsedQuery struct {
	leaves  []leaf
	root    *node
	filter  *filter
	literal bool
	ofTests bool // the query is about tests
	limit   int
	perFile int
}

func (q *ParsedQuery) add(l leaf) *node {
	q.leaves = append(q.leaves, l)
	return &node{operator: opLeaf, leaf: len(q.leaves) - 1}
}

// Parse parses a query. Errors are INVALID_PARAMS, or LIMIT_EXCEEDED for a query
// that is too long.
func Parse(query Query) (*ParsedQuery, error) {
	if err := query.check(); err != nil {
		return nil, err
	}
	tokens, err := lex(query.Text, query.Literal)
	if err != nil {
		return nil, err
	}
	made := &ParsedQuery{literal: query.Literal, limit: query.Limit, perFile: max(1, query.PerFile)}
	if made.limit <= 0 {
		made.limit = defaultLimit
	}
	p := &parser{tokens: tokens, query: made}
	if query.Literal {
		err = p.expression()
	} else {
		p.question()
	}
	switch {
	case err != nil:
		return nil, err
	case len(made.leaves) == 0:
		return nil, bad("the query has no word: give letters or digits")
	case len(made.leaves) > maxLeaves:
		return nil, fault.New(fault.LimitExceeded, "query: %d words; at most %d are allowed", len(made.leaves), maxLeaves)
	}
	made.ofTests = speaksOfTests(made.leaves)
	made.filter, err = newFilter(query)
	return made, err
}

func (q Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return bad("the query is empty: give some words, a \"phrase\" or a prefix*")
	case len(q.Text) > maxQuery:
		return fault.New(fault.LimitExceeded, "query: %d bytes; at most %d are allowed", len(q.Text), maxQuery)
	case !utf8.ValidString(q.Text):
		return bad("the query is not UTF-8")
	}
	return nil
}

func bad(format string, args ...any) error {
	failure := fault.New(fault.InvalidParams, "query: "+format, args...)
	return failure.With(fault.Diagnostic{Path: "query", Message: failure.Details})
}

// token is a piece of a query.
type token struct {
	kind   byte // 'w' word, 'p' phrase, '(' , ')' , '&' AND, '|' OR, '!' NOT
	text   string
	prefix bool
}

// lex splits a query at spaces and quotes. In a literal query parentheses and
// operators are tokens too.
func lex(text string, literal bool) ([]token, error) {
	var tokens []token
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " \t\r\n") {
		switch {
		case text[0] == '"':
			phrase, rest, closed := strings.Cut(text[1:], `"`)
			if !closed && literal {
				return nil, bad("a \" is not closed")
			}
			rest, prefix := strings.CutPrefix(rest, "*")
			tokens = append(tokens, token{kind: 'p', text: phrase, prefix: prefix})
			text = rest
		case literal && (text[0] == '(' || text[0] == ')'):
			tokens = append(tokens, token{kind: text[0], text: text[:1]})
			text = text[1:]
		default:
			stop := " \t\r\n\""
			if literal {
				stop += "()"
			}
			end := strings.IndexAny(text, stop)
			if end < 0 {
				end = len(text)
			}
			tokens = append(tokens, wordToken(text[:end], literal))
			text = text[end:]
		}
	}
	return tokens, nil
}

func wordToken(word string, literal bool) token {
	if literal {
		switch word {
		case "AND":
			return token{kind: '&', text: word}
		case "OR":
			return token{kind: '|', text: word}
		case "NOT":
			return token{kind: '!', text: word}
		}
	}
	word, prefix := strings.CutSuffix(word, "*")
	return token{kind: 'w', text: word, prefix: prefix}
}

// leafOf makes a leaf of a token; ok is false if it has no letters or digits.
func leafOf(t token) (made leaf, ok bool) {
	text := []byte(t.text)
	made = leaf{text: t.text, prefix: t.prefix}
	words := 0
	folded := fold(nil, text)
	for word := range eachWord(text) {
		words++
		made.whole = string(trimmed(folded[word.start:word.end]))
		whole := text[word.start:word.end]
		for part := range eachPart(whole) {
			made.parts = append(made.parts, string(folded[word.start+part.start:word.start+part.end]))
		}
	}
	if words > 1 {
		made.whole = ""
	}
	return made, len(made.parts) > 0
}
