package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
	"savant/think/state"
)

// scopedWorkflow asks once, and then refunds in a loop.
const scopedWorkflow = `name: refunds
version: "1.0"
params: {orders: {type: array, required: true}, limit: {type: integer, default: 100}}
steps:
  - id: agree
    call: human.approve
    input_template: {message: "Refund {{ len(params.orders) }} orders?"}
    scope: {call: pay.refund, where: "input.amount <= params.limit", at_most: 3, expires: 1h}
  - id: pay
    foreach: params.orders
    as: order
    call: pay.refund
    input_template: {order: "{{ order }}", amount: 5}
`

// scopedWorld is a folder whose keeper knows the approvals of runs.
type scopedWorld struct {
	*world
	engine   *think.Engine
	store    *state.Dir
	keeper   *sessions.Keeper
	registry *engines.Registry
}

func newScopedWorld(t *testing.T, workflow string, lines ...string) *scopedWorld {
	w := &scopedWorld{world: newWorld(t, lines...)}
	w.open(workflow)
	return w
}

// open starts a process over the folder.
func (w *scopedWorld) open(workflow string) {
	root, err := os.OpenRoot(w.folder)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = root.Close() })
	w.store, err = state.Open(w.folder, state.Options{Now: w.clock})
	require.NoError(w.t, err)
	store := w.store
	w.t.Cleanup(func() { _ = store.Close() })
	files := fstest.MapFS{"workflows/refunds.yml": {Data: []byte(workflow)}}
	w.engine = think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: w.store, Now: w.clock, Imports: w.store,
		Rules: &sessions.Workflows{Tools: published{"pay.refund": {}, "orders.get": {}}}})
	w.t.Cleanup(w.engine.Close)
	w.keeper = sessions.Open(sessions.Options{Files: root.FS(), Root: root, Logger: slog.New(slog.DiscardHandler), Now: w.clock, Rulings: &guide.Runs{Engine: w.engine}, Approvals: &guide.Runs{Engine: w.engine}})
	w.registry = engines.NewRegistry(engines.Options{Rules: w.keeper})
	require.NoError(w.t, w.registry.Add(engines.Bind("pay.refund", "A tool.", func(_ context.Context, in arguments) (reply, error) {
		w.made.add("pay.refund")
		return reply{"paid", in.Order}, nil
	})))
}

// plan starts a run, and gives the approval.
func (w *scopedWorld) plan(run string, approved bool, orders ...string) {
	w.t.Helper()
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "refunds", RunID: run, Params: map[string]any{"orders": toAny(orders)}})
	require.NoError(w.t, err)
	asked, err := w.engine.Pending(w.t.Context(), "refunds", run)
	require.NoError(w.t, err)
	_, err = w.engine.Approve(w.t.Context(), asked[0], map[string]any{"approved": approved}, think.Caller{Name: think.ByTerminal})
	require.NoError(w.t, err)
}

func toAny(texts []string) []any {
	all := make([]any, len(texts))
	for i, each := range texts {
		all[i] = each
	}
	return all
}

// refund calls as a driven run does.
func (w *scopedWorld) refund(run, order string, amount int) error {
	return invoke(w.registry, engines.Call{Step: engines.WorkflowStep{Workflow: "refunds", RunID: run, StepID: "pay"}}, "pay.refund", fmt.Sprintf(`{"order":%q,"amount":%d}`, order, amount))
}

// same asserts that the records of a run and the decisions about its calls are computed
// again.
func (w *scopedWorld) same(run string) {
	w.t.Helper()
	key := state.Key{Workflow: "refunds", Run: run}
	records, err := w.store.Records(w.t.Context(), key, 0, 0)
	require.NoError(w.t, err)
	_, found, err := audit.New(w.engine).Verify(w.t.Context(), key, records)
	require.NoError(w.t, err)
	require.Nil(w.t, found)
	verified, err := w.keeper.Verify(func(string) bool { return true }, "")
	require.NoError(w.t, err)
	for _, each := range verified {
		require.Nil(w.t, each.Difference, "%+v", each.Difference)
	}
}

