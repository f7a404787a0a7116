package think_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const sharedWorkflow = `name: w
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: a}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: b}, capture_as: b}
outputs: {all: "{{ [a, b] }}"}
`

// said is what the tests read of a reply, or of an error.
type said struct {
	Error   string
	Details string
	Done    any
	Outputs struct{ All []string }
	State   struct {
		RunID   string `json:"run_id"`
		Version int
	}
	RunID string `json:"run_id"`
	Runs  []struct {
		RunID string `json:"run_id"`
		Own   bool
	}
	Snapshot struct {
		Version int
		RunID   string `json:"run_id"`
	}
	History []struct {
		By     string
		Claims string `json:"by_claims"`
	}
	Text string
}

func ask(t *testing.T, client *remote, tool, args string) (reply said, raw string) {
	t.Helper()
	data := client.call(t, tool, json.RawMessage(args))
	require.NoError(t, json.Unmarshal(data, &reply), string(data))
	return reply, string(data)
}

// A call without a run id means a run of its caller: nobody's answer becomes a step of
// another's run.
func TestACallWithoutARunMeansItsCallersOwn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, filepath.Join("workflows", "w.yaml"), []byte(sharedWorkflow))
	one, other := openRemote(t, root), openRemote(t, root)
	defer one.close(t)
	defer other.close(t)
	ask(t, one, "think.plan", `{"workflow":"w","run_id":"r"}`)
	for tool, args := range map[string]string{
		"think.next":      `{"step_id":"a","result_snapshot":"from the other"}`,
		"think.reset":     `{"checkpoint":"start"}`,
		"think.state.get": `{}`,
		"think.explain":   `{"workflow":"w"}`,
	} {
		refused, _ := ask(t, other, tool, args)
		require.Equal(t, "INVALID_PARAMS", refused.Error, tool)
		require.Len(t, refused.Runs, 1, tool)
		require.Equal(t, "r", refused.Runs[0].RunID, "a restarted client finds its way")
		require.False(t, refused.Runs[0].Own)
	}
	refused, _ := ask(t, other, "think.next", `{"step":"a"}`)
	require.NotEmpty(t, refused.Error)
	require.Empty(t, refused.RunID)
	answered, first := ask(t, one, "think.next", `{"step_id":"a","result_snapshot":"mine"}`)
	require.Equal(t, 2, answered.State.Version)
	_, again := ask(t, one, "think.next", `{"step_id":"a","result_snapshot":"mine"}`)
	require.Equal(t, first, again)

	// The other's own run ends, and its last answer is sent again after a lost reply.
	ask(t, other, "think.plan", `{"workflow":"w","run_id":"s"}`)
	ask(t, other, "think.next", `{"step_id":"a","result_snapshot":"x"}`)
	last, lost := ask(t, other, "think.next", `{"step_id":"b","result_snapshot":"y"}`)
	require.Equal(t, true, last.Done)
	_, again = ask(t, other, "think.next", `{"step_id":"b","result_snapshot":"y"}`)
	require.Equal(t, lost, again)
	refused, _ = ask(t, other, "think.next", `{"step_id":"b","result_snapshot":"another answer"}`)
	require.Equal(t, "INVALID_PARAMS", refused.Error)
	require.Len(t, refused.Runs, 2)
	require.Equal(t, "s", refused.Runs[0].RunID, "the caller's own runs come first")
	require.True(t, refused.Runs[0].Own)
	refused, _ = ask(t, other, "think.reset", `{"checkpoint":"start","force":true}`)
	require.Equal(t, "INVALID_PARAMS", refused.Error, "a finished run is only reopened by name")

	// What is over is found where it was the caller's last.
	found, _ := ask(t, other, "think.state.get", `{"workflow":"w"}`)
	require.Equal(t, []any{"s", 3}, []any{found.RunID, found.Snapshot.Version})
	found, _ = ask(t, other, "think.explain", `{"workflow":"w"}`)
	require.Contains(t, found.Text, "Run s of workflow w is done")

	// A run that was named once is the caller's, too.
	ask(t, other, "think.explain", `{"run_id":"r"}`)
	answered, _ = ask(t, other, "think.next", `{"step_id":"b","result_snapshot":"handed over"}`)
	require.Equal(t, true, answered.Done)
	require.Equal(t, []string{"mine", "handed over"}, answered.Outputs.All)

	whole, _ := ask(t, one, "think.state.get", `{"run_id":"r"}`)
	require.Len(t, whole.History, 3)
	for _, event := range whole.History {
		require.Equal(t, "local", event.By)
		require.Equal(t, "savant 1", event.Claims)
	}
}

