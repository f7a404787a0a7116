package library_test

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/library"
)

// counting is a file system that counts the bytes read from its files.
type counting struct {
	fs.FS
	read *int
}

func (c counting) Open(name string) (fs.File, error) {
	opened, err := c.FS.Open(name)
	if _, is := opened.(fs.ReadDirFile); is || err != nil {
		return opened, err
	}
	return counted{opened, c.read}, nil
}

type counted struct {
	fs.File
	read *int
}

func (c counted) Read(into []byte) (int, error) {
	n, err := c.File.Read(into)
	*c.read += n
	return n, err
}

var _ io.Reader = counted{}

// A listing reads the beginning of large files, whatever the rest is.
func TestAListingReadsTheBeginningOfLargeFiles(t *testing.T) {
	step := "  - id: a\n    call: llm.generate\n    input_template: {task: x}\n"
	rest := strings.Repeat("  # a long comment\n", 220_000)
	files := fstest.MapFS{
		"workflows/fine.yaml":   {Data: []byte("name: fine\nversion: \"2\"\ndescription: a large one\nparams:\n  who: {type: string, required: true}\nsteps:\n" + step + rest)},
		"workflows/broken.yaml": {Data: []byte("name: broken\nversion: \"1\"\nsteps:\n  - nonsense\n" + rest)},
		"workflows/wrong.yaml":  {Data: []byte("name: other\nversion: \"1\"\nsteps:\n" + step + rest)},
		"workflows/late.yaml":   {Data: []byte("name: late\nversion: \"1\"\n#" + rest + "\nsteps:\n" + step)},
		"workflows/small.yaml":  {Data: []byte("name: small\nversion: \"1\"\nsteps:\n" + step)},
	}
	read := 0
	l := library.New(library.Layer{Files: counting{files, &read}})
	catalog, err := l.Catalog(t.Context(), library.CatalogInput{})
	require.NoError(t, err)
	require.Less(t, read, 5*128<<10)
	said := map[string]library.CatalogEntry{}
	for _, each := range catalog.Workflows {
		said[each.ID] = each
	}
	require.Equal(t, library.CatalogEntry{ID: "fine", Version: "2", Desc: "a large one", Params: map[string]any{"who": map[string]any{"type": "string", "required": true}}}, said["fine"])
	require.Empty(t, said["broken"].Error, "what it does is not looked at")
	require.Contains(t, said["wrong"].Error, `"other"`, "the name that is not the file's")
	require.Contains(t, said["late"].Error, "65536", "the bytes that are read")
	require.Equal(t, "1", said["small"].Version)

	_, err = l.Find("broken", "")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation, "it is looked at when it is used")
	found, err := l.Find("fine", "")
	require.NoError(t, err)
	require.Len(t, found.Steps, 1)
}

// listings counts how often workflows/ is listed.
type listings struct {
	fstest.MapFS
	made *int
}

func (l listings) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "workflows" {
		*l.made++
	}
	return l.MapFS.ReadDir(name)
}

// Who looks many workflows up lists the folders once.
func TestAKeptListing(t *testing.T) {
	step := "version: \"1\"\nsteps:\n  - id: a\n    call: llm.generate\n    input_template: {task: x}\n"
	files, made := fstest.MapFS{}, 0
	for _, name := range []string{"one", "two", "three"} {
		files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\n" + step)}
	}
	l := library.New(library.Layer{Files: listings{files, &made}})
	l.KeepListing()
	once := made
	require.Positive(t, once)
	for _, name := range l.Names() {
		_, err := l.Graph(name)
		require.NoError(t, err)
	}
	require.Len(t, l.All(), 3)
	require.Equal(t, once, made)
}
