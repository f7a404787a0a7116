//go:build unix

package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/ci"
	"savant/fault"
)

// A command has the terminal type of Savant, or none, and is not told to leave colors out.
func TestACommandIsNotToldAboutColors(t *testing.T) {
	for _, c := range []struct{ own, file, want string }{{"", "", "dumb"}, {"xterm-256color", "", "xterm-256color"}, {"xterm", "env: {TERM: vt100, NO_COLOR: '1'}, ", "vt100"}} {
		t.Setenv("TERM", c.own)
		t.Setenv("NO_COLOR", "1")
		_, registry := project(t, `commands: {tests: {`+c.file+`command: [sh, -c, 'echo "$TERM,${NO_COLOR-unset},$CI"']}}`)
		got, err := report(t, registry, t.Context())
		require.NoError(t, err)
		colors := "unset"
		if c.file != "" {
			colors = "1"
		}
		require.Equal(t, c.want+","+colors+",true\n", got.Tail)
	}
}

// A script with line ends of Windows is told as such, whether the system does not find its
// interpreter or env(1) does not.
func TestAScriptWithAnInterpreterThatIsNotThere(t *testing.T) {
	for shebang, says := range map[string]string{
		"#!/bin/sh\r":                "ends with CR LF",
		"#!/usr/bin/env sh\r":        "ends with CR LF",
		"#!/nowhere/python -u":       `"/nowhere/python -u" in its first line, was not found`,
		"#!/usr/bin/env no-such-one": `"/usr/bin/env no-such-one" in its first line, was not found`,
	} {
		folder, registry := project(t, `commands: {tests: {command: [./s.sh]}}`)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "s.sh"), []byte(shebang+"\necho hi\r\n"), 0o755))
		got, err := report(t, registry, t.Context())
		if err != nil {
			require.ErrorIs(t, err, fault.EngineOffline)
			require.NotContains(t, err.Error(), "not installed")
			require.ErrorContains(t, err, says)
			continue
		}
		require.Equal(t, ci.Failed, got.Outcome)
		require.Contains(t, got.Note, says)
	}
	_, registry := project(t, `commands: {tests: {command: [no-such-program]}}`)
	_, err := report(t, registry, t.Context())
	require.ErrorContains(t, err, "no-such-program is not installed")
}

// A script that a shell starts, or whose first line does not begin with its mark, is told too.
func TestAScriptThatWindowsWrote(t *testing.T) {
	for _, c := range []struct{ command, text, says string }{
		{"[sh, -c, './s.sh fast']", "#!/bin/sh\r\necho hi\r\n", "the first line of s.sh ends with CR LF"},
		{"[sh, ./s.sh]", "#!/bin/sh\r\nset -e\r\n", "the first line of s.sh ends with CR LF"},
		{"[./s.sh]", "\ufeff#!/bin/sh\necho hi\n", "begins with a byte order mark"},
		{"[sh, -c, './s.sh && false']", "\ufeff#!/bin/sh\nexit 1\n", "begins with a byte order mark"},
		{"[./s.sh]", "echo hi\n", "a script needs a first line such as #!/bin/sh"},
		{"[sh, s.sh]", "#!/bin/sh\nexit 1\n", ""},
		{"[sh, -c, 'no-such-program s.sh']", "#!/nowhere\n", ""},
		{"[./s.sh]", "#!/usr/bin/env -S sh -e\nno-such-program\n", ""}, // its interpreter is there
	} {
		folder, registry := project(t, `commands: {tests: {command: `+c.command+`}}`)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "s.sh"), []byte(c.text), 0o755))
		got, err := report(t, registry, t.Context())
		if err != nil {
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.Contains(t, got.Note, c.says)
		require.Equal(t, c.says == "", got.Note == "", c.text)
	}
}

// What no parser reads still says which lines tell of a failure, also of those that are not
// in the tail.
func TestFailingLinesOfWhatNoParserReads(t *testing.T) {
	folder, registry := project(t, `commands: {tests: {command: [sh, run.sh]}}`)
	script := "printf '  \\033[31m✕ adds two numbers\\033[0m\\n'; echo 'AssertionError: 3 is not 4'; echo '12 passed, 0 failed'; echo no errors; for i in $(seq 300); do echo line $i; done; echo 'E   NameError: x' >&2; exit 1"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.sh"), []byte(script), 0o600))
	got, err := report(t, registry, t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"  ✕ adds two numbers", "AssertionError: 3 is not 4", "E   NameError: x"}, got.FailingLines)
	named := []string{"  ● sum › adds", "  1) test adds numbers (SumTest)", "  ⨯ it adds", "make: *** No rule", "thread 'a' panicked at a.rs:3", "a.py:3:5: F401 unused", "rspec ./a.rb:3 # Sum adds", "  a.feature:3  adds", "Test Case 'a' failed (0.1 seconds).", "00:01 +0 -1: sum adds [E]"}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.sh"), []byte("cat <<'END'\n"+strings.Join(named, "\n")+"\n3 passed, failed: 0\nserver.go:12: listening\nEND\nexit 1"), 0o600))
	got, err = report(t, registry, t.Context())
	require.NoError(t, err)
	require.Equal(t, named, got.FailingLines)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.sh"), []byte(strings.Replace(script, "exit 1", "exit 0", 1)), 0o600))
	got, err = report(t, registry, t.Context())
	require.NoError(t, err)
	require.Equal(t, ci.Passed, got.Outcome)
	require.Empty(t, got.FailingLines)
}

// A line without an end is told as cut, with its size.
func TestAHugeLineIsToldAsCut(t *testing.T) {
	_, registry := project(t, `commands: {tests: {command: [sh, -c, "head -c 5000000 /dev/zero | tr '\\0' x"]}}`)
	got, err := report(t, registry, t.Context())
	require.NoError(t, err)
	require.True(t, got.Truncated)
	require.Equal(t, "a line of 5000000 bytes was cut at 1048576", got.Note)
	_, registry = project(t, `commands: {tests: {command: [echo, short]}}`)
	got, err = report(t, registry, t.Context())
	require.NoError(t, err)
	require.Empty(t, got.Note)
}

// What init proposes for node --test counts its tests.
func TestNodesTestsAreCounted(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	manifest := `{"name":"x","scripts":{"test":"node --test sum.test.js"}}`
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o600))
	folder, registry := project(t, string(ci.Recognise(os.DirFS(dir)).YAML))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(manifest), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sum.test.js"), []byte("const {test} = require('node:test'); test('good', () => {}); test('bad', () => { throw new Error('3 is not 4') })"), 0o600))
	got, err := report(t, registry, t.Context())
	require.NoError(t, err)
	require.NotNil(t, got.Failed, got.Tail)
	require.Equal(t, []string{"bad"}, got.FailedTests)
}