const askAboutRefunds = `rules: [{id: big, before: pay.refund, approve: "Refund {{ input.order }}?"}]`

func TestOneYesCoversTheCallsThatFit(t *testing.T) {
	for name, lines := range map[string][]string{"no rules": nil, "a rule asks": {askAboutRefunds}} {
		t.Run(name, func(t *testing.T) {
			w := newScopedWorld(t, scopedWorkflow, lines...)
			w.plan("r1", true, "A", "B", "C", "D")
			require.NoError(t, w.refund("r1", "A", 5))
			require.ErrorIs(t, w.refund("r1", "B", 500), fault.ApprovalRequired, "it does not fit where")
			require.NoError(t, w.refund("r1", "B", 5))
			require.NoError(t, w.refund("r1", "C", 5))
			require.ErrorIs(t, w.refund("r1", "D", 5), fault.ApprovalRequired, "it is used up")
			require.Equal(t, 3, w.made.count("pay.refund"))
			w.same("r1")

			waiting, err := w.keeper.Questions() // the person is asked about the exact call
			require.NoError(t, err)
			require.Len(t, waiting, 2)
			at := slices.IndexFunc(waiting, func(each sessions.Question) bool { return each.Input["order"] == "D" })
			_, err = w.keeper.Answer(t.Context(), waiting[at].Name, true, "terminal")
			require.NoError(t, err)
			require.NoError(t, w.refund("r1", "D", 5))
			require.ErrorIs(t, w.refund("r1", "D", 5), fault.ApprovalRequired)
			w.same("r1")

			shown, err := w.engine.ScopedApprovals(t.Context(), "refunds", "r1")
			require.NoError(t, err)
			require.Equal(t, []any{3, 3, "it is used up", "terminal"}, []any{shown[0].Used, shown[0].AtMost, shown[0].Over, shown[0].By})
		})
	}
}

func TestAnApprovalEnds(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow, askAboutRefunds)
	w.plan("r1", true, "A", "B")
	require.NoError(t, w.refund("r1", "A", 5))
	w.now = w.now.Add(time.Hour)
	require.ErrorIs(t, w.refund("r1", "B", 5), fault.ApprovalRequired, "it has expired")

	w.plan("r2", true, "A", "B")
	require.NoError(t, w.refund("r2", "A", 5))
	require.NoError(t, w.engine.Revoke(t.Context(), "refunds", "r2", "agree", think.Caller{Name: think.ByHub}))
	require.ErrorIs(t, w.refund("r2", "B", 5), fault.ApprovalRequired, "it was revoked")
	require.ErrorIs(t, w.engine.Revoke(t.Context(), "refunds", "r2", "agree", think.Caller{}), fault.InvalidTransition)
	w.same("r2")
	w.open(scopedWorkflow) // another process
	require.ErrorIs(t, w.refund("r2", "B", 5), fault.ApprovalRequired)

	w.plan("r3", false, "A") // a no covers nothing, and asks also where no rule does
	require.ErrorIs(t, w.refund("r3", "A", 5), fault.ApprovalRequired)
	require.ErrorIs(t, w.refund("r4", "A", 5), fault.ApprovalRequired, "another run")
	require.Equal(t, 2, w.made.count("pay.refund"))
}

func TestAForkAndAResetBringNoUsesBack(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow, askAboutRefunds)
	w.plan("r1", true, "A", "B", "C", "D", "E", "F")
	for _, order := range []string{"A", "B", "C"} {
		require.NoError(t, w.refund("r1", order, 5))
	}
	key := state.Key{Workflow: "refunds", Run: "r1"}
	records, err := w.store.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	_, err = w.engine.Fork(t.Context(), key, records, "r2", nil, think.Caller{})
	require.NoError(t, err)
	require.ErrorIs(t, w.refund("r2", "D", 5), fault.ApprovalRequired, "a fork has no approval")
	_, err = w.engine.Reset(t.Context(), think.ResetInput{Workflow: "refunds", RunID: "r1", Checkpoint: "v2"}) // after the yes
	require.NoError(t, err)
	require.ErrorIs(t, w.refund("r1", "D", 5), fault.ApprovalRequired, "a reset takes no use back")
	_, err = w.engine.Reset(t.Context(), think.ResetInput{Workflow: "refunds", RunID: "r1", Checkpoint: "start"})
	require.NoError(t, err)
	require.ErrorIs(t, w.refund("r1", "E", 5), fault.ApprovalRequired, "the approval has to be given again")
	w.same("r1")
}

