package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/reasoning"
)

// A call whose tokens nobody counted has an unknown cost, not none.
func TestACallWithoutACountHasNoCost(t *testing.T) {
	price := func(_ string, prompt, output int) (float64, bool) { return float64(prompt + output), true }
	require.InDelta(t, 3, *agent.SpentOn(reasoning.ModelCall{Model: "openai:m", PromptTokens: 2, OutputTokens: 1}, price).Cost, 1e-9)
	unknown := agent.SpentOn(reasoning.ModelCall{Model: "openai:m"}, price)
	require.Nil(t, unknown.Cost)
	require.Equal(t, []string{"openai:m (it counted no tokens)"}, unknown.Unpriced)
	require.Zero(t, agent.SpentOn(reasoning.ModelCall{Model: "openai:m", Cached: true}, price))
}
