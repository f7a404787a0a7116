package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/rules"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/gate"
	"savant/think/state"
)

// ruledWorkflow looks orders up, and has rules about refunds.
const ruledWorkflow = `name: refunds
version: "1.0"
params: {orders: {type: array, required: true}, limit: {type: integer, default: 100}}
rules:
  evidence:
    seen: {last: orders.get, where: {order: input.order}}
  rules:
    - {id: seen, before: pay.refund, require: [{needs: seen, that: "seen.result.amount == input.amount"}]}
    - {id: limit, before: pay.refund, require: "input.amount <= params.limit"}
    - {id: listed, before: pay.refund, when: "state.chosen != nil", require: "input.order in state.chosen.list"}
    - {id: once, before: pay.refund, once: input.order}
steps:
  - {id: choose, call: llm.generate, input_template: {task: choose}, capture_as: chosen}
  - {id: end, call: llm.generate, input_template: {task: end}}
`

// published are tools as rules are checked against.
type published map[string]rules.Tool

func (p published) Names() (names []string) {
	for name := range p {
		names = append(names, name)
	}
	return names
}

func (p published) Tool(name string) (rules.Tool, bool) { tool, known := p[name]; return tool, known }

// ruledWorld is a scopedWorld whose workflow has rules, with a tool to look orders up.
func newRuledWorld(t *testing.T, workflow string, lines ...string) *scopedWorld {
	w := newScopedWorld(t, workflow, lines...)
	w.look()
	return w
}

func (w *scopedWorld) look() {
	require.NoError(w.t, w.registry.Add(engines.Bind("orders.get", "A tool.", func(_ context.Context, in arguments) (map[string]any, error) {
		return map[string]any{"order": in.Order, "amount": in.Amount}, nil
	})))
}

// begin plans a run as a client does.
func (w *scopedWorld) begin(call engines.Call, run string, params map[string]any) {
	w.t.Helper()
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "refunds", RunID: run, Params: params, Caller: guide.Caller(call)})
	require.NoError(w.t, err)
}

// answer answers a step of a run.
func (w *scopedWorld) answer(call engines.Call, run, step, result string) {
	w.t.Helper()
	_, err := w.engine.Next(w.t.Context(), think.NextInput{RunID: run, StepID: step, ResultSnapshot: json.RawMessage(result), Caller: guide.Caller(call)})
	require.NoError(w.t, err)
}

func refundOf(order string, amount int) string {
	return fmt.Sprintf(`{"order":%q,"amount":%d}`, order, amount)
}

// callers are all ways in which a run has calls: of a client's connection, of the agent, and
// of the steps that Savant carries out.
func callers() map[string]engines.Call {
	return map[string]engines.Call{
		"client": {Caller: engines.Caller{Identity: engines.Identity{ID: "c1"}}},
		"agent":  {Agent: engines.AgentStep{RunID: "a1", Step: 3}},
		"driven": {Step: engines.WorkflowStep{Workflow: "refunds", RunID: "r1", StepID: "end"}},
		"nested": {Step: engines.WorkflowStep{Workflow: "other", RunID: "x", StepID: "s"}, Waiting: []engines.Run{{Workflow: "refunds", RunID: "r1"}}},
	}
}

// TestTheRulesOfAWorkflowHoldWhileItsRunIsOpen for the calls of the run, with the same
// verdicts in each way, and for nobody else's.
func TestTheRulesOfAWorkflowHoldWhileItsRunIsOpen(t *testing.T) {
	for name, call := range callers() {
		t.Run(name, func(t *testing.T) {
			w := newRuledWorld(t, ruledWorkflow)
			refund := func(order string, amount int) error {
				return invoke(w.registry, call, "pay.refund", refundOf(order, amount))
			}
			refused := func(err error, rule string) {
				t.Helper()
				require.ErrorIs(t, err, fault.RuleRefused)
				require.Contains(t, fault.From(err).Message(), "Rule "+rule+" (workflows/refunds.yml:")
			}
			if name == "client" || name == "agent" {
				require.NoError(t, refund("before the run", 5))
			}
			w.begin(call, "r1", map[string]any{"orders": []any{"A"}})
			refused(refund("A", 5), "seen")
			require.Empty(t, w.keeper.ToolNotes()("pay.refund")+w.keeper.Notes(), "nobody else reads of the run's rules")
			require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("A", 500)))
			refused(refund("A", 500), "limit")
			require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("A", 5)))
			require.NoError(t, refund("A", 5))
			refused(refund("A", 5), "once")
			w.answer(call, "r1", "choose", `{"list":["B"]}`)
			require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("C", 5)))
			refused(refund("C", 5), "listed")
			require.ErrorContains(t, refund("C", 5), "(as the run stands)")
			require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("B", 5)))
			require.NoError(t, refund("B", 5))
			stranger := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "c2"}}}
			require.NoError(t, invoke(w.registry, stranger, "pay.refund", refundOf("C", 5)))
			w.same("r1")

			w.answer(call, "r1", "end", `"ended"`)
			require.NoError(t, refund("C", 500))
			w.same("r1")
			verified, err := w.keeper.Verify(func(string) bool { return false }, "refunds/r1")
			require.NoError(t, err)
			require.Equal(t, []int{11, 5}, []int{verified[0].Decisions, verified[0].Refused}, "%+v", verified)
		})
	}
}

