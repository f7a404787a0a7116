package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
	"savant/rules"
	"savant/rules/sessions"
	"savant/think/gate"
)

// world is a folder with rules, and a registry whose calls they judge.
type world struct {
	t      *testing.T
	folder string
	now    time.Time
	made   *calls
	keeper *sessions.Keeper // of the process that started last
}

// calls counts the calls that tools got.
type calls struct {
	mutex sync.Mutex
	of    map[string]int
}

func (c *calls) add(tool string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.of[tool]++
}

func (c *calls) count(tool string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.of[tool]
}

func newWorld(t *testing.T, lines ...string) *world {
	w := &world{t: t, folder: t.TempDir(), now: time.UnixMilli(1_000_000), made: &calls{of: map[string]int{}}}
	if len(lines) > 0 {
		w.write(lines...)
	}
	return w
}

func (w *world) write(lines ...string) {
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.folder, "rules"), 0o700))
	require.NoError(w.t, os.WriteFile(filepath.Join(w.folder, "rules", "r.yaml"), []byte(strings.Join(lines, "\n")), 0o600))
}

type arguments struct {
	Order  string `json:"order,omitempty"`
	Amount int    `json:"amount,omitempty"`
}

type reply struct {
	Status string `json:"status"`
	Order  string `json:"order"`
}

func (w *world) clock() time.Time { return w.now }

// start starts a process: a keeper and a registry of its own.
func (w *world) start() *engines.Registry {
	root, err := os.OpenRoot(w.folder)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = root.Close() })
	keeper := sessions.Open(sessions.Options{Files: root.FS(), Root: root, Logger: slog.New(slog.DiscardHandler), Now: w.clock})
	w.keeper = keeper
	registry := engines.NewRegistry(engines.Options{Rules: keeper})
	for _, name := range []string{"orders.get", "pay.refund", "pay.lost", "pay.slow"} {
		require.NoError(w.t, registry.Add(engines.Bind(name, "A tool.", func(ctx context.Context, in arguments) (reply, error) {
			w.made.add(name)
			switch {
			case name == "pay.lost":
				return reply{}, fault.New(fault.ToolTimeout, "late").OutcomeUnknown()
			case name == "pay.slow" && in.Order == "canceled": // after the effect
				<-ctx.Done()
				return reply{}, ctx.Err()
			case name == "pay.slow" && in.Order == "stopped" && w.made.count(name) == 1: // in the tool's own words
				<-ctx.Done()
				return reply{}, fault.New(fault.ToolFailed, "stopped: %w", context.Cause(ctx))
			case name == "pay.slow":
				time.Sleep(20 * time.Millisecond)
			case in.Order == "none":
				return reply{}, fault.New(fault.ToolFailed, "no such order")
			}
			return reply{"delivered", in.Order}, nil
		})))
	}
	return registry
}

// journal returns the only journal of a session.
func (w *world) journal() string {
	found, err := filepath.Glob(filepath.Join(w.folder, ".savant", "rules", "*", "*.journal"))
	require.NoError(w.t, err)
	require.Len(w.t, found, 1)
	return found[0]
}

var lasting = engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "http ann s1", Lasting: true}}}

func invoke(registry *engines.Registry, call engines.Call, tool, args string) error {
	_, err := registry.Invoke(context.Background(), call, tool, json.RawMessage(args))
	return err
}

const refunds = `evidence: {order: {last: orders.get, where: {order: input.order}}}
rules:
  - {id: seen, before: pay.refund, require: [{needs: order, that: "order.result.status == 'delivered'"}]}
  - {id: once, before: "pay.*", once: input.order}`

