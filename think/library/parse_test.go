package library

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// What was parsed with schemas that changed meanwhile is not kept for later
// calls.
func TestWhatWasParsedWithOldSchemasIsNotKept(t *testing.T) {
	source := []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}, success_schema: Answer}\n")
	files := fstest.MapFS{"workflows/one.yaml": {Data: source}}
	library := New(Layer{Files: files})
	before, err := library.Schemas()
	require.NoError(t, err)
	files["schemas/Answer.json"] = &fstest.MapFile{Data: []byte(`{"type": "string"}`), ModTime: time.Unix(1, 0)}
	_, err = library.Schemas()
	require.NoError(t, err)
	_, err = library.parseWith(before, "workflows/one.yaml", source, jsonvalue.HexSum(source))
	require.Error(t, err, "it is of a request that began before the schema was there")
	_, err = library.Parse("workflows/one.yaml", source)
	require.NoError(t, err)
}
