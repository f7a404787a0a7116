package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/gate"
	"savant/think/gate/sessions"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// project is a folder and its runs, whose records are made as Think makes them, and a gate.
type project struct {
	t        require.TestingT
	path     string
	database *mongo.Database // nil: the runs are in the folder
	now      time.Time
	gate     *sessions.Gate
}

func newProject(t require.TestingT, path string) *project {
	p := &project{t: t, path: path, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	p.restart()
	return p
}

// everywhere tests a gate of runs in the folder, and of runs in a database.
func everywhere(t *testing.T, test func(*testing.T, *project)) {
	t.Run("folder", func(t *testing.T) {
		p := newProject(t, t.TempDir())
		defer p.close()
		test(t, p)
	})
	t.Run("database", func(t *testing.T) {
		server := mongotest.Start(t)
		p := &project{t: t, path: t.TempDir(), database: open(t, server.URI(mongotest.NewDatabase())), now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
		p.restart()
		defer p.close()
		test(t, p)
	})
}

func open(t *testing.T, uri string) *mongo.Database {
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Close(context.Background())) })
	return database
}

// opened returns the gate as another process of the project opens it.
func (p *project) opened() (*sessions.Gate, error) {
	return sessions.Open(p.path, p, p.clock)
}

func (p *project) clock() time.Time { return p.now }

// Shared implements sessions.Project.
func (p *project) Shared() (sessions.Shared, error) {
	if p.database == nil {
		return nil, nil
	}
	return mongostate.Open(p.database, mongostate.Options{Now: p.clock})
}

// Described implements sessions.Project.
func (p *project) Described() ([]gate.Tool, error) {
	return []gate.Tool{{Name: "git.log", ReadOnly: true}, {Name: "git.show", ReadOnly: true}, {Name: "ci.run"}, {Name: "think.explain", ReadOnly: true}}, nil
}

// unreadable is a project whose settings cannot be read.
type unreadable struct{ sessions.Folder }

// Shared implements sessions.Project.
func (unreadable) Shared() (sessions.Shared, error) {
	return nil, fault.New(fault.InvalidParams, "no such store")
}

func (p *project) store() state.Backend {
	if p.database == nil {
		store, err := state.Open(p.path, state.Options{Now: func() time.Time { return p.now }})
		require.NoError(p.t, err)
		return store
	}
	store, err := mongostate.Open(p.database, mongostate.Options{Now: func() time.Time { return p.now }})
	require.NoError(p.t, err)
	return store
}

// restart is what every event of a client does: another process opens the gate.
func (p *project) restart() {
	p.close()
	var err error
	p.gate, err = p.opened()
	require.NoError(p.t, err)
}

func (p *project) close() {
	if p.gate != nil {
		require.NoError(p.t, p.gate.Close())
	}
}

// record appends a record to a run: what it hands out, and how the run stands then.
func (p *project) record(run, kind, status string, issued ...gate.Issued) {
	p.recordOf("tour", run, kind, status, issued...)
}

func (p *project) recordOf(workflow, run, kind, status string, issued ...gate.Issued) {
	store := p.store()
	defer func() { require.NoError(p.t, store.Close()) }()
	key := state.Key{Workflow: workflow, Run: run}
	version, _, err := store.Head(context.Background(), key)
	if err != nil {
		require.ErrorIs(p.t, err, fault.UnknownRun)
	}
	data, err := json.Marshal(map[string]any{"to": 1, "reply": map[string]any{"reply": map[string]any{"instructions": issued}}})
	require.NoError(p.t, err)
	_, err = store.Append(context.Background(), key, state.Record{Version: version + 1, Kind: kind, Status: status, Data: data, State: fmt.Sprintf("s%d", version+1)})
	require.NoError(p.t, err)
}

func (p *project) records(run string) []state.Record {
	store := p.store()
	defer func() { require.NoError(p.t, store.Close()) }()
	records, err := store.Records(context.Background(), state.Key{Workflow: "tour", Run: run}, 0, 0)
	require.NoError(p.t, err)
	return records
}

func (p *project) refused(run string) (total int) {
	for _, each := range p.records(run) {
		var refusal gate.Refusal
		if each.Kind == gate.KindRefused {
			require.NoError(p.t, json.Unmarshal(each.Data, &refusal))
			total += refusal.Count()
		}
	}
	return total
}

