package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/reasoning"
)

// perToken costs one for each token.
type perToken struct{}

// Of implements agent.Prices.
func (perToken) Cost(_ string, prompt, output int) (cost float64, known bool) {
	return float64(prompt + output), true
}

// A call whose tokens nobody counted has an unknown cost, not none.
func TestACallWithoutACountHasNoCost(t *testing.T) {
	require.InDelta(t, 3, *agent.SpentOn(reasoning.ModelCall{Model: "openai:m", PromptTokens: 2, OutputTokens: 1}, perToken{}).Cost, 1e-9)
	unknown := agent.SpentOn(reasoning.ModelCall{Model: "openai:m"}, perToken{})
	require.Nil(t, unknown.Cost)
	require.Equal(t, []string{"openai:m (it counted no tokens)"}, unknown.Unpriced)
	require.Zero(t, agent.SpentOn(reasoning.ModelCall{Model: "openai:m", Cached: true}, perToken{}))
}
