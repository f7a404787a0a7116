package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// parse returns the tree of a source.
func parse(source string, config *conf.Config) (*parser.Tree, error) {
	if node := parseNames(source); node != nil {
		return &parser.Tree{Node: node}, nil
	}
	return parser.ParseWithConfig(source, config)
}

// maxNames is how many names parseNames takes: far fewer than maxNodes allows.
const maxNames = 32

// words are names that mean something else to the parser or to the rewriter,
// at least where an expression begins.
var words = []string{"true", "false", "nil", "null", "not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"}

// parseNames returns the tree that expr-lang makes of names joined by . and ?.
// with nothing but spaces around them, and nil for any other source. Most
// expressions of templates are just that, and its lexer and parser take ten
// times as long for them.
func parseNames(source string) ast.Node {
	text := strings.TrimLeft(source, " ")
	offset := len(source) - len(text)
	var node ast.Node
	names, optional, chained := 0, false, false
	for part := range strings.SplitSeq(strings.TrimRight(text, " "), ".") {
		name, guarded := strings.CutSuffix(part, "?")
		if names++; names > maxNames || !isIdentifier(name) || slices.Contains(words, name) {
			return nil
		}
		at := file.Location{From: offset, To: offset + len(name)}
		if node == nil {
			node = &ast.IdentifierNode{Value: name}
		} else {
			key := &ast.StringNode{Value: name}
			key.SetLocation(at)
			node = &ast.MemberNode{Node: node, Property: key, Optional: optional}
		}
		node.SetLocation(at)
		chained = chained || optional
		optional = guarded
		offset += len(part) + len(".")
	}
	if optional { // ends in ?
		return nil
	}
	if chained {
		last := node.Location()
		node = &ast.ChainNode{Node: node}
		node.SetLocation(last)
	}
	return node
}
