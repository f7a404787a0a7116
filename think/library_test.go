package think_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/think"
)

// TestAFileThatCannotBeReadIsNotReplaced: a workflow of the folder that is
// there and cannot be read, here a link that leads out, is an error. The
// bundled one of its name is another procedure, and must not be followed in
// its place.
func TestAFileThatCannotBeReadIsNotReplaced(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	source, err := savant.Files.ReadFile("workflows/hello.yaml")
	require.NoError(t, err)
	place(t, outside, "hello.yaml", source)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outside, "workflows", "hello.yaml"), filepath.Join(folder, "workflows", "hello.yaml")))
	_, err = libraryOf(t, folder).Find("hello", "")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "workflows/hello.yaml cannot be read")
	require.NotContains(t, err.Error(), outside)
}

// TestAFileNamedWorkflowsHidesNothing: what is no folder holds no workflows.
func TestAFileNamedWorkflowsHidesNothing(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows"), []byte("x"), 0o644))
	found, err := libraryOf(t, folder).Find("hello", "")
	require.NoError(t, err)
	require.Equal(t, "hello", found.Name)
}

// libraryOf is the library of a folder over the bundled files, as a server has
// it.
func libraryOf(t *testing.T, folder string) *think.Library {
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return think.NewLibrary(think.Layer{Name: "bundled", Files: savant.Files}, think.Layer{Files: root.FS()})
}
