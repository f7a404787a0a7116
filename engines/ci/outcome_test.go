//go:build unix

package ci_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/ci"
)

// Only what was tested, and did not fail, has passed, whatever the exit code.
func TestOutcomeOfACommand(t *testing.T) {
	folder, registry := project(t, "")
	for command, expected := range map[string]struct {
		outcome ci.Outcome
		exit    int
		note    string
	}{
		`command: ["true"]`:                    {ci.Passed, 0, ""},
		`command: ["false"]`:                   {ci.Failed, 1, ""},
		`command: [sh, -c, "kill -9 $$"]`:      {ci.Failed, 137, ""},
		`command: [sleep, "60"], timeout: 1ms`: {ci.TimedOut, ci.ExitTimedOut, ""},

		`command: ["true"], parser: tap`:                        {ci.NoTests, 0, "no test was found in the output; is the parser right?"},
		`command: ["true"], parser: junit, report: a.xml`:       {ci.NoTests, 0, "the command did not write a.xml"},
		`command: ["false"], parser: tap`:                       {ci.Failed, 1, "no test was found in the output; is the parser right?"},
		`command: [echo, "1..0 # SKIP no disk"], parser: tap`:   {ci.NoTests, 0, "no test ran: all tests that were found were skipped"},
		`command: [printf, "1..1\nok 1 a\n"], parser: tap`:      {ci.Passed, 0, ""},
		`command: [printf, "1..1\nnot ok 1 a\n"], parser: tap`:  {ci.Failed, 0, ""},
		`command: [printf, "ok 1\nok 2 # SKIP\n"], parser: tap`: {ci.Passed, 0, ""},
	} {
		t.Run(command, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, ci.File), []byte("commands: {tests: {"+command+"}}"), 0o644))
			got, err := report(t, registry, t.Context())
			require.NoError(t, err)
			require.Equal(t, expected.outcome, got.Outcome)
			require.Equal(t, expected.exit, got.ExitCode, "it stays the command's")
			require.Equal(t, expected.note, got.Note)
		})
	}
}