func TestACallIsJudgedBeforeItIsMade(t *testing.T) {
	w := newWorld(t, refunds)
	registry := w.start()
	err := invoke(registry, lasting, "pay_refund", `{"order":"A"}`)
	require.ErrorIs(t, err, fault.RuleRefused)
	require.Contains(t, err.Error(), `Next: orders.get {"order":"A"}.`)
	require.Zero(t, w.made.of["pay.refund"])
	require.ErrorIs(t, invoke(registry, lasting, "orders.get", `{"order":"none"}`), fault.ToolFailed)
	require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{"order":"none"}`), fault.RuleRefused, "a failed call is no evidence")

	require.NoError(t, invoke(registry, lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{"order":"A","wait_for_previous":true}`))
	require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{"order": "A"}`), fault.RuleRefused)
	require.Equal(t, 1, w.made.of["pay.refund"])
}

func TestAnotherProcessGoesOnWhereOneStopped(t *testing.T) {
	w := newWorld(t, refunds)
	first := w.start()
	require.NoError(t, invoke(first, lasting, "orders.get", `{"order":"A"}`))
	second := w.start()
	require.NoError(t, invoke(second, lasting, "pay.refund", `{"order":"A"}`))
	require.ErrorIs(t, invoke(first, lasting, "pay.refund", `{"order":"A"}`), fault.RuleRefused)
	require.ErrorIs(t, invoke(w.start(), lasting, "pay.refund", `{"order":"A"}`), fault.RuleRefused)
}

func TestTwoSessionsNeverSeeEachOthersCalls(t *testing.T) {
	w := newWorld(t, refunds)
	registry := w.start()
	require.NoError(t, invoke(registry, lasting, "orders.get", `{"order":"A"}`))
	for _, other := range []engines.Call{
		{}, {Caller: engines.Caller{Identity: engines.Identity{ID: "stdio"}}},
		{Caller: engines.Caller{Identity: engines.Identity{ID: "http bob s1", Lasting: true}}},
		{Caller: lasting.Caller, Agent: engines.AgentStep{RunID: "r1"}},
		{Caller: lasting.Caller, Step: engines.WorkflowStep{Workflow: "w", RunID: "r1"}},
	} {
		require.ErrorIs(t, invoke(registry, other, "pay.refund", `{"order":"A"}`), fault.RuleRefused)
	}
	stdio := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "stdio"}}}
	require.NoError(t, invoke(registry, stdio, "orders.get", `{"order":"B"}`))
	require.ErrorIs(t, invoke(w.start(), stdio, "pay.refund", `{"order":"B"}`), fault.RuleRefused, "another connection is another session")
	require.NoError(t, invoke(registry, stdio, "pay.refund", `{"order":"B"}`))
}

func TestParallelCallsUnderOnceAreOne(t *testing.T) {
	w := newWorld(t, refunds)
	registries := []*engines.Registry{w.start(), w.start()}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() { _ = invoke(registries[i%2], lasting, "pay.slow", `{"order":"A"}`) })
	}
	wait.Wait()
	require.Equal(t, 1, w.made.of["pay.slow"])
}

func TestAnUnknownOutcomeCountsForOnceAndNotForNeeds(t *testing.T) {
	w := newWorld(t, refunds, "  - {id: lost, before: pay.slow, require: \"any(calls['pay.lost'], true)\"}")
	registry := w.start()
	require.ErrorIs(t, invoke(registry, lasting, "pay.lost", `{"order":"A"}`), fault.ToolTimeout)
	require.ErrorIs(t, invoke(registry, lasting, "pay.lost", `{"order":"A"}`), fault.RuleRefused)
	require.ErrorIs(t, invoke(registry, lasting, "pay.slow", `{"order":"B"}`), fault.RuleRefused)
	require.Equal(t, map[string]int{"pay.lost": 1}, w.made.of)
}

// TestACrashAtEachWrite cuts the journal at every byte: what was reserved counts, and a
// torn record does not.
func TestACrashAtEachWrite(t *testing.T) {
	w := newWorld(t, refunds)
	registry := w.start()
	require.NoError(t, invoke(registry, lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{"order":"A"}`))
	name := w.journal()
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	require.Len(t, lines, 5) // two calls, each reserved and settled
	seen, reserved := len(lines[0]+lines[1]), len(lines[0]+lines[1]+lines[2])
	for cut := 0; cut <= len(whole); cut += 7 {
		require.NoError(t, os.WriteFile(name, whole[:cut], 0o600))
		err := invoke(w.start(), lasting, "pay.refund", `{"order":"A"}`)
		switch {
		case cut >= reserved:
			require.ErrorContains(t, err, "once", "%d", cut)
		case cut >= seen:
			require.NoError(t, err, "%d", cut)
		default:
			require.ErrorContains(t, err, "seen", "%d", cut)
		}
		require.NoError(t, invoke(w.start(), lasting, "orders.get", `{"order":"B"}`))
		require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{"order":"B"}`), "%d", cut)
	}
}

func TestRulesThatCannotBeReadRefuse(t *testing.T) {
	w := newWorld(t, "rules: [{id: a, befor: x.y, deny: true}]")
	registry := w.start()
	require.ErrorContains(t, invoke(registry, lasting, "orders.get", `{}`), "rules/r.yaml:1:9")
	w.write(refunds)
	require.NoError(t, invoke(registry, lasting, "orders.get", `{"order":"A"}`), "a file is read again when it changes")
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{"order":"A"}`))
	require.NoError(t, os.Rename(filepath.Join(w.folder, "rules"), filepath.Join(t.TempDir(), "rules")))
	if err := os.Symlink(t.TempDir(), filepath.Join(w.folder, "rules")); err != nil {
		t.Skip("this system makes no links")
	}
	require.ErrorIs(t, invoke(registry, lasting, "orders.get", `{}`), fault.RuleRefused, "a folder that leads out is not one without rules")
	require.NoError(t, os.Remove(filepath.Join(w.folder, "rules")))
	w.write(refunds)
	require.NoError(t, os.WriteFile(w.journal(), []byte("{}\nnot a record\n{}\n"), 0o600))
	require.ErrorIs(t, invoke(w.start(), lasting, "pay.refund", `{"order":"A"}`), fault.StateCorrupt)
}

