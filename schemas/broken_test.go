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
)

// A file of no use takes its name, also from a good one below it, and is told
// to those who refer to it, in whatever way; nobody else hears of it.
func TestABrokenFileConcernsThoseWhoReferToIt(t *testing.T) {
	bundled := layer("schemas/Over.json", `{"type":"string"}`, "schemas/Good.json", `{"type":"string"}`)
	own := layer("schemas/Over.json", "{\n  \"type\": \"é\" x\n}", "schemas/Uses.json", `{"items":{"$ref":"Over.json#/$defs/a"}}`,
		"schemas/Far.json", `{"allOf":[{"$ref":"Uses"}]}`)
	set, err := schemas.LoadFolder("schemas", bundled, own)
	require.NoError(t, err)
	require.Equal(t, []string{"Far", "Good", "Over", "Uses"}, set.Names())

	const where = `schemas/Over.json:2:15: not JSON: invalid character 'x' after object value (expecting ',' or '}')`
	for _, name := range []string{"Over", "Over.json", "Uses", "Far"} {
		_, err := set.Named(name)
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.ErrorContains(t, err, where, name)
	}
	_, err = set.Inline(value(t, `{"properties":{"a":{"$ref":"Over"}}}`))
	require.ErrorContains(t, err, "/properties/a/$ref: schema file "+where)
	_, err = set.Named("Good")
	require.NoError(t, err)
	_, known := set.Source("Over")
	require.False(t, known)
	require.Nil(t, set.Broken("Good"))
	require.Equal(t, []fault.Diagnostic{{File: "schemas/Over.json", Line: 2, Column: 15, Message: where[len("schemas/Over.json:2:15: "):]}},
		set.Broken("Over").Diagnostics)

	local, err := set.With(map[string]any{"Over": true})
	require.NoError(t, err)
	_, err = local.Named("Far")
	require.ErrorContains(t, err, "points to nothing", "a workflow's own schema wins over a broken file")
}

// Whatever is wrong with a file is said with its place, where it has one.
func TestWhatIsWrongWithAFileIsPlaced(t *testing.T) {
	large := `{"description":"` + strings.Repeat("x", 512<<10) + `"}`
	for text, want := range map[string]string{
		"":                      "a.json:1:1: not JSON: unexpected end",
		"{\n\"type\":":          "a.json:2:8: not JSON: unexpected end",
		"{}\n\n }":              "a.json:3:2: not JSON: invalid character '}' after top-level value",
		"\ufeff{}":              "a.json:1:1: not JSON: invalid character",
		`{"a":1e999}`:           "a.json:1:6: not JSON: number 1e999 is out of bounds",
		`"text"`:                "a.json: not a schema: expected an object or a boolean, got string",
		large:                   "a.json: not a schema: larger than 512 KB",
		strings.Repeat("[", 20): "a.json:1:21: not JSON",
		"{\n \"properties\": {\n  \"a\": {\"type\": \"strin\"}}}":     "a.json:3:17: /properties/a/type: value must be one of",
		"{\n \"allOf\": [true,\n  {\"pattern\": \"(\"}]}":             "a.json:3:15: /allOf/1/pattern: missing closing",
		"{\n \"x\": [[1], {\"$ref\": 1}],\n \"$ref\": \"#/nowhere\"}": "a.json:3:10: /$ref: $ref points to nothing",
	} {
		_, err := load(t, "a.json", text).Named("a")
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.ErrorContains(t, err, want)
	}
	_, err := load(t, "a.json", `{"$ref":"b"}`, "b.json", "{\"a\":0,\n\"not\":{\"type\":0}}").Named("a")
	require.ErrorContains(t, err, "b.json:2:15: /not/type: ", "the file that is wrong, not the one that was asked for")
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
	_, err = set.Named("A")
	require.EqualError(t, err, "YAML_SCHEMA_VIOLATION: schema file s/A.json: cannot be read: permission denied; correct it or remove it")
	require.NotEmpty(t, set.Unread())
	_, err = set.Named("B")
	require.NoError(t, err)

	_, err = schemas.LoadFolder("s", unreadable{files, "s"})
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.EqualError(t, err, "YAML_SCHEMA_VIOLATION: the folder s cannot be read: permission denied; make it readable, or move it away")
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
		_, err := set.Named(name)
		var coded *fault.Error
		require.True(t, errors.As(err, &coded))
		require.Equal(t, fault.YAMLSchemaViolation, coded.Code)
		require.Contains(t, coded.Details, "it was torn")
	}
	require.Same(t, set, set.WithBroken(nil))
}

// Whatever a file holds, it is a schema or is told by its name, and the place
// that is told is one of the file.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"", "{", "{}", "[1]", `{"type":"strin"}`, "{\"a\":\n\"\xff\"}", `{"$ref":"a"}`, `{"$ref":"#/$defs/x/0","$defs":{"x":[{"not":1}]}}`, `{"a":1}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := schemas.Load(fstest.MapFS{"a.json": {Data: data}, "b.json": {Data: []byte(`{"items":{"$ref":"a"}}`)}})
		require.NoError(t, err)
		_, err = set.Named("a")
		_, through := set.Named("b")
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
