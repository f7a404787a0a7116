//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/reasoning"
)

// killSteps is how long the run is that is killed.
const killSteps = 12

// counting is a Reasoning API that remembers which answers it gave.
type counting struct {
	mu    sync.Mutex
	given []int
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.given = append(c.given, request.Step)
	c.mu.Unlock()
	if request.Step > killSteps {
		fmt.Fprint(w, `{"action":"finish","final":"all done"}`)
		return
	}
	fmt.Fprintf(w, `{"action":"tool","tool_name":"git.log","args":{"limit":%d},"reasoning":"step %d"}`, request.Step, request.Step)
}

// TestKilledAnywhereARunGoesOn kills a run with SIGKILL at random moments, again
// and again, and resumes it: each decision that was received is asked for once,
// each step is there once, and the transcript is that of a run left alone.
func TestKilledAnywhereARunGoesOn(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 10
	}
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		require.NoError(t, exec.Command("git", append([]string{"-C", repo}, args...)...).Run())
	}
	api := &counting{}
	server := httptest.NewServer(api)
	defer server.Close()
	killed, again := 0, 0
	for n := 0; killed < kills; n++ {
		api.given = nil
		id := "run" + strconv.Itoa(n)
		args := []string{"run", "--quiet", "--run-id", id, "count"}
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
		counts := map[int]int{}
		api.mu.Lock()
		for _, each := range api.given {
			counts[each]++
		}
		api.mu.Unlock()
		for _, count := range counts {
			again += count - 1 // asked, but killed before the answer was written
		}
		require.Equal(t, transcript(), shownTranscript(t, repo, id))
	}
	t.Logf("%d kills, %d answers were lost on their way and asked for again", killed, again)
	require.LessOrEqual(t, again, killed, "at most the question that was pending is asked again")
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