// TestEachRunHasItsOwnLimits of the workflow's rules, and those of a second version hold for
// the runs that follow it.
func TestEachRunHasItsOwnLimits(t *testing.T) {
	w := newRuledWorld(t, ruledWorkflow)
	call := callers()["client"]
	for _, run := range []string{"r1", "r2"} {
		w.begin(call, run, map[string]any{"orders": []any{}})
		require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("A", 5)))
		require.NoError(t, invoke(w.registry, call, "pay.refund", refundOf("A", 5)), run)
		require.ErrorIs(t, invoke(w.registry, call, "pay.refund", refundOf("A", 5)), fault.RuleRefused)
		w.answer(call, run, "choose", `{"list":["A"]}`)
		w.answer(call, run, "end", `"ended"`)
	}
	w.same("r1")
	w.same("r2")
}

// TestTheRulesOfAWorkflowHoldWithThoseOfTheFolder, after a restart, too, once the client
// names its run.
func TestTheRulesOfAWorkflowHoldWithThoseOfTheFolder(t *testing.T) {
	w := newRuledWorld(t, ruledWorkflow, `rules: [{id: small, before: pay.refund, require: "input.amount < 50"}]`)
	call := callers()["client"]
	w.begin(call, "r1", map[string]any{"orders": []any{}, "limit": 200})
	require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("A", 60)))
	err := invoke(w.registry, call, "pay.refund", refundOf("A", 60))
	require.Contains(t, fault.From(err).Message(), "Rule small (rules/")
	require.NotContains(t, fault.From(err).Message(), "Rule limit")
	w.open(ruledWorkflow)
	w.look()
	w.answer(call, "r1", "choose", `{"list":[]}`)
	err = invoke(w.registry, call, "pay.refund", refundOf("A", 40))
	require.Contains(t, fault.From(err).Message(), "Rule seen")
	require.Contains(t, fault.From(err).Message(), "Rule listed")
	w.same("r1")
}

// TestAWorkflowsRulesAreCheckedWithIt: what is wrong is told at its line before a run.
func TestAWorkflowsRulesAreCheckedWithIt(t *testing.T) {
	head := "name: refunds\nversion: \"1.0\"\nparams: {limit: {type: integer}}\nsteps: [{id: a, call: llm.generate, input_template: {task: x}, capture_as: got}]\n"
	for lines, want := range map[string]string{
		"rules: []":         "5:1 rules needs a list of 1 to 1000 rules",
		"rules: {rule: []}": `5:9 no key is named "rule" here: did you mean "rules"?`,
		"rules: [{id: a, before: pay.refund, deny: true, whem: 'x'}]":                                                                 `5:49 no key is named "whem" here: did you mean "when"?`,
		"rules: [{id: a, before: pay.refund, require: 'input.x < params.limt'}]":                                                      `5:64 there is no parameter "limt": did you mean params.limit?`,
		"rules: [{id: a, before: pay.refund, require: 'state.gott == 1'}]":                                                            `did you mean state.got?`,
		"rules: [{id: a, before: pay.refund, require: 'len(params) == 1'}]":                                                           "params cannot be read as a whole",
		"rules: {success: {pay.refund: 'params.limit > 1'}, rules: [{id: a, before: pay.refund, deny: true}]}":                        "params",
		"rules: {evidence: {e: {last: pay.refund}}, rules: [{id: a, before: pay.refund, require: {needs: e}}]}":                       "rule a can never be met",
		"rules: [{id: a, before: pay.refnd, deny: true}]":                                                                             `nothing publishes "pay.refnd": did you mean "pay.refund"?`,
		"rules: {evidence: {e: {last: git.fetched}}, rules: [{id: a, before: pay.refund, require: {needs: e}}]}":                      `nothing publishes "git.fetched"`,
		"rules: {evidence: {state: {last: pay.refund}}, rules: [{id: a, before: pay.refund, deny: true}]}":                            "the name \"state\" cannot be used",
		"rules: [{id: a, before: pay.refund, require: 'input.x < params.limit and state.got?.y == 2'}]":                               "",
		"rules: {facts: {most: 3}, rules: [{id: a, before: pay.refund, at_most: 3, per: params.limit, approve: '{{ state.got }}?'}]}": "",
	} {
		w := newScopedWorld(t, ruledWorkflow)
		found, err := w.engine.Validate(t.Context(), think.ValidateInput{WorkflowYAML: head + lines + "\n"})
		require.NoError(t, err)
		told := ""
		for _, each := range found.Diagnostics() {
			told += fmt.Sprintf("%d:%d %s\n", each.Line, each.Column, each.Message)
		}
		require.Contains(t, told, want, lines)
		require.Equal(t, want == "" || told != "" && len(found.Errors) == 0, found.Valid, "%s: %s", lines, told)
	}
}