func step(n int) gate.Issued {
	return gate.Issued{Step: fmt.Sprintf("s%d", n), Call: "git.show", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func event(session string, kind gate.Kind, tool, input string) gate.Event {
	return gate.Event{Client: "claude-code", Session: session, Kind: kind, Tool: tool, Input: json.RawMessage(input)}
}

func (p *project) ask(e gate.Event) gate.Decision { return p.gate.Ask(context.Background(), e) }

// planned reports a call of think.plan that started a run.
func (p *project) planned(session, run string) {
	after := event(session, gate.AfterTool, "mcp__savant__think_plan", `{"workflow":"tour@1"}`)
	reply := fmt.Sprintf(`{"instruction":{},"state":{"run_id":%q}}`, run)
	output, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": reply}}})
	require.NoError(p.t, err)
	after.Output = output
	p.ask(after)
}

func (p *project) tries(session, tool, input string) gate.Verdict {
	return p.ask(event(session, gate.BeforeTool, tool, input)).Verdict
}

func TestASessionIsHeldToItsRun(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`), "before the run is known")
		p.planned("one", "r1")
		require.Equal(t, gate.Refuse, p.tries("one", "Bash", `{}`))
		require.Equal(t, gate.Pass, p.tries("two", "Bash", `{}`), "another session")
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":1}`))
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__think_next", `{"run_id":"r1"}`))
		sub := event("one", gate.BeforeTool, "Write", `{}`)
		sub.Agent = "a1"
		require.Equal(t, gate.Refuse, p.ask(sub).Verdict, "a subagent")
		p.record("r1", "result", "running", step(2))
		require.Equal(t, gate.Refuse, p.tries("one", "mcp__savant__git_show", `{"n":1}`), "the step before")
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":2}`))
		p.record("r1", "reset", "running", step(1))
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":1}`), "after a reset")
		p.record("r1", "result", "done")
		require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`))
		require.Equal(t, 3, p.refused("r1"))
		require.Empty(t, filesOf(t, p.path), "a session without runs leaves no file")
	})
}

// TestRepliesAsClientsWrapThem: each client hands the reply of think.plan on in its own way.
func TestRepliesAsClientsWrapThem(t *testing.T) {
	const reply = `{"instruction":{"step_id":"a"},"ready":[],"state":{"run_id":"r1","version":1},"done":false}`
	quoted := fmt.Sprintf("%q", reply)
	for client, output := range map[string]string{
		"claude-code":                quoted,
		"without structured content": `[{"type":"text","text":` + quoted + `}]`,
		"twice":                      fmt.Sprintf("%q", quoted),
		"codex":                      `{"content":[{"type":"text","text":` + quoted + `}]}`,
		"structured":                 `{"content":[],"structuredContent":` + reply + `}`,
		"gemini-cli":                 `{"llmContent":[{"text":` + fmt.Sprintf("%q", "<untrusted_context>\n"+reply+"\n</untrusted_context>") + `}],"returnDisplay":"x"}`,
		"cline":                      `{"output":{"content":[{"type":"text","text":` + quoted + `}]}}`,
		"copilot-cli":                `{"resultType":"success","textResultForLlm":` + quoted + `}`,
		"copilot-cli in snake case":  `{"result_type":"success","text_result_for_llm":` + quoted + `}`,
		"kiro":                       `{"success":true,"result":[` + quoted + `]}`,
		"a name that nobody knows":   `{"meta":{"ms":7},"payloadOfTomorrow":[{"inner":{"aText":` + quoted + `}}]}`,
		"after other text":           `[{"type":"text","text":"Here is the reply: "},{"type":"image"},{"type":"text","text":` + quoted + `}]`,
		"cut and quoted":             `{"x":` + fmt.Sprintf("%q", `{"text":`+quoted[:len(quoted)-20]) + `}`,
		"cut with spaces":            `{"x":` + fmt.Sprintf("%q", "{\n  \"instruction\": {},\n  \"state\": {\n    \"run_id\": \"r1\",\n") + `}`,
		"cut":                        `{"output":` + fmt.Sprintf("%q", reply[:len(reply)-20]+" … (truncated)") + `}`,
	} {
		t.Run(client, func(t *testing.T) {
			p := newProject(t, t.TempDir())
			defer p.close()
			p.record("r1", "plan", "running", step(1))
			after := event("one", gate.AfterTool, "mcp__savant__think_plan", `{"workflow":"tour"}`)
			after.Output = json.RawMessage(output)
			p.ask(after)
			require.Equal(t, gate.Refuse, p.tries("one", "Bash", `{}`))
		})
	}
}

// TestAPlanWhoseReplyIsNotShown: the plan was seen, and its reply shows no run: it is the
// one that the call named, or that began during the call and that no session has.
func TestAPlanWhoseReplyIsNotShown(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		plan := func(kind gate.Kind, session, input, output string) {
			e := event(session, kind, "mcp__savant__think_plan", input)
			e.Output = json.RawMessage(output)
			require.Equal(t, gate.Pass, p.ask(e).Verdict)
		}
		begins := func(run string) {
			p.now = p.now.Add(time.Second)
			p.record(run, "plan", "running", step(1))
			p.now = p.now.Add(time.Second)
		}
		begins("r0")
		p.now = p.now.Add(2 * time.Minute) // clocks of two machines may differ by less
		for i, output := range []string{`""`, `"done"`, `{"ok":true}`, `null`, ``, `{"x":"{\"instruction\": {\"step"}`} {
			session, run := fmt.Sprint("silent", i), fmt.Sprint("made", i)
			plan(gate.BeforeTool, session, `{"workflow":"tour@1"}`, "")
			begins(run)
			plan(gate.AfterTool, session, `{"workflow":"tour@1"}`, output)
			decided := p.ask(event(session, gate.BeforeTool, "Bash", `{}`))
			require.Equal(t, gate.Refuse, decided.Verdict, output)
			require.Equal(t, run, decided.Run)
			p.record(run, "result", "done")
			require.Equal(t, gate.Pass, p.tries(session, "Bash", `{}`), "it is held to no other run")

			session, run = fmt.Sprint("named", i), fmt.Sprint("name", i)
			begins(run)
			plan(gate.AfterTool, session, fmt.Sprintf(`{"workflow":"tour","run_id":%q}`, run), output)
			require.Equal(t, run, p.ask(event(session, gate.BeforeTool, "Bash", `{}`)).Run, output)
		}

		// The workflow is named with its folder; another one has a run of that name.
		plan(gate.BeforeTool, "foldered", `{"workflow":"ops/tour@1"}`, "")
		begins("foldered")
		plan(gate.AfterTool, "foldered", `{"workflow":"ops/tour@1"}`, `"done"`)
		require.Equal(t, "foldered", p.ask(event("foldered", gate.BeforeTool, "Bash", `{}`)).Run)
		p.recordOf("other", "foldered", "plan", "running", step(1))
		plan(gate.AfterTool, "same name", `{"workflow":"ops/tour","run_id":"foldered"}`, `{"state":{"run_id":"foldered"}}`)
		require.Equal(t, "tour", p.ask(event("same name", gate.BeforeTool, "Bash", `{}`)).Workflow)

		// A text of the model's stands before the id in a reply that the client cuts.
		for i, chosen := range []string{"elsewhere", "r0", "named0"} {
			session, run := fmt.Sprint("cut", i), fmt.Sprint("real", i)
			input := fmt.Sprintf(`{"workflow":"tour","params":{"x":%q}}`, `{"state":{"run_id":"`+chosen+`"}}`)
			plan(gate.BeforeTool, session, input, "")
			begins(run)
			plan(gate.AfterTool, session, input, fmt.Sprintf("%q", `{"instruction":{"step_id":"a","input":`+input))
			require.Equal(t, run, p.ask(event(session, gate.BeforeTool, "Bash", `{}`)).Run, chosen)
		}

		plan(gate.BeforeTool, "one", `{"workflow":"tour"}`, "")
		plan(gate.BeforeTool, "two", `{"workflow":"tour"}`, "")
		begins("of-two")
		plan(gate.AfterTool, "two", `{"workflow":"tour"}`, `{"state":{"run_id":"of-two"}}`)
		begins("of-one")
		plan(gate.AfterTool, "one", `{"workflow":"tour"}`, `"done"`)
		require.Equal(t, "of-one", p.ask(event("one", gate.BeforeTool, "Bash", `{}`)).Run, "another session has the other")

		for i, output := range []string{`{"error":"STATE_CONFLICT","details":"x"}`, `{"isError":true,"content":[{"type":"text","text":"no"}]}`, `{"resultType":"failure","textResultForLlm":"no"}`,
			`"{\"error\":\"HOOKS_MISSING\"}"`} {
			session := fmt.Sprint("failed", i)
			plan(gate.BeforeTool, session, `{"workflow":"tour"}`, "")
			begins(fmt.Sprint("others", i))
			plan(gate.AfterTool, session, `{"workflow":"tour"}`, output)
			plan(gate.AfterTool, session, `{"workflow":"tour","run_id":"r0"}`, output)
			require.Equal(t, gate.Pass, p.tries(session, "Bash", `{}`), "a plan that failed: %s", output)
		}
		plan(gate.BeforeTool, "never", `{"workflow":"tour"}`, "")
		require.Equal(t, gate.Pass, p.tries("never", "Bash", `{}`), "a plan that is not made yet")
	})
}

func TestASessionThatGoesOnWithARun(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__think_next", `{"run_id":"r1","workflow":"tour"}`))
		require.Equal(t, gate.Refuse, p.tries("one", "Bash", `{}`))
		require.Equal(t, gate.Pass, p.tries("two", "mcp__savant__think_next", `{"run_id":"elsewhere"}`), "a run of another project")
		require.Equal(t, gate.Pass, p.tries("two", "Bash", `{}`))
		require.Equal(t, gate.Pass, p.tries("two", "mcp__savant__think_state_get", `{"run_id":"r1"}`), "only looking")
		require.Equal(t, gate.Pass, p.tries("two", "Bash", `{}`))
	})
}

func TestAPairEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.record("r2", "plan", "running", step(1))
		p.planned("one", "r1")
		p.planned("one", "r2")
		p.now = p.now.Add(11 * time.Hour)
		p.tries("one", "mcp__savant__think_next", `{"run_id":"r2"}`)
		p.now = p.now.Add(2 * time.Hour)
		require.Equal(t, "r2", p.ask(event("one", gate.BeforeTool, "Bash", `{}`)).Run, "r1 is forgotten")
		released, err := p.gate.Release(t.Context(), "r1")
		require.NoError(t, err)
		require.Empty(t, released)
		released, err = p.gate.Release(t.Context(), "r2")
		require.NoError(t, err)
		require.Equal(t, []state.Key{{Workflow: "tour", Run: "r2"}}, released)
		require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`))
	})
}

func TestARunThatIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.planned("one", "r1")
		require.NoError(t, p.store().Delete(t.Context(), state.Key{Workflow: "tour", Run: "r1"}))
		require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`))
	})
}

// TestDamageIsRefused: of the journal, and of the gate's own file.
func TestDamageIsRefused(t *testing.T) {
	for name, file := range map[string]string{"journal": ".savant/state/tour/r1.journal", "session": ""} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, t.TempDir())
			defer p.close()
			p.record("r1", "plan", "running", step(1))
			p.record("r1", "result", "running", step(2))
			p.planned("one", "r1")
			if file == "" {
				file = filesOf(t, p.path)[0]
			}
			damaged := filepath.Join(p.path, file)
			text, err := os.ReadFile(damaged)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(damaged, []byte(strings.Replace(string(text), `"running"`, `"runnimg`, 1)), 0o600))
			decided := p.ask(event("one", gate.BeforeTool, "mcp__savant__git_show", `{"n":2}`))
			require.Equal(t, gate.GateFailed, decided.Why)
			require.Contains(t, decided.Reason, "savant hook release")
			require.Equal(t, gate.Pass, p.ask(event("one", gate.TurnEnd, "", "")).Verdict, "nothing would bound holding it")
			require.Equal(t, gate.Pass, p.tries("two", "Bash", `{}`))
			_, err = p.gate.Release(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`))
		})
	}
}

// TestALockThatIsKeptIsRefused: within the time that the caller gives.
func TestALockThatIsKeptIsRefused(t *testing.T) {
	p := newProject(t, t.TempDir())
	defer p.close()
	p.record("r1", "plan", "running", step(1))
	p.planned("one", "r1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	release := lock(t, filepath.Join(homeOf(t, p.path), ".lock"))
	defer release()
	require.Equal(t, gate.GateFailed, p.gate.Ask(ctx, event("one", gate.BeforeTool, "Bash", `{}`)).Why)
}

// TestRefusalsAreBounded: one by one at first, then one record for many.
func TestRefusalsAreBounded(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.planned("one", "r1")
		for range 100 {
			require.Equal(t, gate.Refuse, p.tries("one", "Bash", `{"command":"x"}`))
		}
		require.Len(t, p.records("r1"), 1+8+3) // 16, 32 and 64
		require.Equal(t, 64, p.refused("r1"))
		p.record("r1", "result", "running", step(2))
		p.tries("one", "Bash", `{}`)
		require.Equal(t, 101, p.refused("r1"), "the next record counts the rest")
		for _, each := range p.records("r1") {
			require.NotContains(t, string(each.Data), "command", "the input is a digest")
		}
	})
}

// TestManyAtOnce: hooks of parallel calls run at the same time.
func TestManyAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.planned("one", "r1")
		var asked sync.WaitGroup
		for i := range 8 {
			asked.Go(func() {
				opened, err := p.opened()
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = opened.Close() }()
				for range 2 {
					if decided := opened.Ask(context.Background(), event("one", gate.BeforeTool, fmt.Sprintf("Tool%d", i), `{}`)); decided.Verdict != gate.Refuse || decided.Why != gate.NotIssued {
						t.Errorf("%+v", decided)
					}
				}
			})
		}
		asked.Wait()
		require.Equal(t, 16, p.refused("r1"))
	})
}

func TestAProbeCountsOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		probed := func(workflow, run string) bool {
			found, err := p.gate.Probed(t.Context(), workflow, run)
			require.NoError(t, err)
			return found
		}
		require.False(t, probed("tour", ""))
		p.tries("one", "mcp__savant__think_plan", `{"workflow":"tour@1"}`)
		require.False(t, probed("other", ""))
		require.False(t, probed("tour", "r1"))
		require.True(t, probed("tour", ""))
		require.False(t, probed("tour", ""), "it was used")
		p.tries("one", "mcp__savant__think_plan", `{"workflow":"tour"}`)
		p.now = p.now.Add(2 * time.Hour)
		require.False(t, probed("tour", ""), "it is too old")
	})
}

// TestAContinuationCountsOnce: each call of think.next for a step needs a hook of its own.
func TestAContinuationCountsOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.record("r2", "plan", "running", step(1))
		continued := func(run, step string) bool {
			found, err := p.gate.Continued(t.Context(), "tour", run, step)
			require.NoError(t, err)
			return found
		}
		require.False(t, continued("r1", "s1"))
		p.tries("one", "mcp__savant__think_next", `{"run_id":"r1","step_id":"s1"}`)
		p.tries("two", "mcp__savant__think_next", `{"run_id":"r2","step_id":"s1"}`)
		require.False(t, continued("r1", "s2"), "another step")
		require.True(t, continued("r1", "s1"))
		require.False(t, continued("r1", "s1"), "it was used")
		require.True(t, continued("r2", "s1"), "another run")
		p.tries("one", "mcp__savant__think_next", `{"step_id":"s2"}`)
		require.True(t, continued("r1", "s2"), "the session's own run")
		require.False(t, continued("r2", "s2"))
		p.tries("one", "mcp__savant__think_next", `{"run_id":"r1","step_id":"s1"}`)
		p.now = p.now.Add(2 * time.Hour)
		require.False(t, continued("r1", "s1"), "it is too old")
		for n := range 40 {
			p.tries("one", "mcp__savant__think_next", fmt.Sprintf(`{"run_id":"r1","step_id":"n%d"}`, n))
		}
		require.Equal(t, p.database != nil, continued("r1", "n0"), "a client that never calls does not fill the file; of a database, it is pruned")
		require.True(t, continued("r1", "n39"))
	})
}

// TestCallsOfNoSession: they are refused while a session of the client has an open run.
func TestCallsOfNoSession(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		require.Equal(t, gate.Pass, p.tries("", "Bash", `{}`))
		p.tries("one", "mcp__savant__think_next", `{"run_id":"r1"}`)
		require.Equal(t, gate.Refuse, p.tries("", "Bash", `{}`))
		other := event("", gate.BeforeTool, "Bash", `{}`)
		other.Client = "codex"
		require.Equal(t, gate.Pass, p.ask(other).Verdict, "another client")
		require.Equal(t, gate.Pass, p.ask(event("", gate.TurnEnd, "", "")).Verdict)
		p.record("r1", "result", "done")
		require.Equal(t, gate.Pass, p.tries("", "Bash", `{}`), "the run has ended")
	})
}

// TestNoOpenRunIsForgottenForAnother: a session that has as many as it may have plans no other.
func TestNoOpenRunIsForgottenForAnother(t *testing.T) {
	p := newProject(t, t.TempDir())
	defer p.close()
	for i := range 33 {
		p.record(fmt.Sprintf("r%d", i), "plan", "running", step(i))
		p.planned("one", fmt.Sprintf("r%d", i))
	}
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":0}`), "the first is still held")
	require.Equal(t, gate.Refuse, p.tries("one", "mcp__savant__git_show", `{"n":32}`))
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__think_next", `{"run_id":"r0"}`))
	for tool, input := range map[string]string{"mcp__savant__think_next": `{"run_id":"r32"}`, "mcp__savant__think_plan": `{"workflow":"tour"}`} {
		decided := p.ask(event("one", gate.BeforeTool, tool, input))
		require.Equal(t, gate.GateFailed, decided.Why, tool)
		require.Contains(t, decided.Reason, "32", "the limit")
	}
	p.record("r0", "result", "done")
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__think_next", `{"run_id":"r32"}`))
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":32}`))
}

