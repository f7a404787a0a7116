package agent_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines"
	"savant/reasoning"
)

// A step of as many calls as there may be, each with a large output, is no larger
// a question than one of a single call.
func TestOutputsOfOneStepShareTheirRoom(t *testing.T) {
	calls := make([]string, reasoning.MaxCalls)
	for i := range calls {
		calls[i] = `{"tool_name":"t.large","args":{"n":` + strconv.Itoa(i) + `}}`
	}
	answers := []json.RawMessage{json.RawMessage(`{"action":"tool","calls":[` + strings.Join(calls, ",") + `]}`),
		json.RawMessage(`{"action":"finish","final":"done"}`)}
	var asked reasoning.Request
	w := newWorld(t, answers, func(o *agent.Options) {
		registry := engines.NewRegistry(engines.Options{})
		large := engines.Bind("t.large", "gives much", func(context.Context, struct {
			N int `json:"n"`
		}) (string, error) {
			return strings.Repeat("much ", 12_000), nil
		})
		large.ReadOnly = true
		require.NoError(t, registry.Add(large))
		o.Toolbox = registry
		o.Decider = reasoning.New(reasoning.Options{Transport: spy{answers: answers, last: &asked}})
	})
	run, err := w.runtime.Start(agent.RunOptions{Goal: "much"})
	require.NoError(t, err)
	<-run.Done()
	require.Equal(t, agent.StatusOK, run.Report().Status)
	body, err := asked.Encode()
	require.NoError(t, err)
	require.Len(t, asked.LastOutput, reasoning.MaxCalls)
	require.Less(t, len(body), 80<<10)
	for _, each := range asked.LastOutput {
		require.True(t, each.Cut)
		require.Contains(t, string(each.Result), "much much")
	}
}

// spy answers a script and keeps the last question.
type spy struct {
	answers []json.RawMessage
	last    *reasoning.Request
}

func (s spy) RoundTrip(_ context.Context, request reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	*s.last = request
	return s.answers[request.Step-1], nil
}