func TestTwoCallsAtOnceUseAnApprovalOnce(t *testing.T) {
	w := newScopedWorld(t, strings.Replace(scopedWorkflow, "at_most: 3", "at_most: 1", 1))
	w.plan("r1", true, "A", "B")
	var group sync.WaitGroup
	refused := make(chan error, 16)
	other := *w // a process of its own
	other.open(strings.Replace(scopedWorkflow, "at_most: 3", "at_most: 1", 1))
	for i := range 16 {
		from := []*scopedWorld{w, &other}[i%2]
		group.Go(func() {
			if err := from.refund("r1", fmt.Sprint(i), 5); err != nil {
				refused <- err
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, w.made.count("pay.refund"))
	require.Len(t, refused, 15)
	for range 15 {
		require.ErrorIs(t, <-refused, fault.ApprovalRequired)
	}
	w.same("r1")
}

func TestAScopeNeverWidensARule(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow, `rules:
  - {id: big, before: pay.refund, approve: "Refund?", for: {at_most: 1, within: 10m}}
  - {id: no, before: pay.refund, when: "input.order == 'N'", deny: true}
  - {id: few, before: pay.refund, at_most: 2}`)
	w.plan("r1", true, "A", "B")
	require.ErrorIs(t, w.refund("r1", "N", 5), fault.RuleRefused)
	require.NoError(t, w.refund("r1", "A", 5))
	require.ErrorIs(t, w.refund("r1", "A", 5), fault.ApprovalRequired, "the rule's yes counts once for an equal call")
	w.now = w.now.Add(11 * time.Minute)
	require.ErrorIs(t, w.refund("r1", "B", 5), fault.ApprovalRequired, "the rule's yes counts for 10 minutes")
	w.same("r1")

	w.plan("r2", true, "A", "B", "C")
	require.NoError(t, w.refund("r2", "A", 5))
	require.NoError(t, w.refund("r2", "B", 5))
	require.ErrorIs(t, w.refund("r2", "C", 5), fault.RuleRefused, "at_most holds")
}

func TestAConditionThatFailsCoversNothing(t *testing.T) {
	w := newScopedWorld(t, strings.Replace(scopedWorkflow, "input.amount <= params.limit", "input.customer.age > 17", 1))
	w.plan("r1", true, "A")
	err := w.refund("r1", "A", 5)
	require.ErrorIs(t, err, fault.ApprovalRequired)
	require.Contains(t, asJSON(t, fault.From(err)), "where cannot be computed")
	require.Zero(t, w.made.count("pay.refund"))
}

// Machines that share the runs share no lock of the rules: the records decide.
func TestTheFirstRecordUsesAnApproval(t *testing.T) {
	once := strings.Replace(scopedWorkflow, "at_most: 3", "at_most: 1", 1)
	w := newScopedWorld(t, once)
	w.plan("r1", true, "A", "B")
	other := *w
	other.open(once)
	call := think.ScopedCall{Tool: "pay.refund", Input: map[string]any{"order": "A", "amount": 5}, Driven: true}
	found, err := w.engine.Coverage(t.Context(), state.Key{Workflow: "refunds", Run: "r1"}, call)
	require.NoError(t, err)
	require.Empty(t, found[0].Over)
	var group sync.WaitGroup
	used := make(chan error, 8)
	for i := range 8 {
		engine := []*think.Engine{w.engine, other.engine}[i%2]
		group.Go(func() { used <- engine.Use(context.Background(), found[0], call, think.Caller{}) })
	}
	group.Wait()
	refused := 0
	for range 8 {
		if err := <-used; err != nil {
			require.ErrorIs(t, err, fault.ApprovalRequired)
			refused++
		}
	}
	require.Equal(t, 7, refused)
	w.same("r1")
}

// A question that a workflow asks, beside rules that ask nothing, is computed again.
func TestAWorkflowsQuestionIsVerified(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow, `rules: [{id: few, before: pay.refund, at_most: 9}]`)
	w.plan("r1", true, "A")
	require.ErrorIs(t, w.refund("r1", "A", 500), fault.ApprovalRequired)
	waiting, err := w.keeper.Questions()
	require.NoError(t, err)
	require.Equal(t, []string{"The approval of step agree does not cover this call. Make it?"}, waiting[0].Texts)
	_, err = w.keeper.Answer(t.Context(), waiting[0].Name, true, "hub")
	require.NoError(t, err)
	require.NoError(t, w.refund("r1", "A", 500))
	w.same("r1")
}

// An approval that was given elsewhere covers nothing here.
func TestAnImportedApprovalCoversNothing(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow, askAboutRefunds)
	w.plan("r1", true, "A")
	key := state.Key{Workflow: "refunds", Run: "r1"}
	version, hash, err := w.store.Head(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, w.store.MarkImported(t.Context(), key, state.Link{Version: version, Hash: hash}))
	require.ErrorIs(t, w.refund("r1", "A", 5), fault.ApprovalRequired)
	require.Zero(t, w.made.count("pay.refund"))
	explained, err := w.engine.ExplainAny(t.Context(), think.ExplainInput{Workflow: "refunds", RunID: "r1", StepID: "agree"})
	require.NoError(t, err)
	require.Contains(t, asJSON(t, explained), `"over":"it was given elsewhere, and imported"`)
}

