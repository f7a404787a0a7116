package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// TestAReceiptIsOfTheCallThatWasAskedFor makes proofs of calls that failed, or that a tool got
// without the members that are null: their receipts are in them. One of another call under
// the id is not.
func TestAReceiptIsOfTheCallThatWasAskedFor(t *testing.T) {
	const failing = `name: failing
version: "1.0"
params: {since: {type: string, default: null}}
steps:
  - {id: fails, call: tool.status, on_failure: continue, retry: {max: 0}}
  - {id: reads, call: tool.log, deps: [fails], input_template: {since: "{{ params.since }}", limit: 2}}
`
	w := newWorld(t, map[string]string{"failing": failing})
	caller := think.Caller{Name: think.ByLocal}
	_, err := w.engine.Plan(t.Context(), think.PlanInput{Workflow: "failing", RunID: "f1", Caller: caller})
	require.NoError(t, err)
	answer := func(step string, made state.Receipt) {
		t.Helper()
		made.Output, made.Time = digestOf(made.Result), w.engine.Now()
		require.NoError(t, w.store.PutReceipt(t.Context(), made))
		_, err = w.engine.Next(t.Context(), think.NextInput{RunID: "f1", StepID: step, ResultRef: made.ID, Caller: caller})
		require.NoError(t, err)
	}
	answer("fails", state.Receipt{ID: "failsaaa", Tool: "tool.status", Input: digestOf(json.RawMessage("{}")), Failed: true, Result: json.RawMessage(`{"error":"TOOL_FAILED","details":"no"}`)})
	answer("reads", state.Receipt{ID: "readsaaa", Tool: "tool.log", Input: digestOf(json.RawMessage(`{"limit":2}`)), Result: json.RawMessage(`[]`)})
	s := w.statement(state.Key{Workflow: "failing", Run: "f1"})
	require.Equal(t, map[proof.Grade]int{proof.Gateway: 2}, proof.Count(s.Predicate.Claims))
	require.True(t, s.Predicate.Receipts[0].Failed)
	ada := signerOf(t, 'a')
	require.Nil(t, proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), replayer(t)).Reason)
	require.Equal(t, []string{"verified"}, inPython(t, [][]byte{sealed(t, s, ada)}, nil, ada))
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
	for name, change := range map[string]func(one *proof.Receipt){
		"of another tool":            func(one *proof.Receipt) { one.Tool = "tool.other" },
		"of the tool in capitals":    func(one *proof.Receipt) { one.Tool = "tool.Status" },
		"of no tool":                 func(one *proof.Receipt) { one.Tool = "" },
		"of another input":           func(one *proof.Receipt) { one.Input = strings.Repeat("0", 64) },
		"of an input that is hidden": func(one *proof.Receipt) { one.Input = "redacted:" + strings.Repeat("0", 64) },
		"of before the step asked":   func(one *proof.Receipt) { one.Time = "2026-01-02T03:04:04Z" },
		"of a moment before": func(one *proof.Receipt) {
			one.Time = from.Predicate.Records[0][strings.Index(from.Predicate.Records[0], `"time":"`)+8:][:18] + "4.999999999Z"
		},
		"of no time":                  func(one *proof.Receipt) { one.Time = "later" },
		"of a time with another zone": func(one *proof.Receipt) { one.Time = "2026-01-02T03:04:59+00:00" },
	} {
		f.forge("receipts: "+name, proof.BadReceipt, from, func(s *proof.Statement) { change(&s.Predicate.Receipts[0]) })
	}
	f.forge("receipts: a command where the run is held to none", "", from, func(s *proof.Statement) {
		s.Predicate.Receipts[0].Command, s.Predicate.Receipts[0].CommandDigest = "test", "x"
	})
	held := func(name string, code proof.Code, commands, command, digest string) {
		f.forge("receipts: "+name, code, from, func(s *proof.Statement) {
			s.Predicate.Records[0] = strings.Replace(s.Predicate.Records[0], `"pins":`, `"commands":`+commands+`,"pins":`, 1)
			s.Predicate.Receipts[0].Command, s.Predicate.Receipts[0].CommandDigest = command, digest
			chained(s)
		})
	}
	held("of the command that the run is held to", unreplayed, `{"test":"x"}`, "test", "x")
	held("of a command that was changed", proof.BadReceipt, `{"test":"x"}`, "test", "y")
	held("of another command", proof.BadReceipt, `{"test":"x"}`, "other", "x")
	held("of a command that every object has", proof.BadReceipt, `{"test":"x"}`, "constructor", "x")
	held("of no command", unreplayed, `{"test":"x"}`, "", "")
	held("of commands that are no texts", proof.BadStatement, `{"test":7}`, "test", "x")
	replied := func(code proof.Code, i int, old, text string) {
		f.forge(fmt.Sprintf("receipts: record %d: %q for %q, chained anew", i+1, text, old), code, from, func(s *proof.Statement) {
			require.Contains(f.t, s.Predicate.Records[i], old)
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
			chained(s)
		})
	}
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.other","input":{}`)
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.status","input":{"n":1}`)
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.status","input":[]`)
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.status"`)
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.status","input":{"n":1e400}`)
	replied(proof.BadReceipt, 0, `"call":"tool.status","input":{}`, `"call":"tool.status","input":{"":{"n":null}}`)
	replied(unreplayed, 0, `"call":"tool.status","input":{}`, `"call":"tool.status","input":{"n":null,"__proto__":null}`)
	replied(unreplayed, 0, `"call":"tool.status","input":{}`, `"call":7,"input":{"n":1}`) // no instruction that is read
	replied(unreplayed, 0, `"call":"tool.status","input":{}`, `"call":"\ud800","input":{"n":1}`)
	replied(proof.BadReceipt, 1, `"result":{"ok":true}`, `"result":{"isError":true}`)
	replied(proof.BadReceipt, 1, `"step":"first"`, `"step":"first","status":"failed"`)
	replied(proof.BadReceipt, 1, `"step":"first"`, `"step":"first","call":"tool.other"`)
	replied(unreplayed, 1, `"result":{"ok":true}`, `"result":{"isError":1,"__proto__":{"isError":true}}`)
	replied(unreplayed, 1, `"result":{"ok":true}`, `"result":[{"isError":true}]`)
	artifact := func(code proof.Code, text string) { // names in the end of a run
		f.forge("an end with "+text, code, f.plain, func(s *proof.Statement) {
			s.Predicate.Records[3] = strings.Replace(s.Predicate.Records[3], `"artifacts":[]`, `"artifacts":[`+text+`]`, 1)
			chained(s)
		})
	}
	artifact(alike, `{"name":"a","sha256":"\ufffd"}`)
	artifact(alike, `{"name":"\ud800","sha256":"a"}`)
	artifact(alike, `{"name":null,"sha256":"a"}`)
	artifact(alike, `{"name":"a"},[]`)
	f.forge("a commit as seen whose receipt is left out", proof.BadSubject, f.plain, func(s *proof.Statement) {
		s.Predicate.Receipts, s.Predicate.Claims[0].Grade = nil, proof.Recorded
	})
	f.forge("receipts: a record that names none, chained anew", alike, from, func(s *proof.Statement) {
		s.Predicate.Records[1] = strings.Replace(s.Predicate.Records[1], `"receipt":"firstaaa"`, `"receipt":""`, 1)
		s.Predicate.Receipts[0].ID = ""
		chained(s)
	})
}

