//go:build unix

package ci_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/ci"
	"savant/fault"
	"savant/think/flow"
)

// project makes a folder with a ci.yaml and a registry that serves it.
func project(t testing.TB, file string) (string, *engines.Registry) {
	t.Helper()
	return impatient(t, file, time.Minute)
}

// brief is the grace in tests with a process that does not end by itself.
const brief = 50 * time.Millisecond

// impatient is project with a grace. Output that has not been read when it is over is
// lost.
func impatient(t testing.TB, file string, grace time.Duration) (string, *engines.Registry) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, ".savant"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, ci.File), []byte(file), 0o644))
	registry := engines.NewRegistry(engines.Options{})
	engine, tools := ci.Engine(ci.Options{Path: folder, ReadYAML: flow.ReadYAMLPlaces, Grace: grace})
	require.NoError(t, registry.AddEngine(engine, tools...))
	return folder, registry
}

func report(t testing.TB, registry *engines.Registry, ctx context.Context) (*ci.Report, error) {
	t.Helper()
	return reportTo(t, registry, ctx, engines.Caller{})
}

// reportTo is report for a client that gets the progress.
func reportTo(t testing.TB, registry *engines.Registry, ctx context.Context, client engines.Caller) (*ci.Report, error) {
	t.Helper()
	result, err := registry.Invoke(ctx, engines.Call{Caller: client}, "ci.run_tests", nil)
	if err != nil {
		return nil, err
	}
	return result.Value.(*ci.Report), nil
}

// stubborn starts a child that ignores SIGTERM and writes its id.
const stubborn = `commands: {tests: {command: [sh, -c, "trap '' TERM; sleep 300 & echo $! > child; wait; sleep 300"], timeout: %s}}`

// child returns the id of the process that a command started, once it wrote it;
// ok is false where it has not.
func child(t *testing.T, folder string) (id int, ok bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "child"))
	if err != nil || !strings.HasSuffix(string(text), "\n") {
		return 0, false
	}
	id, err = strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return id, true
}

// gone waits for the end of the process whose id a command wrote.
func gone(t *testing.T, folder string) {
	t.Helper()
	id, ok := child(t, folder)
	require.True(t, ok, "the command started no child")
	require.Eventually(t, func() bool {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
		return syscall.Kill(id, 0) != nil || err == nil && strings.Contains(string(status), ") Z ")
	}, time.Minute, 10*time.Millisecond)
}

// The command gets time enough to start its child, however slow the machine is.
func TestWhatTakesTooLongIsEndedAsAWhole(t *testing.T) {
	for timeout := 300 * time.Millisecond; timeout < time.Minute; timeout *= 3 {
		folder, registry := impatient(t, strings.Replace(stubborn, "%s", timeout.String(), 1), brief)
		got, err := report(t, registry, t.Context())
		require.NoError(t, err)
		require.True(t, got.TimedOut)
		require.Equal(t, ci.ExitTimedOut, got.ExitCode)
		if _, started := child(t, folder); started {
			gone(t, folder)
			return
		}
	}
	require.Fail(t, "the command starts no child")
}

func TestWhatIsCancelledIsEndedAsAWhole(t *testing.T) {
	folder, registry := impatient(t, strings.Replace(stubborn, "%s", "1h", 1), brief)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 12_000 { // two minutes
			if _, started := child(t, folder); started {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := report(t, registry, ctx)
	require.ErrorIs(t, err, fault.ToolFailed)
	gone(t, folder)
}

// The command leaves its child once what it said was read.
func TestWhatIsLeftBehindEndsWithTheCommand(t *testing.T) {
	folder, registry := impatient(t, `commands: {tests: {command: [sh, -c, "echo said; until [ -e heard ]; do sleep 0.01; done; sleep 300 & echo $! > child; exit 7"]}}`, brief)
	client := engines.Caller{Progress: func(_, _ float64, said string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "heard"), []byte(said), 0o600))
	}}
	got, err := reportTo(t, registry, t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, 7, got.ExitCode)
	require.Equal(t, "said\n", got.Tail)
	gone(t, folder)
}

