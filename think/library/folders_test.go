package library_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/library"
)

func workflowFile(name string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("name: " + name + "\nversion: \"1\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}
}

// A team keeps its workflows in folders. They are found by their names.
func TestWorkflowsInFoldersAreFound(t *testing.T) {
	files := fstest.MapFS{"workflows/top.yaml": workflowFile("top"), "workflows/team/x.yaml": workflowFile("x"), "workflows/team/deep/y.yml": workflowFile("y"),
		"workflows/.hidden/z.yaml": workflowFile("z"), "workflows/a/b/c/d/e/far.yaml": workflowFile("far"), "workflows/team/notes.txt": {}}
	l := library.New(library.Layer{Files: files})
	require.Equal(t, []string{"top", "x", "y"}, l.Names())
	for name, file := range map[string]string{"top": "workflows/top.yaml", "x": "workflows/team/x.yaml", "y": "workflows/team/deep/y.yml"} {
		found, err := l.Find(name, "")
		require.NoError(t, err)
		require.Equal(t, file, found.File)
		require.True(t, l.Current(name, found.Digest))
		require.Equal(t, found.Source, l.Source(name, ""))
	}
	catalog, err := l.Catalog(t.Context(), library.CatalogInput{})
	require.NoError(t, err)
	require.Len(t, catalog.Workflows, 3)
	chosen, err := l.Find("team/x", "")
	require.NoError(t, err)
	require.Equal(t, "x", chosen.Name)
	_, err = l.Find("other/x", "")
	require.ErrorIs(t, err, fault.UnknownWorkflow)
	require.ErrorContains(t, err, `did you mean "x"`)
}

// Which of two files is meant is not guessed.
func TestTwoFilesOfOneNameAreAnError(t *testing.T) {
	files := fstest.MapFS{"workflows/x.yaml": workflowFile("x"), "workflows/team/x.yaml": workflowFile("x"), "workflows/team/ok.yaml": workflowFile("ok")}
	l := library.New(library.Layer{Files: files})
	_, err := l.Find("x", "")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "workflows/x.yaml and workflows/team/x.yaml")
	_, err = l.Find("ok", "")
	require.NoError(t, err)
	for _, each := range l.List() {
		require.Equal(t, each.Name == "x", each.Err != nil, each.Name)
	}
	above := library.New(library.Layer{Files: fstest.MapFS{"workflows/ok.yaml": workflowFile("ok")}}, library.Layer{Files: files})
	found, err := above.Find("ok", "")
	require.NoError(t, err)
	require.Equal(t, "workflows/team/ok.yaml", found.File, "a layer overlays another one, whatever the folder")
}

func TestAnUnknownWorkflowNamesTheFolder(t *testing.T) {
	l := library.New(library.Layer{Files: fstest.MapFS{}}, library.Layer{Files: fstest.MapFS{}, Shown: "/home/ada/shop"})
	_, err := l.Find("release", "")
	require.ErrorIs(t, err, fault.UnknownWorkflow)
	require.ErrorContains(t, err, "/home/ada/shop/workflows")
	require.ErrorContains(t, err, "SAVANT_PATH")
}