// A last answer that is sent again does not become a step of another run of the caller. One
// that another run waits for may be meant for either, so the client names the run.
func TestALastAnswerSentAgainIsOfTheRunThatEnded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, filepath.Join("workflows", "w.yaml"), []byte(sharedWorkflow))
	client, careful := openRemote(t, root), openRemote(t, root)
	defer client.close(t)
	defer careful.close(t)
	ends := func(client *remote, run string) (lost string) {
		ask(t, client, "think.plan", `{"workflow":"w","run_id":"`+run+`"}`)
		ask(t, client, "think.next", `{"run_id":"`+run+`","step_id":"a","result_snapshot":"same"}`)
		_, lost = ask(t, client, "think.next", `{"run_id":"`+run+`","step_id":"b","result_snapshot":"yes"}`)
		return lost
	}
	for _, early := range []string{"one", "two"} { // no run that waits at b
		ask(t, client, "think.plan", `{"workflow":"w","run_id":"`+early+`"}`)
		lost := ends(client, early+"_last")
		for range 2 { // that reply is lost, too
			_, again := ask(t, client, "think.next", `{"step_id":"b","result_snapshot":"yes"}`)
			require.Equal(t, lost, again)
		}
	}
	ask(t, careful, "think.plan", `{"workflow":"w","run_id":"other"}`)
	ask(t, careful, "think.next", `{"step_id":"a","result_snapshot":"same"}`)
	lost := ends(careful, "last")
	refused, _ := ask(t, careful, "think.next", `{"step_id":"b","result_snapshot":"yes"}`)
	require.Equal(t, "INVALID_PARAMS", refused.Error)
	require.Equal(t, []string{"last", "other"}, []string{refused.Runs[0].RunID, refused.Runs[1].RunID})
	_, again := ask(t, careful, "think.next", `{"run_id":"last","step_id":"b","result_snapshot":"yes"}`)
	require.Equal(t, lost, again)
	refused, _ = ask(t, careful, "think.next", `{"step_id":"b"}`)
	require.Equal(t, "other", refused.RunID, "the open run is asked about")
	answered, _ := ask(t, careful, "think.next", `{"step_id":"b","result_snapshot":"its own"}`)
	require.Equal(t, []any{"other", []string{"same", "its own"}}, []any{answered.State.RunID, answered.Outputs.All})
}

// After a restart a client names its run once, and goes on without naming it.
func TestARestartedClientNamesItsRunOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, filepath.Join("workflows", "w.yaml"), []byte(sharedWorkflow))
	client := openRemote(t, root)
	ask(t, client, "think.plan", `{"workflow":"w","run_id":"r"}`)
	client.close(t)
	client = openRemote(t, root)
	defer client.close(t)
	refused, _ := ask(t, client, "think.next", `{"step_id":"a","result_snapshot":"x"}`)
	require.Equal(t, "INVALID_PARAMS", refused.Error)
	ask(t, client, "think.plan", `{"workflow":"w","run_id":"`+refused.Runs[0].RunID+`"}`)
	answered, _ := ask(t, client, "think.next", `{"step_id":"a","result_snapshot":"x"}`)
	require.Equal(t, 2, answered.State.Version)
}
