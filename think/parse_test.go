package think

import (
	"encoding/json"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state/statetest"
)

// What was parsed with schemas that changed meanwhile is not kept for who comes
// after them.
func TestWhatWasParsedWithOldSchemasIsNotKept(t *testing.T) {
	source := []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}, success_schema: Answer}\n")
	files := fstest.MapFS{"workflows/one.yaml": {Data: source}}
	library := NewLibrary(Layer{Files: files})
	before, err := library.Schemas()
	require.NoError(t, err)
	files["schemas/Answer.json"] = &fstest.MapFile{Data: []byte(`{"type": "string"}`), ModTime: time.Unix(1, 0)}
	_, err = library.Schemas()
	require.NoError(t, err)
	_, err = library.known("workflows/one.yaml", source, hexSum(source), before).workflow()
	require.Error(t, err, "it is of a request that began before the schema was there")
	_, err = library.Parse("workflows/one.yaml", source)
	require.NoError(t, err)
}

// panicking is a folder whose files end whoever looks at them.
type panicking struct{ fs.FS }

func (panicking) Open(string) (fs.File, error) { panic("of a workflow's file") }

// A panic while a workflow is parsed ahead is for the request alone, which is
// where it is told and survived.
func TestAPanicAheadOfARequestEndsNothingElse(t *testing.T) {
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	options := Options{Library: NewLibrary(Layer{Files: files}), Store: statetest.NewMemory(), Now: time.Now}
	first := New(options)
	defer first.Close()
	_, err := first.Plan(t.Context(), PlanInput{Workflow: "one", RunID: "r"})
	require.NoError(t, err)
	options.Library = NewLibrary(Layer{Files: panicking{files}})
	second := New(options)
	defer second.Close()
	for range 2 { // and it leaves the run to the next one
		require.PanicsWithValue(t, "of a workflow's file", func() {
			_, _ = second.Next(t.Context(), NextInput{Workflow: "one", RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`"x"`)})
		})
	}
}
