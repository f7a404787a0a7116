package sessions_test

import (
	"encoding/json"
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
)

// verify computes all decisions of the folder again.
func (w *world) verify() ([]sessions.Verified, error) {
	return w.openHooks().Verify(func(string) bool { return true }, "")
}

// TestDecisionsAreComputedAgain: also those of a call under other rules than now, of a
// lost one, and of one that another session made possible.
func TestDecisionsAreComputedAgain(t *testing.T) {
	w := newWorld(t)
	verified, err := w.verify()
	require.NoError(t, err)
	require.Empty(t, verified)

	w.write(refunds, "  - {id: warned, before: orders.get, deny: true, mode: warn}")
	registry := w.start()
	require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{"order":"A"}`), fault.RuleRefused)
	require.NoError(t, invoke(registry, lasting, "orders.get", `{"order":"A"}`))
	require.NoError(t, invoke(registry, lasting, "pay.refund", `{"order":"A"}`))
	w.now = w.now.Add(time.Second)
	w.write(`evidence: {order: {last: orders.get, where: {order: input.order}, within: 1h}}`, "rules: [{id: seen, before: pay.slow, require: {needs: order}}]")
	require.ErrorIs(t, invoke(registry, lasting, "pay.slow", `{"order":"C"}`), fault.RuleRefused)
	require.NoError(t, invoke(w.start(), lasting, "pay.slow", `{"order":"A"}`))

	verified, err = w.verify()
	require.NoError(t, err)
	require.Equal(t, []sessions.Verified{{Session: "http ann s1", Decisions: 5, Refused: 2}}, verified)
	list, refused, err := w.openHooks().Sessions()
	require.NoError(t, err)
	require.Equal(t, []sessions.Session{{Name: "http ann s1", Calls: 3, Refused: 2, Warned: 1, Last: w.now.UnixMilli()}}, list)
	require.Len(t, refused, 3)
	require.Equal(t, "seen", refused[0].Rules[0].Rule)
	require.True(t, refused[1].Made)

	// What was changed is the first difference.
	whole, err := os.ReadFile(w.journal())
	require.NoError(t, err)
	changed := strings.Replace(string(whole), `"status":"delivered"`, `"status":"pending"`, 1)
	require.NotEqual(t, string(whole), changed)
	require.NoError(t, os.WriteFile(w.journal(), []byte(changed), 0o600))
	verified, err = w.verify()
	require.NoError(t, err)
	require.Equal(t, 4, verified[0].Difference.Record)
	require.Equal(t, "pay.refund", verified[0].Difference.Tool)
	require.Equal(t, "made, order of rule seen is call 1", verified[0].Difference.Recorded)
	require.Contains(t, verified[0].Difference.Computed, `refused, rule seen: order not_met orders.get #1 gave "pending"`)

	// So are rules that are not those that judged.
	kept, err := filepath.Glob(filepath.Join(w.folder, ".savant", "rules", "*.rules"))
	require.NoError(t, err)
	require.Len(t, kept, 2)
	for _, name := range kept {
		require.NoError(t, os.WriteFile(name, []byte(`{"rules/r.yaml":"rules: []"}`), 0o600))
	}
	_, err = w.verify()
	require.ErrorIs(t, err, fault.StateCorrupt)
}

const asking = `rules: [{id: big, before: pay.refund, when: "input.amount > 5", approve: "Refund {{ input.amount }}?", for: {at_most: 2, within: 1h}}]`

