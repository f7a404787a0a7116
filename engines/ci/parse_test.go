package ci

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestParsersReadWhatToolsWrite holds the parsers against output of real tools:
// go test -json, node --test with its tap and junit reporters.
func TestParsersReadWhatToolsWrite(t *testing.T) {
	for file, parser := range map[string]string{"go.json": parserGo, "go_build.json": parserGo, "node.tap": parserTAP, "node.xml": parserJUnit} {
		t.Run(file, func(t *testing.T) {
			dir, err := os.OpenRoot("testdata")
			require.NoError(t, err)
			t.Cleanup(func() { _ = dir.Close() })
			out := newOutput(newReading(parser), hiding(nil), nil)
			if parser != parserJUnit {
				data, err := dir.ReadFile(file)
				require.NoError(t, err)
				_, err = out.stream(true).Write(data)
				require.NoError(t, err)
				out.close()
			}
			found, note := out.reading.conclude(dir, file, time.Time{})
			report := Report{Note: note}
			found.report(&report, out.hidden)
			report.Tail, report.Truncated = out.tail.text()
			got, err := json.MarshalIndent(report, "", "  ")
			require.NoError(t, err)
			golden := filepath.Join("testdata", file+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got)+"\n")
		})
	}
}

func TestDirectivesOfTAP(t *testing.T) {
	reading := &tapReading{tests: &tests{}}
	for line := range strings.SplitSeq("TAP version 14\nok\nnot ok 2 - later # TODO not written\nok 3 - off # SKIP no network\nok 4 - a \\# skip\n  ---\n  not ok 9\n  ...\nBail out! disk full\nokay is no point", "\n") {
		reading.line(line)
	}
	require.Equal(t, tests{passed: 2, failed: 1, skipped: 2, failedTests: []string{"bail out: disk full"}, skippedTests: []string{"later", "off"}}, *reading.tests)
}

func TestTheTailIsBounded(t *testing.T) {
	out := newOutput(noReading{}, hiding([]string{"s3cret", "s3cret-longer", "abc"}), nil)
	stream := out.stream(false)
	for range 1000 {
		_, err := stream.Write([]byte("10%\r50%\rline \x1b[31ms3cret-longer\x1b[0m abc\r\n"))
		require.NoError(t, err)
	}
	_, err := stream.Write([]byte(strings.Repeat("é", 2<<20)))
	require.NoError(t, err)
	out.close()
	text, cut := out.tail.text()
	require.True(t, cut)
	require.LessOrEqual(t, len(text), maxTailBytes)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.LessOrEqual(t, len(lines), maxTailLines)
	require.Equal(t, "line [redacted] abc", lines[0])
	require.Less(t, len(lines[len(lines)-1]), maxShownLine+20)
}

func TestProjectsAreRecognised(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		project  fstest.MapFS
		commands []string
		holds    string
	}{
		"go":       {fstest.MapFS{"go.mod": file("module x")}, []string{"tests"}, "[go, test, -json, ./...]"},
		"npm":      {fstest.MapFS{"package.json": file(`{"scripts":{"test":"node --test"}}`)}, []string{"tests"}, "[npm, test]"},
		"pnpm":     {fstest.MapFS{"package.json": file(`{"scripts":{"test":"vitest"}}`), "pnpm-lock.yaml": file("")}, []string{"tests"}, "[pnpm, test]"},
		"yarn":     {fstest.MapFS{"package.json": file(`{"scripts":{"test":"vitest"}}`), "yarn.lock": file("")}, []string{"tests"}, "[yarn, test]"},
		"no test":  {fstest.MapFS{"package.json": file(`{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`)}, nil, ""},
		"pytest":   {fstest.MapFS{"pyproject.toml": file("[tool.pytest.ini_options]"), "uv.lock": file("")}, []string{"tests"}, "[uv, run, pytest,"},
		"tox":      {fstest.MapFS{"tox.ini": file("[tox]")}, []string{"tests"}, "[tox]"},
		"several":  {fstest.MapFS{"go.mod": file(""), "Makefile": file("all:\n\ntest: all\n"), "conftest.py": file("")}, []string{"tests", "tests-python", "make-test"}, "[make, test]"},
		"no rule":  {fstest.MapFS{"Makefile": file("test := 1\n")}, nil, ""},
		"bad json": {fstest.MapFS{"package.json": file("{")}, nil, ""},
		"nothing":  {fstest.MapFS{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			proposal := Recognise(c.project)
			require.Equal(t, c.commands, proposal.Commands)
			require.Contains(t, string(proposal.YAML), c.holds)
			require.Equal(t, c.commands == nil, proposal.YAML == nil)
		})
	}
}

// FuzzParsers shows that no output, whatever its bytes, breaks a parser or a
// bound.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"ok 1 - a\nnot ok 2 # TODO", `{"Action":"fail","Package":"a","Test":"b"}`,
		"<testsuite><testcase name='a'><failure/></testcase></testsuite>", "# Subtest: x\n    ok 1", "\x1b]0;x\x07\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parser := range parserNames() {
			out := newOutput(newReading(parser), hiding(nil), nil)
			_, err := out.stream(true).Write(data)
			require.NoError(t, err)
			out.close()
			text, _ := out.tail.text()
			require.LessOrEqual(t, len(text), maxTailBytes)
		}
		junit := &junitReading{tests: &tests{}}
		_ = junit.read(strings.NewReader(string(data)))
		require.LessOrEqual(t, len(junit.tests.failedTests), maxNames)
	})
}
