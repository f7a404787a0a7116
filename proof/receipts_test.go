package proof_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/proof"
	"savant/think"
	"savant/think/state"
)

const twice = `name: twice
version: "1.0"
steps:
  - {id: first, call: tool.status, witness: required}
  - {id: second, call: tool.status, deps: [first], witness: required}
`

// witnessedTwice is a run with two calls that were witnessed, with equal results.
func (w *world) witnessedTwice() *proof.Statement {
	w.t.Helper()
	caller, result := think.Caller{Name: think.ByLocal}, json.RawMessage(`{"ok":true}`)
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "twice", RunID: "t1", Caller: caller})
	require.NoError(w.t, err)
	for _, each := range [][2]string{{"first", "firstaaa"}, {"second", "secondaa"}} {
		require.NoError(w.t, w.store.PutReceipt(w.t.Context(), state.Receipt{ID: each[1], Tool: "tool.status", Input: digestOf(json.RawMessage("{}")), Output: digestOf(result), Result: result, Time: w.engine.Now()}))
		_, err = w.engine.Next(w.t.Context(), think.NextInput{RunID: "t1", StepID: each[0], ResultRef: each[1], Caller: caller})
		require.NoError(w.t, err)
	}
	return w.statement(state.Key{Workflow: "twice", Run: "t1"})
}

// receipts are proofs whose receipts were left out, moved, doubled or mixed up.
func (f *forger) receipts() {
	w := newWorld(f.t, map[string]string{"twice": twice})
	from := w.witnessedTwice()
	require.Len(f.t, from.Predicate.Receipts, 2)
	f.add("a true one, with two receipts", "", sealed(f.t, from, f.ada))
	for i := range 2 {
		f.forge("receipts: one left out, and its step still claimed as seen", proof.BadClaim, from, func(s *proof.Statement) { s.Predicate.Receipts = slices.Delete(s.Predicate.Receipts, i, i+1) })
		f.forge("receipts: one left out, and its step claimed as recorded", "", from, func(s *proof.Statement) {
			s.Predicate.Receipts = slices.Delete(s.Predicate.Receipts, i, i+1)
			s.Predicate.Claims[i].Grade = proof.Recorded
		})
		f.forge("receipts: a step with a receipt claimed as recorded", proof.BadClaim, from, func(s *proof.Statement) { s.Predicate.Claims[i].Grade = proof.Recorded })
	}
	for name, change := range map[string]func(all []proof.Receipt) []proof.Receipt{
		"in another order": func(all []proof.Receipt) []proof.Receipt { slices.Reverse(all); return all },
		"one twice":        func(all []proof.Receipt) []proof.Receipt { return append(all, all[0]) },
		"the last twice":   func(all []proof.Receipt) []proof.Receipt { return append(all, all[1]) },
		"ids swapped":      func(all []proof.Receipt) []proof.Receipt { all[0].ID, all[1].ID = all[1].ID, all[0].ID; return all },
		"without an id":    func(all []proof.Receipt) []proof.Receipt { all[1].ID = ""; return all },
		"a look-alike id":  func(all []proof.Receipt) []proof.Receipt { all[1].ID = "second\u0430a"; return all },
	} {
		f.forge("receipts: "+name, proof.BadReceipt, from, func(s *proof.Statement) { s.Predicate.Receipts = change(s.Predicate.Receipts) })
	}
	f.forge("receipts: a record that names none, chained anew", alike, from, func(s *proof.Statement) {
		s.Predicate.Records[1] = strings.Replace(s.Predicate.Records[1], `"receipt":"firstaaa"`, `"receipt":""`, 1)
		s.Predicate.Receipts[0].ID = ""
		chained(s)
	})
}

// older is the payload of a statement in the version before, which has no rules.
func older(t testing.TB, s *proof.Statement) []byte {
	t.Helper()
	rules, err := json.Marshal(s.Predicate.Rules)
	require.NoError(t, err)
	payload := payloadOf(t, s)
	require.Contains(t, string(payload), `"rules":`+string(rules)+`,"run":`)
	payload = bytes.Replace(payload, []byte(`"rules":`+string(rules)+`,"run":`), []byte(`"run":`), 1)
	return bytes.Replace(payload, []byte(typed(proof.PredicateType)), []byte(typed("urn:savant:proof:v3")), 1)
}

