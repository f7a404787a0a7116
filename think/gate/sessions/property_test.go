package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/filelock"
	"savant/think/gate"
)

// modelRun is what a test knows of a run; modelPair what it expects a session to be held to.
type modelRun struct {
	status string
	at     int // the version of the last record that is no refusal
	step   int
}

type modelPair struct {
	seen           time.Time
	stopped, stops int
}

// model is what the sessions of a project should be held to.
type model struct {
	*project
	runs  map[string]*modelRun
	pairs map[string]map[string]*modelPair // by session, by run
	tried map[string]int                   // refusals by run
	made  int
}

func (m *model) open(session string) (open []string) {
	for run, pair := range m.pairs[session] {
		status := m.runs[run].status
		if (status == "running" || status == "waiting") && m.now.Sub(pair.seen) <= 12*time.Hour {
			open = append(open, run)
		} else {
			delete(m.pairs[session], run) // the gate forgets it, too
		}
	}
	return open
}

func (m *model) pair(session, run string) {
	if m.pairs[session] == nil {
		m.pairs[session] = map[string]*modelPair{}
	}
	if m.pairs[session][run] == nil {
		m.pairs[session][run] = &modelPair{}
	}
	m.pairs[session][run].seen = m.now
}

// TestSessionsAreHeldToTheirRunsAlone: over random events of two sessions and their
// subagents, with runs that go on, wait and end, with events that are lost because a
// process died, and with a process of its own for each event.
func TestSessionsAreHeldToTheirRunsAlone(t *testing.T) {
	top := t.TempDir()
	count := 0
	rapid.Check(t, func(r *rapid.T) {
		if count++; count > 20 && os.Getenv("CI") == "" {
			return // each event syncs files: the rest is for CI
		}
		path := filepath.Join(top, fmt.Sprint(count))
		require.NoError(r, os.Mkdir(path, 0o700))
		m := &model{project: newProject(r, path), runs: map[string]*modelRun{}, pairs: map[string]map[string]*modelPair{}, tried: map[string]int{}}
		defer m.close()
		session := rapid.SampledFrom([]string{"one", "two"})
		known := func(r *rapid.T) string {
			if m.made == 0 {
				r.Skip("no run yet")
			}
			return fmt.Sprintf("r%d", rapid.IntRange(1, m.made).Draw(r, "run"))
		}
		r.Repeat(map[string]func(*rapid.T){
			"plan": func(r *rapid.T) {
				m.made++
				run := fmt.Sprintf("r%d", m.made)
				m.runs[run] = &modelRun{"running", 1, 1}
				m.record(run, "plan", "running", step(1))
				s := session.Draw(r, "session")
				if rapid.IntRange(0, 4).Draw(r, "lost") > 0 { // else the hook's process died
					m.planned(s, run)
					m.open(s)
					m.pair(s, run)
				}
			},
			"move": func(r *rapid.T) {
				run := m.runs[known(r)]
				if run.status != "running" && run.status != "waiting" {
					r.Skip("it has ended")
				}
				run.status = rapid.SampledFrom([]string{"running", "running", "running", "waiting", "done", "blocked"}).Draw(r, "status")
				run.step++
				for name, each := range m.runs {
					if each == run {
						m.record(name, "result", run.status, step(run.step))
						run.at = len(m.records(name))
					}
				}
			},
			"next": func(r *rapid.T) {
				run, s := known(r), session.Draw(r, "session")
				require.Equal(r, gate.Pass, m.tries(s, "mcp__savant__think_next", fmt.Sprintf(`{"run_id":%q}`, run)))
				m.open(s)
				m.pair(s, run)
				m.open(s)
			},
			"forbidden": func(r *rapid.T) {
				s := session.Draw(r, "session")
				e := event(s, gate.BeforeTool, "Bash", `{"command":"x"}`)
				e.Agent = rapid.SampledFrom([]string{"", "sub"}).Draw(r, "agent")
				decided, open := m.ask(e), m.open(s)
				require.Equal(r, len(open) > 0, decided.Verdict == gate.Refuse, decided.Reason)
				if len(open) > 0 {
					require.Contains(r, open, decided.Run)
					m.tried[decided.Run]++
				}
			},
			"issued": func(r *rapid.T) {
				run, s := known(r), session.Draw(r, "session")
				decided, open := m.ask(event(s, gate.BeforeTool, "mcp__savant__git_show", fmt.Sprintf(`{"n":%d}`, m.runs[run].step))), m.open(s)
				allowed := len(open) == 0
				for _, each := range open {
					allowed = allowed || m.runs[each].step == m.runs[run].step
				}
				require.Equal(r, allowed, decided.Verdict == gate.Pass, decided.Reason)
				if !allowed {
					m.tried[decided.Run]++
				}
			},
			"end": func(r *rapid.T) {
				s := session.Draw(r, "session")
				asked := m.ask(event(s, gate.TurnMayEnd, "", ""))
				decided, held := m.ask(event(s, gate.TurnEnd, "", "")), false
				require.Equal(r, decided, asked, "an end that may come is not counted")
				for _, name := range m.open(s) {
					run, pair := m.runs[name], m.pairs[s][name]
					if pair.stopped != run.at {
						pair.stopped, pair.stops = run.at, 0
					}
					if run.status == "running" && pair.stops < 2 {
						pair.stops++
						held = true
					}
				}
				require.Equal(r, held, decided.Verdict == gate.Hold, decided.Reason)
			},
			"release": func(r *rapid.T) {
				run := known(r)
				_, err := m.gate.Release(t.Context(), run)
				require.NoError(r, err)
				for _, pairs := range m.pairs {
					delete(pairs, run)
				}
			},
			"restart": func(*rapid.T) { m.restart() },
			"wait":    func(r *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(1, 7).Draw(r, "hours")) * time.Hour) },
			"": func(r *rapid.T) {
				for run, tried := range m.tried {
					counted := m.refused(run)
					require.LessOrEqual(r, counted, tried)
					require.GreaterOrEqual(r, 2*counted, tried, "what is not yet counted is less than what is")
				}
			},
		})
	})
}

// lock takes the lock of a file until it is released.
func lock(t *testing.T, name string) (release func()) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	locked, err := filelock.TryLock(file, true)
	require.NoError(t, err)
	require.True(t, locked)
	return func() { require.NoError(t, file.Close()) }
}
