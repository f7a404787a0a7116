package app

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think"
	"savant/think/library"
)

// The cases of a package stop with their time: nobody has agreed to the package yet.
func TestCasesOfAPackageEnd(t *testing.T) {
	files := fstest.MapFS{
		"workflows/a.yaml":       {Data: []byte("name: a\nversion: \"1\"\nsteps: [{id: s, call: flow.set, input_template: {value: 1}}]\n")},
		"workflows/a.cases.yaml": {Data: []byte("workflow: a\ncases: [{name: one, expect: {outcome: done}}, {name: two, expect: {outcome: failed}}]\n")},
	}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Tools: think.AnyTools{}})
	defer engine.Close()
	passed, failed, err := runCases(t.Context(), engine, files, "workflows/a.yaml", "a")
	require.NoError(t, err)
	require.Equal(t, [2]int{1, 1}, [2]int{passed, failed})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = runCases(ended, engine, files, "workflows/a.yaml", "a")
	require.ErrorIs(t, err, fault.LimitExceeded)
}