func typed(kind string) string { return `"predicateType":"` + kind + `"` }

// before are proofs of the version before, which still count, and forgeries of them.
func (f *forger) before() {
	for name, from := range map[string]*proof.Statement{"a run": f.plain, "a redacted run": f.red, "the agent": f.agent, "an import": f.imported, "rounds": f.looped} {
		payload := older(f.t, from)
		f.add("a true one of the version before, of "+name, "", f.whole(payload))
		f.add("the version before under the name of this one, of "+name, proof.BadStatement, f.whole(bytes.Replace(payload, []byte(typed("urn:savant:proof:v3")), []byte(typed(proof.PredicateType)), 1)))
		f.add("this version under the name of the one before, of "+name, proof.BadStatement, f.whole(bytes.Replace(payloadOf(f.t, from), []byte(typed(proof.PredicateType)), []byte(typed("urn:savant:proof:v3")), 1)))
	}
	s := proof.Verify(f.t.Context(), f.file, trusting(f.ada), nil).Statement
	s.Predicate.Receipts = nil
	f.add("one of the version before, without its receipts", "", f.whole(older(f.t, s)))
	s.Predicate.Claims[0].Grade = proof.Recorded
	f.add("one of the version before, with a grade that it does not have", proof.BadClaim, f.whole(older(f.t, s)))
	s.Predicate.Claims[0].Grade = proof.Said
	f.add("one of the version before, with a grade that is too low", proof.BadClaim, f.whole(older(f.t, s)))
}

// TestAStepWithoutItsReceiptIsTheSignersWord leaves the receipts out of a proof, of this
// version and of the one before: no step is gateway any more, and no demand for it is met.
func TestAStepWithoutItsReceiptIsTheSignersWord(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	s := w.statement(w.shipped("r1", greeting))
	ada := signerOf(t, 'a')
	f := forger{t: t, ada: ada}
	s.Predicate.Receipts = nil
	before := f.whole(older(t, s))
	refused := proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), replayer(t))
	require.NotNil(t, refused.Reason)
	require.Equal(t, proof.BadClaim, refused.Reason.Code)
	s.Predicate.Claims[0].Grade = proof.Recorded
	for _, file := range [][]byte{before, sealed(t, s, ada)} {
		report := proof.Verify(t.Context(), file, trusting(ada), replayer(t))
		require.Nil(t, report.Reason)
		require.True(t, report.Replayed)
		require.Zero(t, report.Counts[proof.Gateway])
		require.Equal(t, 1, report.Counts[proof.Recorded])
		require.Contains(t, report.Limits, "1 step is the signer's word: the record says that Savant saw the call, and its receipt is not in the proof")
		for _, asked := range []string{"status", "status=gateway"} {
			required, ok := proof.ParseRequirement(asked)
			require.True(t, ok)
			found, err := proof.Demand{Commit: head, Required: []proof.Requirement{required}}.Check(report)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, proof.NotKnown, found[0].Code)
		}
	}
}

// TestAProofHasTheRulesThatHeld reads the texts of rules in a proof, and redacts them.
func TestAProofHasTheRulesThatHeld(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	s := w.statement(w.shipped("r1", greeting))
	ada := signerOf(t, 'a')
	report := proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), nil)
	require.Nil(t, report.Reason)
	require.Equal(t, "rules/push.yaml", report.Rules[0].File)
	require.Contains(t, report.Rules[0].Text, "deny: true")
	_, err := proof.Redact(s, []string{"for Ada"})
	require.NoError(t, err)
	report = proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), replayer(t))
	require.Nil(t, report.Reason)
	require.True(t, report.Replayed)
	require.Regexp(t, "^redacted:[0-9a-f]{64}$", report.Rules[0].Text)
}