func TestAPersonApprovesTheExactCall(t *testing.T) {
	w := newWorld(t, `rules: [{id: big, before: pay.refund, when: "input.amount > 5", approve: "Refund {{ input.amount }}?"}]`)
	registry := w.start()
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{"amount":5}`))
	require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{"amount":6}`), fault.ApprovalRequired)
	asked, answer, failed := "", engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, error(nil)
	call := lasting
	call.Person = engines.PersonFunc(func(_ context.Context, question engines.Elicitation) (engines.Answer, error) {
		asked = question.Message
		return answer, failed
	})
	require.NoError(t, invoke(registry, call, "pay.refund", `{"amount":6}`))
	require.Contains(t, asked, "Refund 6?")
	require.Contains(t, asked, `pay.refund {"amount":6}`)
	answer.Content = json.RawMessage(`{"approve":false}`)
	require.ErrorIs(t, invoke(registry, call, "pay.refund", `{"amount":6}`), fault.RuleRefused)
	for _, answer = range []engines.Answer{{Action: "cancel"}, {Action: "decline", Unseen: true}} {
		require.ErrorIs(t, invoke(registry, call, "pay.refund", `{"amount":6}`), fault.ApprovalRequired, "nobody answered, so the question waits")
	}
	failed = errors.New("gone")
	require.ErrorIs(t, invoke(registry, call, "pay.refund", `{"amount":6}`), fault.ApprovalRequired)
	require.Equal(t, 2, w.made.of["pay.refund"])
}

func TestAFolderWithoutRulesKeepsNothing(t *testing.T) {
	w := newWorld(t)
	registry := w.start()
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{}`))
	require.NoFileExists(t, filepath.Join(w.folder, ".savant"))
	w.write(`rules: [{id: big, before: pay.slow, deny: true}]`)
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{}`))
	require.NoFileExists(t, filepath.Join(w.folder, ".savant"))
}

