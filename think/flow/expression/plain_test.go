package expression

import (
	"testing"

	"github.com/expr-lang/expr/parser"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What parseNames takes, it makes the parser's own tree of, places and all.
func TestNamesAreParsedAsTheParserDoes(t *testing.T) {
	pieces := []string{"a", "name", "state", "_x1", "len", "map", "9", "é", "$env", ".", ".", "?.", "?.", "?", "..", " ", "\t", "[0]", "(", ")", "//", "#", "not in"}
	rapid.Check(t, func(t *rapid.T) {
		source := ""
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(append(pieces, words...)), 1, 8).Draw(t, "pieces") {
			source += piece
		}
		requireSameTree(t, source)
	})
}

func requireSameTree(t require.TestingT, source string) {
	node := parseNames(source)
	if node == nil {
		return
	}
	tree, err := parser.ParseWithConfig(source, newConfig())
	require.NoError(t, err, source)
	require.Equal(t, tree.Node, node, source)
}

func TestNamesThatAreParsedWithoutTheParser(t *testing.T) {
	for source, taken := range map[string]bool{
		"a": true, " state.a ": true, "a?.b": true, "a?.b.c?.d": true, "a.b_1.C": true, "run.id": true, "len.x": true,
		"": false, "a?": false, "a.": false, ".a": false, "a..b": false, "a.1": false, "1.a": false, "a . b": false,
		"true": false, "null.a": false, "a.not.b": false, "a[0]": false, "é.a": false, "a\n": false, "$env": false,
	} {
		require.Equal(t, taken, parseNames(source) != nil, source)
		requireSameTree(t, source)
	}
}