func TestExitCodesAndReports(t *testing.T) {
	folder, registry := project(t, `commands: {tests: {command: [sh, -c, "kill -9 $$"]}}`)
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, ci.File), []byte(text), 0o644))
	}
	got, err := report(t, registry, t.Context())
	require.NoError(t, err)
	require.Equal(t, 137, got.ExitCode)

	write(`commands: {tests: {command: ["true"], parser: junit, report: "*.xml"}}`)
	old := filepath.Join(folder, "old.xml")
	require.NoError(t, os.WriteFile(old, []byte(`<testsuite><testcase name="a"/></testsuite>`), 0o644))
	require.NoError(t, os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0)))
	got, err = report(t, registry, t.Context())
	require.NoError(t, err)
	require.Nil(t, got.Passed, "a report of another run counts for nothing")
	require.Equal(t, "the command did not write *.xml", got.Note)

	for text, code := range map[string]fault.Code{
		`commands: {tests: {command: [no-such-program-anywhere]}}`:                   fault.EngineOffline,
		`commands: {tests: {command: [./.savant/ci.yaml]}}`:                          fault.EngineOffline,
		`commands: {tests: {command: ["true"], env: {A: "${SAVANT_TEST_NOT_SET}"}}}`: fault.EngineOffline,
		`commands: {tests: {command: ["true"], dir: nowhere}}`:                       fault.YAMLSchemaViolation,
		`commands: {tests: {command: ["true"], dir: ../x}}`:                          fault.YAMLSchemaViolation,
		`commands: {tests: {command: ["true"], args: [")|(.*"]}}`:                    fault.YAMLSchemaViolation,
		`commands: {tests: {command: ["true"], timeout: 25h}}`:                       fault.YAMLSchemaViolation,
		`commands: {tests: {command: ["true"], parser: junit}}`:                      fault.YAMLSchemaViolation,
		`commands: {tests: {command: go test}}`:                                      fault.YAMLSchemaViolation,
		`commands: {lint: {command: ["true"]}}`:                                      fault.InvalidParams,
		`commands: [`:                                                                fault.YAMLSchemaViolation,
		``:                                                                           fault.YAMLSchemaViolation,
	} {
		write(text)
		_, err = report(t, registry, t.Context())
		require.ErrorIs(t, err, code, text)
	}
	require.NoError(t, os.Remove(filepath.Join(folder, ci.File)))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, ci.File)))
	_, err = report(t, registry, t.Context())
	require.ErrorIs(t, err, fault.EngineOffline, "a file outside is not read")
}

func TestProgressIsReported(t *testing.T) {
	_, registry := project(t, `commands: {tests: {command: [sh, -c, "echo one; echo two"]}}`)
	said := ""
	client := engines.Caller{Progress: func(_, _ float64, message string) { said += message }}
	_, err := reportTo(t, registry, t.Context(), client)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(said, "one"), said)
}

// A parser that finds no test, for instance because it is the wrong one, says so: "no
// test failed" would look like success.
func TestNoTestAtAllIsReported(t *testing.T) {
	folder, registry := project(t, "")
	for _, command := range []string{
		`command: [echo, "PASS 12 tests"], parser: tap`,
		`command: [echo, "1..0"], parser: tap`,
		`command: [echo, "ok  pkg 0.1s"], parser: go-test-json`,
		`command: [sh, -c, "echo '<testsuite/>' > a.xml"], parser: junit, report: a.xml`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, ci.File), []byte("commands: {tests: {"+command+"}}"), 0o644))
		got, err := report(t, registry, t.Context())
		require.NoError(t, err)
		require.Zero(t, got.ExitCode)
		require.Nil(t, got.Passed, command)
		require.Nil(t, got.Failed, command)
		require.Equal(t, "no test was found in the output; is the parser right?", got.Note)
	}
}

// FuzzSettings shows that no ci.yaml and no arguments, whatever their bytes, cause an
// internal error or start a command that the file does not name.
func FuzzSettings(f *testing.F) {
	f.Add("commands: {lint: {command: [\"true\"], args: ['a+']}}", "a")
	f.Add("commands: {lint: {comand: [a], env: {A: 1}, timeout: x, dir: ..}}", "")
	f.Add("commands:\n  a.b:\n    args: [1]\n", "\x00")
	f.Fuzz(func(t *testing.T, file, argument string) {
		_, registry := project(t, file)
		args, err := json.Marshal(map[string]any{"name": "\x00none", "args": []string{argument}})
		require.NoError(t, err)
		_, err = registry.Call(t.Context(), "ci.run", args)
		require.Error(t, err)
		require.NotErrorIs(t, err, fault.Internal)
	})
}

// If SAVANT_PATH is moved away, the error says so; once it is back, commands run again.
func TestAMovedFolderIsReported(t *testing.T) {
	folder, registry := project(t, `commands: {tests: {command: [echo, said]}}`)
	require.NoError(t, os.Rename(folder, folder+".moved"))
	_, err := report(t, registry, t.Context())
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorContains(t, err, "SAVANT_PATH")
	require.ErrorContains(t, err, syscall.ENOENT.Error(), "the cause")
	require.NotContains(t, err.Error(), folder)
	require.NoError(t, os.Rename(folder+".moved", folder))
	got, err := report(t, registry, t.Context())
	require.NoError(t, err)
	require.Equal(t, "said\n", got.Tail)
}
