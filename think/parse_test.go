package think

import (
	"encoding/json"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/test/statetest"
	"savant/think/library"
)

// panicking is a folder whose files end whoever looks at them.
type panicking struct{ fs.FS }

func (panicking) Open(string) (fs.File, error) { panic("of a workflow's file") }

// A panic while a workflow is parsed ahead is for the request alone, which is
// where it is told and survived.
func TestAPanicAheadOfARequestEndsNothingElse(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	options := Options{Library: library.New(library.Layer{Files: files}), Store: statetest.NewMemory(), Now: time.Now}
	first := New(options)
	defer first.Close()
	_, err := first.Plan(t.Context(), PlanInput{Workflow: "one", RunID: "r"})
	require.NoError(t, err)
	options.Library = library.New(library.Layer{Files: panicking{files}})
	second := New(options)
	defer second.Close()
	for range 2 { // and it leaves the run to the next one
		require.PanicsWithValue(t, "of a workflow's file", func() {
			_, _ = second.Next(t.Context(), NextInput{Workflow: "one", RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`"x"`)})
		})
	}
}