// TestLinksLeadOut: a place is where its links lead.
func TestLinksLeadOut(t *testing.T) {
	p := newProject(t, t.TempDir())
	defer p.close()
	require.NoError(t, os.Symlink("/etc", filepath.Join(p.path, "out")))
	require.NoError(t, os.Mkdir(filepath.Join(p.path, "in"), 0o700))
	beside := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(beside, "deep"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(beside, "deep"), filepath.Join(p.path, "deep")))
	p.record("r1", "plan", "running", gate.Issued{Step: "s", Call: "llm.generate", Input: json.RawMessage(`{}`)})
	p.planned("one", "r1")
	for place, want := range map[string]gate.Verdict{"in/a.go": gate.Pass, filepath.Join(p.path, "in"): gate.Pass, "in/../in/new": gate.Pass,
		"out/passwd": gate.Refuse, "../x": gate.Refuse, "/etc/passwd": gate.Refuse, "~/.ssh/id": gate.Refuse, filepath.Join(p.path, "out", "x"): gate.Refuse, "file:///etc/passwd": gate.Refuse,
		"deep/../x": gate.Refuse, filepath.Join(p.path, "deep") + "/../x": gate.Refuse, "deep/../*": gate.Refuse, "new/../in/a.go": gate.Pass,
		"file://" + p.path + "/in/a.go": gate.Pass, "file://localhost/etc/passwd": gate.Refuse, "file://" + p.path + "/%2e%2e/x": gate.Refuse, "FILE:///etc/passwd": gate.Refuse,
		"vscode-remote://host/etc/passwd": gate.Refuse, "in/a b://c": gate.Pass,
		"{a,b}/*.go": gate.Pass, "{/etc/passwd,a}": gate.Refuse, "{a,/etc}/x": gate.Refuse, "{..,a}/x": gate.Refuse} {
		input, err := json.Marshal(map[string]any{"file_path": place})
		require.NoError(t, err)
		require.Equal(t, want, p.tries("one", "Read", string(input)), place)
	}
}