func TestTheResultIsBare(t *testing.T) {
	w := newWorld(t, `rules: [{id: r, before: pay.refund, require: "all(['a.text', 'a.json', 'a.wrapped'], # != '') and find(calls['a.text'], true).result == 'done' and find(calls['a.json'], true).result == [1] and find(calls['a.wrapped'], true).result == 17"}]`)
	registry := w.start()
	for name, tool := range map[string]engines.Tool{
		"a.text":    {},
		"a.json":    {},
		"a.wrapped": {Output: json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}}}`)},
	} {
		tool.Name, tool.Description, tool.Input = name, "A tool.", json.RawMessage(`{"type":"object"}`)
		tool.Title = name
		tool.Call = func(context.Context, engines.Call, json.RawMessage) (any, error) {
			switch name {
			case "a.text":
				return engines.NewContent(nil, json.RawMessage(`[{"type":"text","text":"done"}]`))
			case "a.json":
				return engines.NewContent(nil, json.RawMessage(`[{"type":"text","text":"[1]"}]`))
			}
			return engines.NewContent(json.RawMessage(`{"result":17}`), json.RawMessage(`[{"type":"text","text":"17"}]`))
		}
		require.NoError(t, registry.Add(tool))
		require.NoError(t, invoke(registry, lasting, name, `{}`))
	}
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{}`))
}

// TestATextIsTheSameResultByTheServerAndAHook: the JSON that it is, else the text as it is.
func TestATextIsTheSameResultByTheServerAndAHook(t *testing.T) {
	for text, shown := range map[string]string{"null": "null", "17": "17", "true": "true", `"17"`: `"17"`, " ok\n": `" ok\n"`, "": `""`, "NaN": `"NaN"`, `{"a":1} more`: `"{\"a\":1} more"`,
		"```json\n[1]\n```": "[1]", `{"a":1,"_receipt":"abcdefgh"}`: `{"a":1}`} {
		w := newWorld(t, `rules: [{id: r, before: pay.refund, deny: true, when: "toJSON(find(calls['a.text'], true).result) == input.status"}]`)
		registry := w.start()
		blocks, err := json.Marshal([]any{map[string]any{"type": "text", "text": text}})
		require.NoError(t, err)
		require.NoError(t, registry.Add(engines.Tool{Name: "a.text", Title: "A", Description: "A tool.", Input: json.RawMessage(`{"type":"object"}`),
			Call: func(context.Context, engines.Call, json.RawMessage) (any, error) {
				return engines.NewContent(nil, blocks)
			}}))
		require.NoError(t, invoke(registry, lasting, "a.text", `{}`))
		verdict, _, err := w.keeper.Check(t.Context(), lasting, "pay.refund", json.RawMessage(`{"status":`+asJSON(t, shown)+`}`))
		require.NoError(t, err)
		require.Equal(t, rules.Refuse, verdict.Decision, text)
		require.Equal(t, rules.Denied, verdict.Findings[0].Parts[0].State, text)
		reported, _ := sessions.Reported(gate.Event{Output: blocks})
		require.Equal(t, shown, asJSON(t, reported), text)
	}
}

func TestRulesOfAProjectSeeAllSessions(t *testing.T) {
	w := newWorld(t, `evidence: {order: {last: orders.get, where: {order: input.order}, within: 1h}}`, "rules:",
		"  - {id: seen, before: pay.refund, require: [{needs: order}]}", "  - {id: once, before: pay.refund, once: input.order, scope: project}")
	other := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "http bob s2", Lasting: true}}}
	first, second := w.start(), w.start()
	require.NoError(t, invoke(first, lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(second, other, "pay.refund", `{"order":"A"}`))
	require.ErrorContains(t, invoke(first, lasting, "pay.refund", `{"order":"A"}`), "once")
	require.NoError(t, invoke(second, other, "orders.get", `{"order":"B"}`))
	w.now = w.now.Add(time.Hour)
	require.ErrorContains(t, invoke(first, lasting, "pay.refund", `{"order":"B"}`), "seen")
}

