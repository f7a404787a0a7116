package rules_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/rules"
)

// TestThePageOfRulesIsTrue runs the examples of docs/rules.md.
func TestThePageOfRulesIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/rules.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```(?:yaml)?\n(.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 6)
	file, err := rules.Parse("rules/shop.yaml", blocks[0][1])
	require.NoError(t, err)
	cases, err := rules.ParseCases("rules/shop.cases.yaml", blocks[3][1])
	require.NoError(t, err)
	for _, each := range cases.Cases {
		require.Empty(t, each.Run(rules.New(file), nil))
	}
	ofWorkflow, err := rules.ParseWorkflow("workflows/refund.yaml", blocks[2][1])
	require.NoError(t, err)
	require.Equal(t, []string{"params.limit", "state.order"}, ofWorkflow.Reads())
	for _, each := range blocks[4:] {
		_, err = rules.Parse("rules/sent.yaml", each[1])
		require.NoError(t, err)
	}
	s := newSession(rules.New(file))
	s.made("shop.login", object{}, object{"ok": true})
	require.Equal(t, string(blocks[1][1]), s.decide("pay.refund", object{"order": "A1", "amount": 5}).Text()+"\n")
}
