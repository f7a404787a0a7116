//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongotest"
	"savant/reasoning"
)

// A run whose database goes away says so with code, host and cause, and how to give up.
// It goes on by itself when the database is back. Ctrl-C ends it, and says how to go on.
func TestARunIsToldThatItsDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database := mongotest.Start(t)
	if database.Foreign() {
		t.Skip("the database is killed")
	}
	proxy := mongotest.NewProxy(t, database, 1)
	uri := proxy.URI(mongotest.NewDatabase())
	kills := map[int]bool{2: true, 4: true}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request reasoning.Request
		_ = json.NewDecoder(r.Body).Decode(&request)
		if kills[request.Step] {
			proxy.Refuse(true)
			delete(kills, request.Step)
		}
		answer := `{"action":"finish","final":"all of it"}`
		if request.Step < 6 {
			answer = fmt.Sprintf(`{"action":"tool","tool_name":"context.search","args":{"query":"x%d"}}`, request.Step)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(api.Close)
	folder := t.TempDir()
	savant := func(args ...string) (*exec.Cmd, *bufio.Scanner) {
		command := exec.Command("savant", append([]string{"run", "--path", folder}, args...)...)
		command.Env = append(os.Environ(), "SAVANT_STORE=mongo", "MONGO_URI="+uri, "REASONING_API_URL="+api.URL, "HOME="+folder, "XDG_CACHE_HOME="+folder)
		stderr, err := command.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() })
		return command, bufio.NewScanner(stderr)
	}
	await := func(lines *bufio.Scanner, texts ...string) {
		t.Helper()
		for _, text := range texts {
			for !strings.Contains(lines.Text(), text) {
				require.True(t, lines.Scan(), "stderr ended before %q", text)
			}
		}
	}
	const told = "savant: STATE_NOT_SAVED: run r was not saved: the database at "
	run, lines := savant("--run-id", "r", "look for it")
	await(lines, told, "press Ctrl-C, and go on later with: savant run --resume r")
	proxy.Refuse(false)
	await(lines, "the step is saved; the run goes on", told)
	require.NoError(t, run.Process.Signal(os.Interrupt))
	await(lines, "the last step is not saved; when the database is back, go on with: savant run --resume r")
	for lines.Scan() {
	}
	require.Error(t, run.Wait())
	require.Equal(t, exitInterrupted, run.ProcessState.ExitCode())

	proxy.Refuse(false)
	show := exec.Command("savant", "runs", "show", "r", "--path", folder)
	show.Env = run.Env
	out, err := show.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "steps   3\n", "no step that was shown is lost")
}