// homeOf returns the folder of a project's files of the gate.
func homeOf(t *testing.T, path string) string {
	root, err := os.OpenRoot(path)
	require.NoError(t, err)
	defer root.Close()
	return filepath.Join(path, sessions.Home(root))
}

// filesOf lists the files of sessions, relative to the project.
func filesOf(t *testing.T, path string) []string {
	found, err := filepath.Glob(filepath.Join(homeOf(t, path), "*.json"))
	require.NoError(t, err)
	for i := range found {
		found[i], err = filepath.Rel(path, found[i])
		require.NoError(t, err)
	}
	return found
}

// TestAJournalThatWasRepaired: what was known of its end does not count any more.
func TestAJournalThatWasRepaired(t *testing.T) {
	p := newProject(t, t.TempDir())
	defer p.close()
	p.record("r1", "plan", "running", step(1))
	p.record("r1", "result", "running", step(2))
	p.planned("one", "r1")
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":2}`))
	file := filepath.Join(p.path, ".savant", "state", "tour", "r1.journal")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(file, []byte(first+"\n"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(p.path, ".savant", "heads"))) // as a repair does
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":1}`))
	p.record("r1", "result", "running", step(3))
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":3}`))
	require.NoError(t, os.WriteFile(file, append([]byte(first+"\n"), `{"version":2,"torn`...), 0o600))
	require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":1}`), "a torn record is not there")
}

