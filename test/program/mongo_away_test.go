//go:build unix

package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/fault"
	"savant/reasoning"
	"savant/test/mongotest"
	"savant/think/state"
)

// A run whose database goes away says so with code, host and cause, and how to give up.
// It goes on by itself when the database is back. Ctrl-C ends it, and says how to go on.
func TestARunReportsThatItsDatabaseIsAway(t *testing.T) {
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
		ctx, cancel := context.WithTimeout(t.Context(), 2*hang) // a line that never comes ends the test
		t.Cleanup(cancel)
		command := exec.CommandContext(ctx, "savant", append([]string{"run", "--path", folder}, args...)...)
		command.Env = append(os.Environ(), "SAVANT_STORE=mongo", "MONGO_URI="+uri, "REASONING_API_URL="+api.URL, "HOME="+folder, "XDG_CACHE_HOME="+folder)
		stderr, err := command.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
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
	const failure = "savant: STATE_NOT_SAVED: run r "
	run, lines := savant("--name", "r", "look for it")
	await(lines, failure, "savant run --resume r")
	proxy.Refuse(false)
	await(lines, "the step is saved", failure)
	require.NoError(t, run.Process.Signal(os.Interrupt))
	await(lines, "continue with: savant run --resume r")
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

// askedError is what a tool that failed answers.
type askedError struct {
	Result struct {
		IsError           bool
		StructuredContent struct{ Error, Details string }
	}
}

// hostCauseAdvice matches an error of the database: where it is, the cause, and what to do.
const hostCauseAdvice = `127\.0\.0\.1:[0-9]+: .+; .+`

// Without its database a server answers every call with code, host and cause, on stdin and
// stdout and over HTTP. When the database is back the same call goes on, without a restart.
func TestCallsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for what, way := range map[string]struct {
		away, back func(*mongotest.Server, *mongotest.Proxy)
	}{
		"killed": {func(s *mongotest.Server, _ *mongotest.Proxy) { s.Kill() },
			func(s *mongotest.Server, p *mongotest.Proxy) { s.Restart(); p.Follow(s) }},
		"stopped": {func(s *mongotest.Server, _ *mongotest.Proxy) { s.Pause() },
			func(s *mongotest.Server, _ *mongotest.Proxy) { s.Resume() }},
		"cut": {func(_ *mongotest.Server, p *mongotest.Proxy) { p.Refuse(true) },
			func(_ *mongotest.Server, p *mongotest.Proxy) { p.Refuse(false) }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			database := mongotest.Start(t)
			proxy := mongotest.NewProxy(t, database, 1)
			name := mongotest.NewDatabase()
			environment := []string{"SAVANT_STORE=mongo", "MONGO_URI=" + proxy.URI(name)}
			stdio, web := serveIn(t, t.TempDir(), environment...), serveHTTP(t, t.TempDir(), environment...)
			calls := map[string]func(tool string, args map[string]any) (failed askedError){
				"stdio": func(tool string, args map[string]any) (failed askedError) {
					stdio.send(t, 1, tool, args)
					require.True(t, stdio.lines.Scan(), "the server has ended")
					require.NoError(t, json.Unmarshal(stdio.lines.Bytes(), &failed))
					return failed
				},
				"http": func(tool string, args map[string]any) (failed askedError) {
					status, body := web.callHTTP(t, "", tool, args)
					require.Equal(t, http.StatusOK, status, body)
					require.NoError(t, json.Unmarshal([]byte(body), &failed))
					return failed
				},
			}
			for over, call := range calls {
				got := call("think.plan", map[string]any{"workflow": "hello", "params": map[string]any{"name": "Ada"}, "run_id": over})
				require.False(t, got.Result.IsError, got.Result.StructuredContent)
			}
			way.away(database, proxy)
			status, body := web.get(t, "/readyz") // the first that meets it
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.JSONEq(t, `{"status":"failed","error":"STATE_NOT_SAVED"}`, body)
			for over, call := range calls {
				for range 2 { // over a connection that there was, and without one
					got := call("think.next", map[string]any{"run_id": over, "step_id": "greet", "result_snapshot": map[string]any{"text": "Hello, Ada!"}})
					require.True(t, got.Result.IsError)
					require.Equal(t, "STATE_NOT_SAVED", got.Result.StructuredContent.Error)
					require.Regexp(t, hostCauseAdvice, got.Result.StructuredContent.Details)
				}
			}
			status, _ = web.get(t, "/healthz")
			require.Equal(t, http.StatusOK, status)

			way.back(database, proxy)
			store := storeOf(t, proxy.URI(name))
			for over, call := range calls {
				next := map[string]any{"run_id": over, "step_id": "greet", "result_snapshot": map[string]any{"text": "Hello, Ada!"}}
				require.Eventually(t, func() bool { return !call("think.next", next).Result.IsError }, hang, time.Millisecond)
				records, err := store.Records(t.Context(), state.Key{Workflow: "hello", Run: over}, 0, 0)
				require.NoError(t, err)
				require.Len(t, records, 2, "what was refused is not recorded, and what was acknowledged is recorded once")
			}
			require.Eventually(t, func() bool { status, _ := web.get(t, "/readyz"); return status == http.StatusOK }, hang, time.Millisecond)
		})
	}
}