// TestAnAnswerComesLater: the question waits, and the answer counts for the exact call, as
// often and as long as the rule says, also in another process.
func TestAnAnswerComesLater(t *testing.T) {
	w := newWorld(t, asking)
	refused := func(args string, code fault.Code, why string) {
		t.Helper()
		err := invoke(w.start(), lasting, "pay.refund", args)
		require.ErrorIs(t, err, code)
		require.ErrorContains(t, err, why)
	}
	answer := func(agreed bool) {
		t.Helper()
		waiting, err := w.openHooks().Questions()
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		require.Equal(t, []string{"Refund 6?"}, waiting[0].Texts)
		require.Equal(t, map[string]any{"amount": 6}, waiting[0].Input)
		_, err = w.openHooks().Answer(t.Context(), waiting[0].Name, agreed, "terminal")
		require.NoError(t, err)
		_, err = w.openHooks().Answer(t.Context(), waiting[0].Name, agreed, "terminal")
		require.ErrorIs(t, err, fault.InvalidTransition, "one answer")
	}
	check := func(decision rules.Decision, says string) { // it uses nothing up
		t.Helper()
		verdict, refusal, err := w.keeper.Check(t.Context(), lasting, "pay.refund", json.RawMessage(`{"amount":6}`))
		require.NoError(t, err)
		require.Equal(t, decision, verdict.Decision)
		require.Equal(t, decision == rules.Refuse, refusal != nil)
		if says != "" {
			require.ErrorContains(t, refusal, says)
		}
	}
	refused(`{"amount":6}`, fault.ApprovalRequired, "savant approve call:")
	check(rules.Ask, "")
	refused(`{"amount":6}`, fault.ApprovalRequired, "Refund 6?")
	answer(false)
	check(rules.Refuse, "the person declined: Refund 6?")
	refused(`{"amount":6}`, fault.RuleRefused, "declined")
	refused(`{"amount":6}`, fault.ApprovalRequired, "Refund 6?")
	answer(true)
	check(rules.Allow, "")
	other := lasting
	other.ID = "http bob s2"
	require.ErrorIs(t, invoke(w.start(), other, "pay.slow", `{"amount":6}`), nil)
	require.ErrorIs(t, invoke(w.start(), other, "pay.refund", `{"amount":6}`), fault.ApprovalRequired, "another session")
	waiting, err := w.openHooks().Questions()
	require.NoError(t, err)
	_, err = w.openHooks().Answer(t.Context(), waiting[0].Name, false, "hub")
	require.NoError(t, err)

	require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{"amount":6}`))
	require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{"amount": 6}`))
	refused(`{"amount":6}`, fault.ApprovalRequired, "Refund 6?")
	answer(true)
	w.now = w.now.Add(time.Hour)
	refused(`{"amount":6}`, fault.ApprovalRequired, "Refund 6?")
	answer(true)
	require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{"amount":6}`))
	require.Equal(t, 3, w.made.of["pay.refund"])
	verified, err := w.verify()
	require.NoError(t, err)
	for _, each := range verified {
		require.Nil(t, each.Difference)
	}

	// A call that nobody approved is a difference.
	source, err := filepath.Glob(filepath.Join(w.folder, ".savant", "rules", "*", "*.journal"))
	require.NoError(t, err)
	found := 0
	for _, name := range source {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var kept []string
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, `"kind":"answer"`) {
				kept = append(kept, line)
			}
		}
		require.NoError(t, os.WriteFile(name, []byte(strings.Join(kept, "")), 0o600))
	}
	verified, err = w.verify()
	require.NoError(t, err)
	for _, each := range verified {
		if each.Difference != nil {
			require.True(t, strings.HasPrefix(each.Difference.Recorded, "made, rule big") || strings.HasPrefix(each.Difference.Recorded, "refused, rule big"))
			found++
		}
	}
	require.Equal(t, 1, found)
}

// TestAFormsAnswerReachesAsFar: what a person approves in a form counts as often as the
// rule says.
func TestAFormsAnswerReachesAsFar(t *testing.T) {
	w := newWorld(t, asking)
	asked := 0
	call := lasting
	call.Person = accepting(&asked)
	for range 3 {
		require.NoError(t, invoke(w.start(), call, "pay.refund", `{"amount":6}`))
	}
	require.Equal(t, 2, asked)
}

// TestTwoProcessesUseUpOneApproval: of calls that are made at once, as many pass as the person
// agreed to, and none once the time is over.
func TestTwoProcessesUseUpOneApproval(t *testing.T) {
	w := newWorld(t, asking)
	processes := []*engines.Registry{w.start(), w.start()}
	call := `{"order":"A","amount":6}`
	agree := func() {
		require.ErrorIs(t, invoke(processes[0], lasting, "pay.refund", call), fault.ApprovalRequired)
		waiting, err := w.openHooks().Questions()
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		_, err = w.openHooks().Answer(t.Context(), waiting[0].Name, true, "terminal")
		require.NoError(t, err)
	}
	agree()
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			if err := invoke(processes[i%2], lasting, "pay.refund", call); err != nil {
				require.ErrorIs(t, err, fault.ApprovalRequired)
			}
		})
	}
	wait.Wait()
	require.Equal(t, 2, w.made.count("pay.refund"))
	waiting, err := w.openHooks().Questions()
	require.NoError(t, err)
	_, err = w.openHooks().Answer(t.Context(), waiting[0].Name, true, "terminal")
	require.NoError(t, err)
	for _, passed := range []time.Duration{time.Hour, -2 * time.Hour} {
		w.now = w.now.Add(passed)
		require.ErrorIs(t, invoke(processes[1], lasting, "pay.refund", call), fault.ApprovalRequired, "its last moment is over, and so it is for a clock that was ahead")
	}
	verified, err := w.verify()
	require.NoError(t, err)
	require.Nil(t, verified[0].Difference)
}

// TestRulesOfOldCallsAreRemoved: with the last call that they judged, and no earlier.
func TestRulesOfOldCallsAreRemoved(t *testing.T) {
	w := newWorld(t, refunds)
	w.now = time.Now()
	other := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "http bob s1", Lasting: true}}}
	require.NoError(t, invoke(w.start(), lasting, "orders.get", `{"order":"A"}`))
	first := w.journal()
	w.write(refunds, "  - {id: small, before: pay.refund, require: \"input.amount < 5\"}")
	require.NoError(t, invoke(w.start(), other, "orders.get", `{"order":"A"}`))
	w.write(refunds, "  - {id: least, before: pay.refund, require: \"input.amount < 1\"}")
	sets, err := filepath.Glob(filepath.Join(w.folder, ".savant", "rules", "*.rules"))
	require.NoError(t, err)
	require.Len(t, sets, 2)
	long := w.now.Add(-100 * 24 * time.Hour)
	for _, each := range append(sets, first) {
		require.NoError(t, os.Chtimes(each, long, long))
	}
	require.NoError(t, invoke(w.start(), other, "orders.get", `{"order":"B"}`))
	sets, err = filepath.Glob(filepath.Join(w.folder, ".savant", "rules", "*.rules"))
	require.NoError(t, err)
	require.Len(t, sets, 2, "the rules of the first session are gone, those of now are there")
	verified, err := w.verify()
	require.NoError(t, err)
	require.Equal(t, []sessions.Verified{{Session: "http bob s1", Decisions: 2}}, verified)
}
