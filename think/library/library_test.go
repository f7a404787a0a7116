package library_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/think/library"
)

// TestAFileThatCannotBeReadIsNotReplaced: if a workflow of the folder cannot be read,
// here because it is a link that leaves the folder, that is an error. The bundled
// workflow of the same name is another procedure and must not be used instead.
func TestAFileThatCannotBeReadIsNotReplaced(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	source, err := savant.Files.ReadFile("workflows/hello.yaml")
	require.NoError(t, err)
	place(t, outside, "hello.yaml", source)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outside, "workflows", "hello.yaml"), filepath.Join(folder, "workflows", "hello.yaml")))
	_, err = libraryOf(t, folder).Find("hello", "")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "workflows/hello.yaml")
	require.NotContains(t, err.Error(), outside)
}

// TestAFileNamedWorkflowsHidesNothing: a file in the place of the folder workflows
// counts as an empty folder.
func TestAFileNamedWorkflowsHidesNothing(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows"), []byte("x"), 0o644))
	found, err := libraryOf(t, folder).Find("hello", "")
	require.NoError(t, err)
	require.Equal(t, "hello", found.Name)
}

// TestAFileWithAVersionInItsNameIsNotListedAsAnother: hello@1.0.yaml is not listed with what
// the bundled hello, version 1.0, does.
func TestAFileWithAVersionInItsNameIsNotListedAsAnother(t *testing.T) {
	folder := t.TempDir()
	place(t, folder, "hello@1.0.yaml", []byte("name: hello\nversion: \"9\"\nsteps: [{id: a, call: flow.set, input_template: {value: 1}}]\n"))
	entries := libraryOf(t, folder).List()
	at := slices.IndexFunc(entries, func(e library.Entry) bool { return e.Name == "hello@1.0" })
	require.ErrorIs(t, entries[at].Err, fault.YAMLSchemaViolation)
	require.Nil(t, entries[at].Workflow)
}

// libraryOf returns the library that a server has: a folder over the bundled files.
func libraryOf(t *testing.T, folder string) *library.Library {
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return library.New(library.Layer{Files: savant.Files}, library.Layer{Files: root.FS()})
}

// unlistable is a folder whose workflows can be read by name but not listed, like a
// folder without the permission to read it.
type unlistable struct{ fs.FS }

func (u unlistable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "workflows" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return fs.ReadDir(u.FS, name)
}

// TestAFolderThatCannotBeListedIsReported: a catalog says that it is incomplete if it shows
// only the bundled workflows.
func TestAFolderThatCannotBeListedIsReported(t *testing.T) {
	folder := t.TempDir()
	place(t, folder, "own.yaml", []byte("name: own\nversion: \"1\"\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}]\n"))
	all := library.New(library.Layer{Files: savant.Files}, library.Layer{Files: unlistable{os.DirFS(folder)}})
	incomplete := all.Unlisted()
	require.ErrorContains(t, incomplete, fs.ErrPermission.Error(), "the cause")
	said := fault.From(incomplete).Message()
	require.Contains(t, said, "workflows", "the folder")
	found, err := all.Find("own", "")
	require.NoError(t, err)
	require.Equal(t, "own", found.Name)
	_, err = all.Find("other", "")
	require.ErrorIs(t, err, fault.UnknownWorkflow)
	require.ErrorContains(t, err, said)
	list, err := all.Catalog(t.Context(), library.CatalogInput{Filter: "hello"})
	require.NoError(t, err)
	require.Equal(t, said, list.Note)
	require.Len(t, list.Workflows, 1)

	require.NoError(t, libraryOf(t, t.TempDir()).Unlisted(), "a folder that is not there is none")
	file := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(file, "workflows"), nil, 0o644))
	require.NoError(t, libraryOf(t, file).Unlisted(), "nor is a file")
}

func place(t *testing.T, root, name string, data []byte) {
	t.Helper()
	folder := filepath.Join(root, "workflows")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o644))
}