// TestAClockThatIsSetBack changes no order, also of sessions of which each has a journal of its own,
// and after a restart.
func TestAClockThatIsSetBack(t *testing.T) {
	w := newWorld(t, `evidence: {order: {last: orders.get, scope: project, since: pay.lost}}`, "rules: [{id: seen, before: pay.refund, require: [{needs: order}]}]")
	other := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "http bob s2", Lasting: true}}}
	require.NoError(t, invoke(w.start(), lasting, "orders.get", `{"order":"A"}`))
	w.now = w.now.Add(-time.Hour)
	require.ErrorIs(t, invoke(w.start(), other, "pay.lost", `{}`), fault.ToolTimeout)
	require.ErrorIs(t, invoke(w.start(), lasting, "pay.refund", `{}`), fault.RuleRefused)
	require.NoError(t, invoke(w.start(), other, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{}`))
	verified, err := w.verify()
	require.NoError(t, err)
	require.Len(t, verified, 2)
	require.Nil(t, verified[0].Difference)
	require.Nil(t, verified[1].Difference)
}

func TestTheCallsOfOldSessionsAreForgotten(t *testing.T) {
	w := newWorld(t, refunds)
	require.NoError(t, invoke(w.start(), lasting, "orders.get", `{"order":"A"}`))
	old := w.journal()
	w.now = w.now.Add(100 * 24 * time.Hour)
	require.NoError(t, invoke(w.start(), engines.Call{}, "orders.get", `{"order":"A"}`))
	require.NotEqual(t, old, w.journal())
}

// TestTwoProcessesOfOneSession: a call that another process took for lost counts as it
// ended after all.
func TestTwoProcessesOfOneSession(t *testing.T) {
	w := newWorld(t, refunds, "  - {id: slow, before: pay.lost, require: \"any(calls['pay.slow'], true)\"}")
	first, second := w.start(), w.start()
	var wait sync.WaitGroup
	wait.Go(func() { require.NoError(t, invoke(first, lasting, "pay.slow", `{"order":"A"}`)) })
	for w.made.count("pay.slow") == 0 {
		time.Sleep(time.Millisecond)
	}
	require.ErrorContains(t, invoke(second, lasting, "pay.slow", `{"order":"A"}`), "once")
	wait.Wait()
	require.ErrorIs(t, invoke(first, lasting, "pay.lost", `{"order":"B"}`), fault.ToolTimeout)
	require.ErrorIs(t, invoke(second, lasting, "pay.lost", `{"order":"C"}`), fault.ToolTimeout)
}

func TestTheFolderOfRulesIsBounded(t *testing.T) {
	w := newWorld(t, refunds)
	long := []byte("# " + strings.Repeat("x", 1<<20-20) + "\n" + "rules: []")
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(w.folder, "rules", name), long, 0o600))
	}
	require.ErrorContains(t, invoke(w.start(), lasting, "orders.get", `{}`), "more than 2097152 bytes of rules")
	require.NoError(t, os.WriteFile(filepath.Join(w.folder, "rules", "a.yaml"), append(long, long...), 0o600))
	require.ErrorContains(t, invoke(w.start(), lasting, "orders.get", `{}`), "rules/a.yaml is larger than")
}

// accepting is a client whose user approves every form; it counts them.
func accepting(asked *int) engines.PersonFunc {
	return func(context.Context, engines.Elicitation) (engines.Answer, error) {
		*asked++
		return engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, nil
	}
}

// TestACloneBringsNoEvidence: the calls of a folder are not those of a copy of it, which a
// clone can be, under no name that it can know.
func TestACloneBringsNoEvidence(t *testing.T) {
	here := newWorld(t, refunds)
	require.NoError(t, invoke(here.start(), lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(here.start(), lasting, "pay.refund", `{"order":"A"}`), "the twin: a call of another process is evidence")
	clone := newWorld(t, refunds)
	require.NoError(t, os.CopyFS(filepath.Join(clone.folder, ".savant"), os.DirFS(filepath.Join(here.folder, ".savant"))))
	brought := filepath.Join(clone.folder, ".savant", "rules")
	for _, name := range []string{".", "none", "0-0"} {
		require.NoError(t, os.CopyFS(filepath.Join(brought, name, "x"), os.DirFS(filepath.Dir(here.journal()))))
		text, err := os.ReadFile(here.journal())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(brought, name, filepath.Base(here.journal())), text, 0o600))
	}
	require.ErrorContains(t, invoke(clone.start(), lasting, "pay.refund", `{"order":"B"}`), "seen")
	require.ErrorContains(t, invoke(clone.start(), lasting, "pay.refund", `{"order":"A"}`), "seen")
	require.NoError(t, invoke(clone.start(), lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(clone.start(), lasting, "pay.refund", `{"order":"A"}`))
}

// TestACallCanceledAfterItsEffect counts for once, and is no evidence.
func TestACallCanceledAfterItsEffect(t *testing.T) {
	for _, order := range []string{"canceled", "stopped"} {
		w := newWorld(t, refunds, "  - {id: after, before: pay.lost, require: \"any(calls['pay.slow'], .input.order == input.order)\"}")
		registry, args := w.start(), `{"order":"`+order+`"}`
		ctx, cancel := context.WithCancelCause(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			_, err := registry.Invoke(ctx, lasting, "pay.slow", json.RawMessage(args))
			require.Error(t, err)
		})
		for w.made.count("pay.slow") == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel(errors.New("by the client"))
		wait.Wait()
		for _, process := range []*engines.Registry{registry, w.start()} {
			require.ErrorContains(t, invoke(process, lasting, "pay.slow", args), "once")
			require.ErrorContains(t, invoke(process, lasting, "pay.lost", args), "after")
		}
		require.Equal(t, 1, w.made.count("pay.slow"))
	}
}

// TestARunIsItsSession: what is resumed goes on with its calls, what is forked begins
// without any, and a call of a run's run is the outer one's.
func TestARunIsItsSession(t *testing.T) {
	w := newWorld(t, refunds)
	run := func(id string) engines.Call {
		return engines.Call{Step: engines.WorkflowStep{Workflow: "w", RunID: id}}
	}
	agent := func(id string, step int) engines.Call {
		return engines.Call{Agent: engines.AgentStep{RunID: id, Step: step}}
	}
	nested := engines.Call{Step: engines.WorkflowStep{Workflow: "child", RunID: "r1-child"}, Waiting: []engines.Run{{Workflow: "w", RunID: "r1"}}}
	require.NoError(t, invoke(w.start(), run("r1"), "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(w.start(), agent("a1", 1), "orders.get", `{"order":"B"}`))
	for _, other := range []engines.Call{run("r2"), {Step: engines.WorkflowStep{Workflow: "v", RunID: "r1"}}, agent("a1", 2), agent("r1", 1)} {
		require.ErrorContains(t, invoke(w.start(), other, "pay.refund", `{"order":"A"}`), "Rule seen")
	}
	require.ErrorContains(t, invoke(w.start(), agent("a2", 2), "pay.refund", `{"order":"B"}`), "Rule seen")
	require.NoError(t, invoke(w.start(), nested, "pay.refund", `{"order":"A"}`), "resumed, by a child")
	require.ErrorContains(t, invoke(w.start(), run("r1"), "pay.refund", `{"order":"A"}`), "Rule once")
	require.NoError(t, invoke(w.start(), agent("a1", 7).Detached(), "pay.refund", `{"order":"B"}`), "resumed, by work that outlives a call")
}
