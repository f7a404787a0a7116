package think_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

const wide = `name: wide
version: "1"
limits: {parallel: 3}
steps:
  - {id: a, call: tool.read, capture_as: a}
  - {id: b, call: tool.read, capture_as: b}
  - {id: c, call: tool.read, capture_as: c}
  - {id: sum, call: flow.set, input_template: {value: "{{ a + b + c }}"}, capture_as: sum}
outputs: {sum: "{{ sum }}"}
`

// Many callers at once, behind two servers over one folder: the same answer
// gets one reply whoever gives it, of different answers one wins, and the run
// ends where it ends when answered in turn.
func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "wide.yaml", []byte(wide))
	servers := []*local{openLocal(t, root), openLocal(t, root)}
	for _, each := range servers {
		defer each.close(t)
	}
	require.False(t, isFault(servers[0].call(t, "think.plan", json.RawMessage(`{"workflow":"wide","run_id":"r"}`))))
	given := make([]json.RawMessage, 24)
	var callers sync.WaitGroup
	for i := range given {
		args := fmt.Sprintf(`{"run_id":"r","step_id":%q,"result_snapshot":%d}`, stepOf(i), 1+i%2*10)
		callers.Go(func() { given[i] = servers[i/3%2].call(t, "think.next", json.RawMessage(args)) })
	}
	callers.Wait()
	replies := map[string]map[string]int{"a": {}, "b": {}, "c": {}}
	for i, reply := range given {
		if isFault(reply) {
			require.Equal(t, string(fault.StateConflict), member(t, reply, "error"))
			reply = json.RawMessage("conflict")
		}
		replies[stepOf(i)][string(reply)]++
	}
	for step, seen := range replies {
		require.Len(t, seen, 2, "step %s: one reply to the answer that won, a conflict to the other", step)
		require.Equal(t, 4, seen["conflict"])
	}
	got := servers[1].call(t, "think.state.get", json.RawMessage(`{"run_id":"r"}`))
	require.Equal(t, "done", member(t, got, "snapshot", "status"))
	require.Equal(t, "4", member(t, got, "snapshot", "version"))
}

func stepOf(i int) string { return string(rune('a' + i%3)) }
