package schemas_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/schemas"
	"savant/test/golden"
)

// An invalid file hides the bundled file of the same name. Every schema that refers to
// it, in whatever way, gets the error; other schemas do not.
func TestABrokenFileConcernsThoseWhoReferToIt(t *testing.T) {
	bundled := layer("schemas/Over.json", `{"type":"string"}`, "schemas/Good.json", `{"type":"string"}`)
	own := layer("schemas/Over.json", "{\n  \"type\": \"é\" x\n}", "schemas/Uses.json", `{"items":{"$ref":"Over.json#/$defs/a"}}`,
		"schemas/Far.json", `{"allOf":[{"$ref":"Uses"}]}`)
	set, err := schemas.LoadFolder("schemas", bundled, own)
	require.NoError(t, err)
	require.Equal(t, []string{"Far", "Good", "Over", "Uses"}, set.Names())

	over := fault.Diagnostic{File: "schemas/Over.json", Line: 2, Column: 15}
	for _, name := range []string{"Over", "Over.json", "Uses", "Far"} {
		_, err := set.Lookup(name)
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.ErrorContains(t, err, "schemas/Over.json:2:15", name)
	}
	_, err = set.Inline(value(t, `{"properties":{"a":{"$ref":"Over"}}}`))
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "/properties/a/$ref", "where it is referred to")
	require.ErrorContains(t, err, "schemas/Over.json:2:15", "what is wrong")
	_, err = set.Lookup("Good")
	require.NoError(t, err)
	_, known := set.Source("Over")
	require.False(t, known)
	require.Nil(t, set.Broken("Good"))
	require.Len(t, set.Broken("Over").Diagnostics, 1)
	require.Equal(t, over, place(set.Broken("Over")))

	local, err := set.With(map[string]any{"Over": true})
	require.NoError(t, err)
	_, err = local.Lookup("Far")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.NotContains(t, err.Error(), "schemas/Over.json:2:15", "a workflow's own schema wins over a broken file")
}

// place returns where the first diagnostic of an error points, without its message.
func place(err error) fault.Diagnostic {
	first := fault.From(err).Diagnostics[0]
	return fault.Diagnostic{File: first.File, Line: first.Line, Column: first.Column, Pointer: first.Pointer}
}

// TestWhatIsWrongWithAFileIsPlaced checks the place of each error. The wording is in
// testdata/files.golden.
func TestWhatIsWrongWithAFileIsPlaced(t *testing.T) {
	messages := map[string]string{}
	large := `{"description":"` + strings.Repeat("x", 512<<10) + `"}`
	for text, want := range map[string]fault.Diagnostic{
		"":                      {Line: 1, Column: 1},
		"{\n\"type\":":          {Line: 2, Column: 8},
		"{}\n\n }":              {Line: 3, Column: 2},
		"\ufeff{}":              {Line: 1, Column: 1},
		`{"a":1e999}`:           {Line: 1, Column: 6},
		`"text"`:                {},
		large:                   {},
		strings.Repeat("[", 20): {Line: 1, Column: 21},
		"{\n \"properties\": {\n  \"a\": {\"type\": \"strin\"}}}":     {Line: 3, Column: 17, Pointer: "/properties/a/type"},
		"{\n \"allOf\": [true,\n  {\"pattern\": \"(\"}]}":             {Line: 3, Column: 15, Pointer: "/allOf/1/pattern"},
		"{\n \"x\": [[1], {\"$ref\": 1}],\n \"$ref\": \"#/nowhere\"}": {Line: 3, Column: 10, Pointer: "/$ref"},
	} {
		_, err := load(t, "a.json", text).Lookup("a")
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		want.File = "a.json"
		require.Equal(t, want, place(err), text)
		messages[text] = fault.From(err).Details
	}
	golden.Messages(t, *update, "testdata/files.golden", messages)
	_, err := load(t, "a.json", `{"$ref":"b"}`, "b.json", "{\"a\":0,\n\"not\":{\"type\":0}}").Lookup("a")
	require.Equal(t, fault.Diagnostic{File: "b.json", Line: 2, Column: 15, Pointer: "/not/type"}, place(err), "the file that is wrong, not the one that was asked for")
	require.ErrorContains(t, err, "b.json:2:15")
}

// unreadable fails to open a file, or to list a folder, while it says so.
type unreadable struct {
	fstest.MapFS
	name string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: "/secret/place/" + name, Err: fs.ErrPermission}
	}
	return u.MapFS.Open(name)
}

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: "/secret/place/" + name, Err: fs.ErrPermission}
	}
	return u.MapFS.ReadDir(name)
}

func TestWhatCannotBeRead(t *testing.T) {
	files := layer("s/A.json", `{}`, "s/B.json", `{}`)
	set, err := schemas.LoadFolder("s", unreadable{files, "s/A.json"})
	require.NoError(t, err)
	_, err = set.Lookup("A")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "s/A.json")
	require.ErrorContains(t, err, fs.ErrPermission.Error(), "the cause")
	require.NotContains(t, err.Error(), "/secret/place")
	require.NotEmpty(t, set.Unread())
	_, err = set.Lookup("B")
	require.NoError(t, err)

	_, err = schemas.LoadFolder("s", unreadable{files, "s"})
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, fs.ErrPermission.Error(), "the cause")
	require.NotContains(t, err.Error(), "/secret/place")
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "s"), nil, 0o600))
	set, err = schemas.LoadFolder("s", os.DirFS(root))
	require.NoError(t, err, "what is no folder holds nothing")
	require.Empty(t, set.Unread())
}

// What was broken once stays so for those who keep the reason.
func TestBrokenForAReason(t *testing.T) {
	set := load(t, "A.json", `{}`, "Uses.json", `{"$ref":"A"}`).WithBroken(map[string]string{"A": "it was torn"})
	for _, name := range []string{"A", "Uses"} {
		_, err := set.Lookup(name)
		var coded *fault.Error
		require.True(t, errors.As(err, &coded))
		require.Equal(t, fault.YAMLSchemaViolation, coded.Code)
		require.Contains(t, coded.Details, "it was torn")
	}
	require.Same(t, set, set.WithBroken(nil))
}

// A file of any content is a schema, or its error names the file and a place inside it.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"", "{", "{}", "[1]", `{"type":"strin"}`, "{\"a\":\n\"\xff\"}", `{"$ref":"a"}`, `{"$ref":"#/$defs/x/0","$defs":{"x":[{"not":1}]}}`, `{"a":1}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := schemas.Load(fstest.MapFS{"a.json": {Data: data}, "b.json": {Data: []byte(`{"items":{"$ref":"a"}}`)}})
		require.NoError(t, err)
		_, err = set.Lookup("a")
		_, through := set.Lookup("b")
		require.Equal(t, err == nil, through == nil, "%v; %v", err, through)
		if err == nil {
			return
		}
		var coded *fault.Error
		require.True(t, errors.As(err, &coded))
		require.Equal(t, fault.YAMLSchemaViolation, coded.Code)
		require.Contains(t, coded.Details, "a")
		lines := strings.Split(string(data), "\n")
		for _, d := range coded.Diagnostics {
			require.Equal(t, "a.json", d.File)
			require.LessOrEqual(t, d.Line, len(lines))
			if d.Line > 0 {
				require.LessOrEqual(t, d.Column, len(lines[d.Line-1])+1)
			}
		}
	})
}