// TestWithoutAReaderOfRulesNoRunIsPlanned: rules that nothing makes hold are not ignored.
func TestWithoutAReaderOfRulesNoRunIsPlanned(t *testing.T) {
	w := newScopedWorld(t, ruledWorkflow)
	w.engine.Rules = nil
	_, err := w.engine.Plan(t.Context(), think.PlanInput{Workflow: "refunds", Params: map[string]any{"orders": []any{}}})
	require.ErrorContains(t, err, "nothing here makes them hold")
}

var _ think.Rules = (*sessions.Workflows)(nil)

// TestARunIsNoWayAroundTheRulesOfAnother: what a client has Savant drive while it follows a
// run with rules is held to them, and what another one has it drive is not.
func TestARunIsNoWayAroundTheRulesOfAnother(t *testing.T) {
	w := newRuledWorld(t, ruledWorkflow)
	call := callers()["client"]
	w.begin(call, "r1", map[string]any{"orders": []any{}})
	at := engines.Run{Workflow: "other", RunID: "x"}
	step := engines.WorkflowStep{Workflow: at.Workflow, RunID: at.RunID, StepID: "s"}
	for id, held := range map[string]bool{"c1": true, "c2": false} {
		driven := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: id}}, Waiting: []engines.Run{at}, Step: step}
		err := invoke(w.registry, driven, "pay.refund", refundOf("A", 500))
		require.Equal(t, held, err != nil, id)
		if held {
			require.ErrorIs(t, err, fault.RuleRefused)
			require.Contains(t, fault.From(err).Message(), "Rule limit (workflows/refunds.yml:")
		}
	}
	w.same("r1")
}

// TestNoOtherCallIsAWayAroundTheRulesOfAWorkflow: the same call in another spelling, order
// or batch, and calls that are made at once.
func TestNoOtherCallIsAWayAroundTheRulesOfAWorkflow(t *testing.T) {
	w := newRuledWorld(t, ruledWorkflow)
	call := callers()["client"]
	w.begin(call, "r1", map[string]any{"orders": []any{}})
	require.NoError(t, invoke(w.registry, call, "orders.get", refundOf("A", 5)))
	answers := make(chan error)
	inputs := []string{refundOf("A", 5), `{"amount":5,"order":"A"}`, `{"amount":5.0,"order":"\u0041"}`, `{ "amount" : 5e0, "order":"A" }`}
	for _, input := range inputs {
		go func() { answers <- invoke(w.registry, call, "pay.refund", input) }()
	}
	passed := 0
	for range inputs {
		if err := <-answers; err == nil {
			passed++
		} else {
			require.ErrorIs(t, err, fault.RuleRefused)
		}
	}
	require.Equal(t, 1, passed, "of calls that are made at once, one is the first")
	for _, name := range []string{"pay_refund", "Pay.Refund", "mcp__savant__pay_refund", " pay.refund"} {
		require.Error(t, invoke(w.registry, call, name, refundOf("A", 5)), name)
	}
	require.Equal(t, 1, w.made.count("pay.refund"))
	w.same("r1")
}

// TestRulesThatReadTooMuchOfARunRefuse: what they read is recorded with each call. A hook says
// so, too.
func TestRulesThatReadTooMuchOfARunRefuse(t *testing.T) {
	w := newRuledWorld(t, ruledWorkflow)
	call := callers()["client"]
	w.begin(call, "r1", map[string]any{"orders": []any{}})
	w.answer(call, "r1", "choose", `{"list":["`+strings.Repeat("A", 70_000)+`"]}`)
	require.ErrorContains(t, invoke(w.registry, call, "pay.refund", refundOf("A", 5)), "read more than 65536 bytes")
	decided := w.keeper.Ask(t.Context(), gate.Event{Client: "codex", Session: "s", Kind: gate.BeforeTool, Tool: "shell"})
	require.Equal(t, gate.Pass, decided.Verdict, "it is no session of the run")
	root, err := os.OpenRoot(w.folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	hooks := sessions.Open(sessions.Options{Files: root.FS(), Root: root, Logger: slog.New(slog.DiscardHandler), Now: w.clock, Process: sessions.OfHooks, Rulings: followsRun{w.engine}})
	decided = hooks.Ask(t.Context(), gate.Event{Client: "codex", Session: "s", Kind: gate.BeforeTool, Tool: "shell"})
	require.Equal(t, gate.Refuse, decided.Verdict)
	require.Contains(t, decided.Reason, "read more than 65536 bytes")
}

// followsRun are the runs of a session that follows refunds/r1.
type followsRun struct{ engine *think.Engine }

func (f followsRun) Rulings(ctx context.Context, _ engines.Call) ([]think.Ruling, error) {
	return f.engine.Rulings(ctx, state.Key{Workflow: "refunds", Run: "r1"})
}