// before are proofs of the version before, which had no rules, and did not hold receipts
// against the calls that were asked for.
func (f *forger) before() {
	kind := `"predicateType":"` + proof.PredicateType + `"`
	for name, from := range map[string]*proof.Statement{"a run": f.plain, "the agent": f.agent} {
		rules, err := json.Marshal(from.Predicate.Rules)
		require.NoError(f.t, err)
		payload := payloadOf(f.t, from)
		require.Contains(f.t, string(payload), kind)
		payload = bytes.Replace(payload, []byte(kind), []byte(strings.Replace(kind, "v4", "v3", 1)), 1)
		f.add("under the name of the version before, "+name, proof.BadStatement, f.whole(payload))
		require.Contains(f.t, string(payload), `"rules":`+string(rules)+`,"run":`)
		f.add("the version before, "+name, proof.BadStatement, f.whole(bytes.Replace(payload, []byte(`"rules":`+string(rules)+`,"run":`), []byte(`"run":`), 1)))
	}
}

// TestAStepWithoutItsReceiptIsTheSignersWord leaves the receipts out of a proof: no step is
// gateway any more, the run has seen no commit, and no demand for either is met.
func TestAStepWithoutItsReceiptIsTheSignersWord(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	s := w.statement(w.shipped("r1", greeting))
	ada := signerOf(t, 'a')
	s.Predicate.Receipts = nil
	refused := func(code proof.Code) {
		t.Helper()
		report := proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), replayer(t))
		require.NotNil(t, report.Reason)
		require.Equal(t, code, report.Reason.Code)
	}
	refused(proof.BadClaim)
	s.Predicate.Claims[0].Grade = proof.Recorded
	refused(proof.BadSubject)
	s.Subject[1].Name = proof.SubjectStated
	report := proof.Verify(t.Context(), sealed(t, s, ada), trusting(ada), replayer(t))
	require.Nil(t, report.Reason)
	require.True(t, report.Replayed)
	require.Zero(t, report.Counts[proof.Gateway])
	require.Equal(t, 1, report.Counts[proof.Recorded])
	require.Contains(t, report.Limits, "1 step is the signer's word: the record says that Savant saw the call, and its receipt is not in the proof")
	require.Contains(t, report.Limits, "the commit is the signer's word: no witnessed result of the run names it")
	for _, asked := range []string{"status", "status=gateway"} {
		required, ok := proof.ParseRequirement(asked)
		require.True(t, ok)
		found, err := proof.Demand{Commit: head, Required: []proof.Requirement{required}}.Check(report)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, proof.NotKnown, found[0].Code)
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
