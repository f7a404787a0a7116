package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// longResult is the size of a result that is kept as an artifact, in bytes.
const longResult = 100_000

// countingStore counts how often long results are read.
type countingStore struct {
	state.Storage
	reads int
}

func (s *countingStore) Artifact(ctx context.Context, digest string) ([]byte, error) {
	data, err := s.Storage.Artifact(ctx, digest)
	if len(data) >= longResult {
		s.reads++
	}
	return data, err
}

// A run that is opened reads a long result once, however many of its steps were decided
// by it.
func TestALongResultIsReadOnceAReplay(t *testing.T) {
	t.Parallel()
	const steps = 20
	var text strings.Builder
	text.WriteString("name: w\nversion: \"1\"\nsteps:\n  - {id: get, call: s.tool, capture_as: long}\n")
	before := "get"
	for i := range steps {
		fmt.Fprintf(&text, "  - {id: s%d, deps: [%s], when: \"state.long.n > %d\", call: llm.generate, input_template: {task: x}}\n", i, before, i)
		before = fmt.Sprintf("s%d", i)
	}
	files := fstest.MapFS{"workflows/w.yaml": {Data: []byte(text.String())}}
	store := &countingStore{Storage: statetest.NewMemory()}
	open := func() *think.Engine {
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store})
		t.Cleanup(engine.Close)
		return engine
	}
	engine := open()
	next := func(step, result string) *think.Reply {
		reply, err := engine.Next(t.Context(), think.NextInput{Workflow: "w", RunID: "r", StepID: step, ResultSnapshot: json.RawMessage(result)})
		require.NoError(t, err)
		return reply
	}
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: "r"})
	require.NoError(t, err)
	next("get", fmt.Sprintf(`{"n":%d,"text":%q}`, steps, strings.Repeat("x", longResult)))
	for i := range steps - 1 {
		next(fmt.Sprintf("s%d", i), `"done"`)
	}
	store.reads = 0
	engine = open()
	at, err := engine.Position(t.Context(), "w", "r")
	require.NoError(t, err)
	require.Equal(t, steps+1, at.Version)
	require.Equal(t, 1, store.reads)
	require.Equal(t, "done", next(fmt.Sprintf("s%d", steps-1), `"done"`).Outcome)
}
