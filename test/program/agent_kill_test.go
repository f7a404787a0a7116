//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/reasoning"
	"savant/telemetry"
)

// killSteps is how long the run is that is killed.
const killSteps = 12

// deciding is a Reasoning API that decides a question once: it keeps its answers
// by their keys, and who asks again is given the same.
type deciding struct {
	mu      sync.Mutex
	answers map[string]string
	decided map[string]int
	again   int
}

func (d *deciding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	answer, known := d.answers[key]
	if !known {
		answer = decision(request.Step)
		d.answers[key] = answer
		d.decided[fmt.Sprintf("%s/%d", request.RunID, request.Step)]++
	} else {
		d.again++
	}
	fmt.Fprint(w, answer)
}

func decision(step int) string {
	if step > killSteps {
		return `{"action":"finish","final":"all done"}`
	}
	return fmt.Sprintf(`{"action":"tool","tool_name":"git.log","args":{"limit":%d},"reasoning":"step %d"}`, step, step)
}

// TestKilledAnywhereARunGoesOn kills a run with SIGKILL at random moments, again
// and again, and resumes it: each decision that was received is asked for once,
// each step is there once, and the transcript is that of a run left alone.
func TestKilledAnywhereARunGoesOn(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	kills := 10
	if os.Getenv("CI") != "" {
		kills = 40
	}
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		require.NoError(t, exec.Command("git", append([]string{"-C", repo}, args...)...).Run())
	}
	api := &deciding{answers: map[string]string{}, decided: map[string]int{}}
	server := httptest.NewServer(api)
	defer server.Close()
	killed := 0
	for n := 0; killed < kills; n++ {
		id := "run" + strconv.Itoa(n)
		args := []string{"run", "--quiet", "--name", id, "count"}
		for {
			command := exec.Command("savant", args...)
			command.Env = append(os.Environ(), "SAVANT_PATH="+repo, "REASONING_API_URL="+server.URL, "LOG_LEVEL=error")
			require.NoError(t, command.Start())
			wait := time.Duration(rand.IntN(120)) * time.Millisecond
			if killed >= kills {
				wait = time.Hour
			}
			timer := time.AfterFunc(wait, func() { _ = command.Process.Signal(syscall.SIGKILL) })
			err := command.Wait()
			timer.Stop()
			if err == nil {
				break
			}
			require.ErrorContains(t, err, "killed")
			killed++
			if decisions(t, repo, id) != nil {
				args = []string{"run", "--quiet", "--resume", id}
			}
		}
		steps := decisions(t, repo, id)
		for i, each := range steps {
			require.Equal(t, i+1, each, "each decision is recorded once, in order")
		}
		require.Len(t, steps, killSteps+1)
		for step := range killSteps + 1 {
			require.Equal(t, 1, api.count(fmt.Sprintf("%s/%d", id, step+1)), "each question is decided once")
		}
		require.Equal(t, transcript(), shownTranscript(t, repo, id))
		require.Equal(t, steps, tracedSteps(t, repo, id), "what a kill kept from the trace is told when the run goes on")
	}
	t.Logf("%d kills, %d answers were lost on their way and given again", killed, api.again)
	require.LessOrEqual(t, api.again, killed, "at most the question that was pending is asked again")
}

func (d *deciding) count(key string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.decided[key]
}

// decisions are the steps that a run's journal has decisions of; nil where there
// is no run yet.
func decisions(t *testing.T, repo, id string) []int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, ".savant", "sessions", id+".journal"))
	if err != nil || !strings.Contains(string(data), "\n") {
		require.NoError(t, os.RemoveAll(filepath.Join(repo, ".savant", "sessions", id+".journal")))
		return nil
	}
	steps := []int{}
	for _, line := range strings.Split(string(data), "\n") {
		var record struct {
			Kind string
			Data struct{ Step int }
		}
		if json.Unmarshal([]byte(line), &record) == nil && record.Kind == "decision" {
			steps = append(steps, record.Data.Step)
		}
	}
	return steps
}

// tracedSteps are the steps that the trace has a decision of, sorted.
func tracedSteps(t *testing.T, repo, id string) []int {
	t.Helper()
	var steps []int
	for line := range strings.Lines(printed(t, repo, "runs", "trace", id, "--json")) {
		var e telemetry.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if e.Type == telemetry.ReasoningStep {
			steps = append(steps, e.Step)
		}
	}
	slices.Sort(steps)
	return steps
}

func transcript() []string {
	var list []string
	for step := range killSteps {
		list = append(list, fmt.Sprintf("%d tool git.log step %d", step+1, step+1))
	}
	return append(list, fmt.Sprintf("%d finish  ", killSteps+1))
}

func shownTranscript(t *testing.T, repo, id string) []string {
	t.Helper()
	command := exec.Command("savant", "runs", "show", id, "--json")
	command.Env = append(os.Environ(), "SAVANT_PATH="+repo)
	out, err := command.Output()
	require.NoError(t, err)
	var report agent.Report
	require.NoError(t, json.Unmarshal(out, &report))
	require.Equal(t, agent.StatusOK, report.Status)
	require.Equal(t, "all done", report.Final)
	var list []string
	for _, step := range report.Transcript {
		name := ""
		for _, each := range step.Calls {
			require.Nil(t, each.Error)
			name += each.Tool
		}
		list = append(list, fmt.Sprintf("%d %s %s %s", step.Index, step.Action, name, step.Reasoning))
	}
	return list
}
