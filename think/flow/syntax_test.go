package flow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"savant/schemas"
)

// Whatever can be read of a file is the same with its syntax at hand: all that
// a workflow is made of, and the places that its errors name.
func TestSyntaxIsTheFile(t *testing.T) {
	set, err := schemas.Load(os.DirFS("../../schemas"))
	require.NoError(t, err)
	for name, src := range sources(t) {
		t.Run(name, func(t *testing.T) {
			read, made, err := ParseSyntax("", src, nil, set)
			if err != nil {
				require.Nil(t, made)
				return
			}
			require.NotNil(t, made)
			again, remade, err := ParseSyntax("", src, made, set)
			require.NoError(t, err)
			require.Nil(t, remade, "it was made use of")
			require.Equal(t, read.Parsed(), again.Parsed())
			for i, step := range read.Steps {
				require.Equal(t, step.at, again.Steps[i].at)
				require.Equal(t, step.Input(), again.Steps[i].Input())
				requireSamePlaces(t, step.whenAt, again.Steps[i].whenAt)
			}
			requireSameTree(t, treeOf(t, src), decodeSyntax(src, made))
		})
	}
}

func requireSamePlaces(t *testing.T, a, b *source) {
	require.Equal(t, a == nil, b == nil)
	if a != nil {
		require.Equal(t, a.path, b.path)
		require.Equal(t, a.at(3), b.at(3))
	}
}

// sources are the bundled workflows and files with all that YAML can do.
func sources(t testing.TB) map[string][]byte {
	found := map[string][]byte{
		"crlf":    []byte("name: a\r\nversion: \"1.0\"\r\nsteps:\r\n  - id: a\r\n    call: t.x\r\n"),
		"flow":    []byte(`{name: a, version: '1.0', steps: [{id: a, call: t.x, input_template: {ä: "ü \"q\"", n: 1, "日本": '{{ 1 }}'}}]}`),
		"texts":   []byte("name: a\nversion: '1.0'\nsteps:\n  - id: a\n    call: t.x\n    input_template:\n      a: |\n        one {{params.x}}\n        two\n      b: >\n        folded\n        text\n      c: 'it''s'\n      d: \"tab\\t\"\n      e: plain # said\n      f: 0x10\n      g: 1e3\n      h: ~\n      i: 2020-01-01\n"),
		"invalid": []byte("name: [\n"),
		"merge":   []byte("name: a\nversion: '1.0'\nsteps: [{id: a, call: t.x, input_template: [<<, =]}]\n"),
	}
	files, err := filepath.Glob("../../workflows/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		found[filepath.Base(file)] = src
	}
	return found
}

func treeOf(t *testing.T, src []byte) *yaml.Node {
	r := &report{}
	root := r.readSource(src)
	require.Empty(t, r.diagnostics)
	return root
}

func requireSameTree(t *testing.T, want, got *yaml.Node) {
	require.NotNil(t, got)
	require.Equal(t, []any{want.Kind, want.Style, want.Tag, want.Value, want.Line, want.Column, want.LineComment, len(want.Content)},
		[]any{got.Kind, got.Style, got.Tag, got.Value, got.Line, got.Column, got.LineComment, len(got.Content)})
	for i := range want.Content {
		requireSameTree(t, want.Content[i], got.Content[i])
	}
}

// A syntax that is damaged, of another source or of another version is as good
// as none.
func TestSyntaxOfSomethingElse(t *testing.T) {
	src := []byte("name: a\nversion: '1.0'\nsteps:\n  - {id: a, call: t.x, input_template: {text: long enough}}\n")
	made := encodeSyntax(src, treeOf(t, src))
	require.NotNil(t, decodeSyntax(src, made))
	for cut := range made {
		require.Nil(t, decodeSyntax(src, made[:cut]), "cut at %d", cut)
	}
	require.Nil(t, decodeSyntax(src[:20], made))
	require.Nil(t, decodeSyntax(src, bytes.Replace(made, []byte("syntax 1"), []byte("syntax 2"), 1)))
	require.Nil(t, decodeSyntax(src, append(bytes.Clone(made), 0)))
}

// What is read depends on the version of the library that reads YAML: a new one
// needs a new mark.
func TestSyntaxMarkNamesTheLibrary(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	_, version, found := strings.Cut(strings.TrimSpace(syntaxMark), ", yaml.v3 ")
	require.True(t, found)
	require.Contains(t, string(module), "gopkg.in/yaml.v3 "+version+"\n")
}

// Bytes that are no syntax are refused without harm, and those that are one
// give a tree that says the same when it is written again.
func FuzzSyntax(f *testing.F) {
	for _, src := range sources(f) {
		r := &report{}
		if root := r.readSource(src); root != nil {
			f.Add(src, encodeSyntax(src, root))
		}
	}
	f.Fuzz(func(t *testing.T, src, data []byte) {
		if root := decodeSyntax(src, data); root != nil {
			again := encodeSyntax(src, root)
			require.NotNil(t, again)
			requireSameTree(t, root, decodeSyntax(src, again))
		}
		r := &report{}
		if root := r.readSource(src); root != nil {
			requireSameTree(t, root, decodeSyntax(src, encodeSyntax(src, root)))
		}
	})
}

// BenchmarkSyntax reads a large file with its syntax at hand, beside without.
func BenchmarkSyntax(b *testing.B) {
	var file strings.Builder
	file.WriteString("name: long\nversion: '1.0'\nsteps:\n")
	for i := range 10_000 {
		fmt.Fprintf(&file, "  - id: s%d\n    call: tool.echo\n    input_template: {x: %d}\n", i, i)
	}
	src := []byte(file.String())
	set, err := schemas.Load()
	require.NoError(b, err)
	_, made, err := ParseSyntax("", src, nil, set)
	require.NoError(b, err)
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			_, err := Parse("", src, set)
			require.NoError(b, err)
		}
	})
	b.Run("with", func(b *testing.B) {
		b.ReportMetric(float64(len(made))/float64(len(src)), "bytes/source")
		for b.Loop() {
			_, remade, err := ParseSyntax("", src, made, set)
			require.NoError(b, err)
			require.Nil(b, remade)
		}
	})
}