func asJSON(t *testing.T, value any) string {
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}

// A client that follows two runs of one workflow, of which a person approved one, calls in
// the other: the server cannot tell the runs of a call but by what they issued.
func TestAClientsCallIsCoveredByTheRunThatIssuedIt(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow)
	client := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "c1"}}}
	w.plan("r1", true, "A")
	for run, orders := range map[string][]any{"r1": {"A"}, "r2": {"B"}} { // the client names both
		_, err := w.engine.Plan(t.Context(), think.PlanInput{Workflow: "refunds", RunID: run, Params: map[string]any{"orders": orders}, Caller: guide.Caller(client)})
		require.NoError(t, err)
	}
	require.ErrorIs(t, invoke(w.registry, client, "pay.refund", `{"order":"B","amount":5}`), fault.ApprovalRequired)
	require.NoError(t, invoke(w.registry, client, "pay.refund", `{"order":"A","amount":5}`))
	stranger := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "c2"}}}
	require.NoError(t, invoke(w.registry, stranger, "pay.refund", `{"order":"A","amount":5}`), "nobody asks where no run and no rule does")
	w.write(askAboutRefunds)
	require.ErrorIs(t, invoke(w.registry, stranger, "pay.refund", `{"order":"A","amount":5}`), fault.ApprovalRequired, "the run of another client covers nothing")
}

// Somebody who writes a use into the records, which the approval does not cover, is found.
func TestAForgedUseIsFound(t *testing.T) {
	w := newScopedWorld(t, scopedWorkflow)
	w.plan("r1", true, "A")
	key := state.Key{Workflow: "refunds", Run: "r1"}
	records, err := w.store.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	last := records[len(records)-1]
	_, err = w.store.Append(t.Context(), key, state.Record{Version: last.Version + 1, Kind: think.KindUsed, Status: last.Status, State: last.State,
		Time: w.now.UTC().Format(time.RFC3339Nano), Data: json.RawMessage(fmt.Sprintf(`{"step":"agree","approval":%d,"tool":"pay.refund","input":{"amount":500}}`, last.Version))})
	require.NoError(t, err)
	records, err = w.store.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	_, found, err := audit.New(w.engine).Verify(t.Context(), key, records)
	require.NoError(t, err)
	require.NotNil(t, found)
	require.Contains(t, found.Replayed, "does not cover the call")
}