// A run whose questions go to a queue that is away ends with a code, the host and the
// cause. The next one is answered when the database is back.
func TestARunWithoutTheQueue(t *testing.T) {
	t.Parallel()
	database := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, database, 1)
	environment := []string{"REASONING_TRANSPORT=mongo", "MONGO_URI=" + proxy.URI(mongotest.NewDatabase()), "LLM_PROVIDER=offline",
		"REASONING_API_TIMEOUT_MS=20000", "REASONING_API_RETRIES=1", "HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(folder+"/notes.md", []byte("# Notes\nThe fleet carries out runs.\n"), 0o600))
	web := serveHTTP(t, folder, environment...)
	worker := exec.Command("savant", "reasoning", "work", "--path", folder)
	worker.Env = append(os.Environ(), environment...)
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	ask := func() agent.Report {
		var answer struct {
			Result struct{ StructuredContent agent.Report }
		}
		status, body := web.callHTTP(t, "", "agent.run", map[string]any{"goal": "what does the fleet carry out?", "wait_ms": 50000})
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
		return answer.Result.StructuredContent
	}
	first := ask()
	require.NotEqual(t, agent.StatusError, first.Status, "%+v", first)
	proxy.Refuse(true)
	report := ask()
	require.Equal(t, agent.StatusError, report.Status)
	require.Equal(t, fault.ReasoningUnavailable, report.Error.Code)
	require.Regexp(t, hostCauseAdvice, report.Error.Details)
	proxy.Refuse(false)
	require.NotEqual(t, agent.StatusError, ask().Status, "neither the server nor the worker was started again")
}

// The hub of a database that is away stays up and says on its pages what is away and why.
// It goes on by itself.
func TestTheHubWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	database := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, database, 1)
	uri, folder := proxy.URI(mongotest.NewDatabase())+"?serverSelectionTimeoutMS=300", t.TempDir()
	h := serveHub(t, folder, "--store", "mongo", "--mongo-uri", uri, "--set", "reasoning.transport=mongo")
	plan := exec.Command("savant", "call", "think.plan", "--args", `{"workflow": "hello", "run_id": "r1", "params": {"name": "Ada"}}`, "--path", folder, "--store", "mongo", "--mongo-uri", uri)
	out, err := plan.CombinedOutput()
	require.NoError(t, err, string(out))
	pages := []string{"/", "/runs", "/runs/hello/r1", "/diagnostics/agents"}
	require.Contains(t, h.page("/runs"), "r1")
	proxy.Refuse(true)
	for _, page := range pages {
		status, body, _ := h.ask(h.client, http.MethodGet, page, nil)
		require.Equal(t, http.StatusServiceUnavailable, status, page)
		require.Contains(t, body, "STATE_NOT_SAVED", page)
		require.Regexp(t, hostCauseAdvice, body, page)
	}
	status, _, _ := h.ask(&http.Client{}, http.MethodGet, "/metrics", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, h.page("/workflows"), "hello", "what is no run is shown")
	proxy.Refuse(false)
	for _, page := range pages {
		require.Eventually(t, func() bool {
			status, _, _ := h.ask(h.client, http.MethodGet, page, nil)
			return status == http.StatusOK
		}, hang, time.Millisecond, page)
	}
	require.Contains(t, h.page("/runs"), "r1")
}
