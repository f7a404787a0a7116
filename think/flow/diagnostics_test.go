package flow_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"savant/fault"
	"savant/think/flow"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

const diagnostics = "testdata/diagnostics.txtar"

// TestDiagnostics holds every problem that parsing and linking report against
// what testdata says: "line:column CODE [path] message", in the order of the
// file. NAME.yaml is a workflow, NAME.want what is wrong with it.
func TestDiagnostics(t *testing.T) {
	archive, err := txtar.ParseFile(diagnostics)
	require.NoError(t, err)
	var out []txtar.File
	for i := 0; i < len(archive.Files); i++ {
		file := archive.Files[i]
		name, isWorkflow := strings.CutSuffix(file.Name, ".yaml")
		if !isWorkflow {
			continue
		}
		got := problems(t, file.Name, file.Data)
		out = append(out, file, txtar.File{Name: name + ".want", Data: []byte(got)})
		if *update {
			continue
		}
		t.Run(name, func(t *testing.T) {
			require.Less(t, i+1, len(archive.Files))
			require.Equal(t, name+".want", archive.Files[i+1].Name)
			require.Equal(t, string(archive.Files[i+1].Data), got)
		})
	}
	if *update {
		archive.Files = out
		require.NoError(t, os.WriteFile(diagnostics, txtar.Format(archive), 0o644))
	}
}

// problems parses and links one file, which may run the workflow "inner".
func problems(t *testing.T, file string, src []byte) string {
	t.Helper()
	set := noSchemas(t)
	if !strings.HasPrefix(file, "file_") {
		file = ""
	}
	workflow, err := flow.Parse(file, src, set)
	if err == nil {
		inner, innerErr := flow.Parse("inner.yaml", []byte("name: inner\nversion: '1'\nparams: {size: {type: integer, required: true}}\nsteps: [{id: a, call: x.y}]\n"), set)
		_, err = flow.Compile(workflow, map[string]flow.Child{"inner": {Workflow: inner, Err: innerErr}, "inner@1": {Workflow: inner, Err: innerErr}}, flow.CurrentEdition)
	}
	if err == nil {
		return "fine\n"
	}
	problem := fault.From(err)
	require.Equal(t, problem.Code, problem.Diagnostics[0].Code, "the code is that of the first problem")
	var out strings.Builder
	for _, d := range problem.Diagnostics {
		fmt.Fprintf(&out, "%d:%d %s [%s] %s\n", d.Line, d.Column, d.Code, d.Path, d.Message)
	}
	return out.String()
}

// What a file can be too large in is not worth a file.
func TestFileBounds(t *testing.T) {
	header := "name: a\nversion: '1'\nsteps:\n  - {id: a, call: x.y, input_template: {a: "
	for name, c := range map[string]struct{ src, want string }{
		"bytes":  {"# " + strings.Repeat("x", 5<<20), "1:1 LIMIT_EXCEEDED [] the file has 5242882 bytes; at most 4194304 are read\n"},
		"depth":  {header + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "}}\n", "4:81 LIMIT_EXCEEDED [steps[0].input_template.a" + strings.Repeat("[0]", 37) + "] nested deeper than 40\n"},
		"values": {header + "[" + strings.Repeat("1,", 400_000) + "]}}\n", "LIMIT_EXCEEDED"},
		"utf8":   {"name: a\nversion: '\xff'\n", "2:11 YAML_SCHEMA_VIOLATION [] not UTF-8 text; save the file as UTF-8\n"},
		"utf16":  {"\xff\xfen\x00a\x00", "1:1 YAML_SCHEMA_VIOLATION [] not UTF-8 text; save the file as UTF-8\n"},
		"nul":    {"name: a\x00\n", "1:8 YAML_SCHEMA_VIOLATION [] not UTF-8 text; save the file as UTF-8\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, problems(t, "", []byte(c.src)), c.want)
		})
	}
}

// A long line costs what it has, not the square of it: each of its values was copied with
// all that follows.
func TestALongLineIsReadOnce(t *testing.T) {
	allocated := func(count int) uint64 {
		source := []byte("name: a\nversion: '1'\nsteps:\n  - {id: a, call: x.y, input_template: {a: [" + strings.Repeat("1, a b, 3.10, ", count) + "]}}\n")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = flow.Parse("a.yaml", source, noSchemas(t))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, allocated(8000), 3*allocated(4000))
}
