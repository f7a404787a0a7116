package mcpio_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

// TestCallsGoOnWhileAFormIsOpen: calls about one run are answered in order, but none waits
// for a person who was asked by an earlier one and may never answer.
func TestCallsGoOnWhileAFormIsOpen(t *testing.T) {
	o := options(t)
	o.Registry = engines.NewRegistry(engines.Options{})
	require.NoError(t, o.Registry.AddEngine(engines.Engine{Name: "test", OrderBy: "run_id", Concurrency: 4}, asking(), echo()))
	w := dial(t, o)
	w.greet(helloForms)
	w.send(callLine(1, "test.ask", `{"run_id":"r"}`))
	asked := w.nextMessage()
	require.Equal(t, "elicitation/create", asked.Method)
	for id := 2; id < 5; id++ {
		w.send(callLine(id, "test.echo", `{"run_id":"r"}`))
		require.Equal(t, fmt.Sprint(id), string(w.nextMessage().ID), "it answers while the form is open")
	}
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, asked.ID))
	require.Equal(t, "1", string(w.nextMessage().ID))
	w.send(callLine(5, "test.echo", `{"run_id":"r"}`))
	require.Equal(t, "5", string(w.nextMessage().ID))
}