// TestARunThatWasRepairedOrBegunAnew: what was known of its end does not count any more.
func TestARunThatWasRepairedOrBegunAnew(t *testing.T) {
	everywhere(t, func(t *testing.T, p *project) {
		p.record("r1", "plan", "running", step(1))
		p.record("r1", "result", "running", step(2))
		p.planned("one", "r1")
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":2}`))
		key := state.Key{Workflow: "tour", Run: "r1"}
		store := p.store()
		_, err := store.Repair(t.Context(), key, 1)
		require.NoError(t, err)
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":1}`))
		p.record("r1", "result", "running", step(3))
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":3}`))
		require.NoError(t, store.Delete(t.Context(), key))
		require.NoError(t, store.Close())
		p.record("r1", "plan", "running", step(4))
		p.record("r1", "result", "running", step(5))
		p.record("r1", "result", "running", step(6))
		require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__git_show", `{"n":6}`))
		require.Equal(t, gate.Refuse, p.tries("one", "mcp__savant__git_show", `{"n":3}`))
	})
}

// TestTheDatabaseIsAway: a session that is held to a run is refused every tool, with
// the reason; other sessions are not affected. A person can release a run meanwhile.
func TestTheDatabaseIsAway(t *testing.T) {
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	p := &project{t: t, path: t.TempDir(), now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	p.database = open(t, proxy.URI(mongotest.NewDatabase())+"?serverSelectionTimeoutMS=200")
	p.restart()
	defer p.close()
	for _, run := range []string{"r1", "r2"} {
		p.record(run, "plan", "running", step(1))
		p.planned("of "+run, run)
	}
	proxy.Refuse(true)
	for _, call := range []string{`git_show`, `think_next`} {
		decided := p.ask(event("of r1", gate.BeforeTool, "mcp__savant__"+call, `{"n":1}`))
		require.Equal(t, gate.GateFailed, decided.Why)
		require.Contains(t, decided.Reason, "127.0.0.1:", "the host")
		require.Contains(t, decided.Reason, "savant hook release")
	}
	require.Equal(t, gate.Pass, p.ask(event("of r1", gate.TurnEnd, "", "")).Verdict, "nothing would bound holding it")
	require.Equal(t, gate.Refuse, p.tries("", "Bash", `{}`), "any session of the client")
	require.Equal(t, gate.Pass, p.tries("three", "Bash", `{}`))
	require.Equal(t, gate.Pass, p.tries("three", "mcp__savant__think_plan", `{"workflow":"tour"}`), "the server says so itself")
	require.Equal(t, gate.Pass, p.tries("three", "mcp__savant__think_next", `{"run_id":"r1"}`))
	_, err := p.gate.Probed(t.Context(), "tour", "")
	require.ErrorIs(t, err, fault.StateNotSaved)
	released, err := p.gate.Release(t.Context(), "r2")
	require.NoError(t, err)
	require.Len(t, released, 1)
	require.Equal(t, gate.Pass, p.tries("of r2", "Bash", `{}`))
	proxy.Refuse(false)
	require.Eventually(t, func() bool { return p.tries("of r1", "mcp__savant__git_show", `{"n":1}`) == gate.Pass }, time.Minute, time.Millisecond)
	require.Equal(t, gate.NotIssued, p.ask(event("of r1", gate.BeforeTool, "Bash", `{}`)).Why)
}

// TestSettingsThatCannotBeRead: nobody knows where the runs are, so a session that may be
// held to one is refused.
func TestSettingsThatCannotBeRead(t *testing.T) {
	p := newProject(t, t.TempDir())
	defer p.close()
	p.record("r1", "plan", "running", step(1))
	p.planned("one", "r1")
	opened, err := sessions.Open(p.path, unreadable{}, p.clock)
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	decided := opened.Ask(t.Context(), event("one", gate.BeforeTool, "Bash", `{}`))
	require.Equal(t, gate.GateFailed, decided.Why)
	require.Contains(t, decided.Reason, "no such store")
	require.Equal(t, gate.Decision{}, opened.Ask(t.Context(), event("two", gate.BeforeTool, "Bash", `{}`)))
}
