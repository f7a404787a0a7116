package think_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
	"savant/think"
	"savant/think/state"
)

const largeWorkflow = `name: large
version: "1.0"
steps:
  - {id: find, call: tool.search, input_template: {bytes: %d}, witness: required, capture_as: found}
  - {id: count, call: flow.set, input_template: {value: "{{ len(state.found.text) }}"}, capture_as: size}
outputs: {size: "{{ state.size }}"}
`

// TestLargeResultAdvancesWithAShortRequest: the model hands in 8 characters for
// a result of any length, and the run has the whole of it; also when the result
// was too large to be handed on, so that the model never saw it whole.
func TestLargeResultAdvancesWithAShortRequest(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{1, 9 << 10, 1_000_000, 1_100_000} {
		for kind, open := range map[string]func(*testing.T, string) driver{
			"here":  func(t *testing.T, root string) driver { return openLocal(t, root) },
			"stdio": func(t *testing.T, root string) driver { return openRemote(t, root) },
		} {
			t.Run(fmt.Sprintf("%s/%d", kind, bytes), func(t *testing.T) {
				root := t.TempDir()
				place(t, root, "large.yaml", []byte(fmt.Sprintf(largeWorkflow, bytes)))
				d := open(t, root)
				defer func() { d.close(t) }()
				d.call(t, "think.plan", json.RawMessage(`{"workflow":"large","run_id":"r1"}`))
				found := d.call(t, "tool.search", json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, bytes)))
				var carried struct {
					Receipt string `json:"_receipt"`
				}
				require.NoError(t, json.Unmarshal(found, &carried))
				request := fmt.Sprintf(`{"workflow":"large","run_id":"r1","step_id":"find","result_ref":%q}`, carried.Receipt)
				require.Less(t, len(request), 300)
				first := d.call(t, "think.next", json.RawMessage(request))
				require.JSONEq(t, fmt.Sprintf(`{"size":%d}`, bytes), cmp.Or(member(t, first, "outputs"), "null"), "%s", first)
				require.Less(t, len(first), maxReply)
				require.Equal(t, string(first), string(d.call(t, "think.next", json.RawMessage(request))))

				// Without the receipt and in another process.
				require.NoError(t, os.RemoveAll(filepath.Join(root, ".savant", "receipts")))
				d.reopen(t)
				require.Equal(t, string(first), string(d.call(t, "think.next", json.RawMessage(request))))
				replayed := d.call(t, "think.debug", json.RawMessage(`{"run_id":"r1","action":"replay"}`))
				require.Equal(t, `identical`, member(t, replayed, "verdict"))
				require.True(t, strings.Contains(readVar(t, d, "found"), `"text":"`+strings.Repeat("x", bytes)+`"`))
			})
		}
	}
}

// readVar reads a capture of the run r1, in parts where it is long.
func readVar(t *testing.T, d driver, name string) string {
	t.Helper()
	var text strings.Builder
	for offset := 0; ; {
		var got think.StateGet
		require.NoError(t, json.Unmarshal(d.call(t, "think.state.get", json.RawMessage(fmt.Sprintf(`{"run_id":"r1","var":%q,"offset":%d}`, name, offset))), &got))
		if got.Part == nil {
			return string(got.Value)
		}
		text.WriteString(got.Part.Text)
		if offset = got.Part.Next; offset == 0 {
			return text.String()
		}
	}
}

// TestOneReceiptGivenAtOnce: whoever hands it in, from two processes and often,
// gets the one reply that is recorded.
func TestOneReceiptGivenAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "large.yaml", []byte(fmt.Sprintf(largeWorkflow, 100_000)))
	first, second := openLocal(t, root), openLocal(t, root)
	defer first.close(t)
	defer second.close(t)
	first.call(t, "think.plan", json.RawMessage(`{"workflow":"large","run_id":"r1"}`))
	called, err := second.registry.Invoke(t.Context(), engines.Call{}, "tool.search", json.RawMessage(`{"bytes":100000}`))
	require.NoError(t, err)
	request := json.RawMessage(fmt.Sprintf(`{"workflow":"large","run_id":"r1","step_id":"find","result_ref":%q}`, strings.ToUpper(called.Receipt)))
	replies := make([]string, 16)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			result, err := []*local{first, second}[i%2].registry.Invoke(t.Context(), engines.Call{}, "think.next", request)
			replies[i] = fmt.Sprint(string(result.JSON), err)
		})
	}
	all.Wait()
	for _, each := range replies {
		require.Contains(t, each, `"size":100000`)
		require.Equal(t, replies[0], each)
	}
	records, err := first.store.Records(t.Context(), state.Key{Workflow: "large", Run: "r1"}, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 2)
}

// Who forgot the result of a step that takes only receipts is asked for one.
func TestAWitnessedStepWithoutAResultAsksForTheReceipt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "large.yaml", []byte(fmt.Sprintf(largeWorkflow, 10)))
	l := openLocal(t, root)
	defer l.close(t)
	l.call(t, "think.plan", json.RawMessage(`{"workflow":"large","run_id":"r1"}`))
	for _, request := range []string{`{"workflow":"large","run_id":"r1","step_id":"find"}`, `{"workflow":"large","run_id":"r1","step_id":"find","result_ref":""}`} {
		_, err := l.registry.Invoke(t.Context(), engines.Call{}, "think.next", json.RawMessage(request))
		require.ErrorIs(t, err, fault.InvalidParams)
		for _, named := range []string{"result_ref", "tool.search", "_receipt"} {
			require.ErrorContains(t, err, named)
		}
	}
}

// A receipt of a call that a run made by itself is good for no other run.
func TestAReceiptIsBoundToTheRunThatMadeTheCall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "large.yaml", []byte(fmt.Sprintf(largeWorkflow, 9)))
	d := openLocal(t, root)
	defer d.close(t)
	give := func(run, receipt string) (string, error) {
		result, err := d.registry.Invoke(t.Context(), engines.Call{}, "think.next", json.RawMessage(fmt.Sprintf(`{"workflow":"large","run_id":%q,"step_id":"find","result_ref":%q}`, run, receipt)))
		return string(result.JSON), err
	}
	for _, run := range []string{"r1", "r2"} {
		d.call(t, "think.plan", json.RawMessage(fmt.Sprintf(`{"workflow":"large","run_id":%q}`, run)))
	}
	made, err := d.registry.Invoke(t.Context(), engines.Call{Step: engines.WorkflowStep{RunID: "r1"}}, "tool.search", json.RawMessage(`{"bytes":9}`))
	require.NoError(t, err)
	_, err = give("r2", made.Receipt)
	require.ErrorIs(t, err, fault.NotWitnessed)
	require.ErrorContains(t, err, "run r1", "who made the call")
	_, err = d.registry.Invoke(t.Context(), engines.Call{}, "tool.search", json.RawMessage(`{"bytes":9}`)) // a later one does not take its place
	require.NoError(t, err)
	said, err := give("r1", made.Receipt)
	require.NoError(t, err)
	require.Contains(t, said, `"size":9`)
}
