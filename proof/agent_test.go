package proof_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/think/state"
)

// agentRun is a run of the agent: a decision, a call with a receipt, one that failed, one
// that a rule refused, and the end. Values are those that readers of JSON could differ on.
func (w *world) agentRun(run string) *proof.Statement {
	w.t.Helper()
	output := `{"n":12345678901234567890,"big":9007199254740993,"odd":[1e21,1e-7,-0.0,5e-324,0.1],"text":"\u2028\ud83d\ude00</script><img src=x onerror=alert(1)>\u0000","deep":` +
		strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`
	require.NoError(w.t, w.store.PutReceipt(w.t.Context(), state.Receipt{ID: "agentaaa", Tool: "git.push", Input: digestOf(json.RawMessage("{}")), Output: jsonvalue.HexSum([]byte(output)), Time: w.now}))
	at := "2026-01-02T03:04:05Z"
	deed := func(kind, data string) proof.Deed {
		status := "interrupted"
		if kind == "finished" {
			status = "ok"
		}
		return proof.Deed{Kind: kind, Time: at, Status: status, Data: json.RawMessage(data)}
	}
	statement, err := proof.Runs{Engine: w.engine, Receipts: w.store}.BuildAgent(w.t.Context(), proof.Request{Key: state.Key{Workflow: proof.AgentRun, Run: run}, By: "savant test", Time: w.now, Commit: head}, []proof.Deed{
		deed("started", `{"params":{"order":{"goal":"push it"}}}`),
		deed("result", `{"step":"1","status":"tool","by":"agent","used":{"models":[{"model":"m","calls":2,"prompt_tokens":7}]},"result":{}}`),
		deed("result", `{"step":"1-1","call":"git.push","status":"done","by":"agent","witness":"gateway","receipt":"agentaaa","digest":"`+jsonvalue.HexSum([]byte(output))+`","allowed":"person","result":`+output+`}`),
		deed("result", `{"step":"1-2","call":"ci.run","status":"failed","by":"agent","result":{"error":"no"}}`),
		deed("refused", `{"step":"1-3","call":"git.reset","status":"done","by":"agent","reason":"deny"}`),
		deed("finished", `{"status":"ok","reply":{"reply":{"outputs":{"final":`+output+`}}}}`),
	})
	require.NoError(w.t, err)
	return statement
}

// ofAgent are forgeries of the proof of a run of the agent.
func (f *forger) ofAgent() {
	from := f.agent
	for name, change := range map[string]func(*proof.Predicate){
		"a failed call as done":    func(p *proof.Predicate) { p.Claims[2].Status = "done" },
		"a failed call as seen":    func(p *proof.Predicate) { p.Claims[2].Grade = proof.Gateway },
		"a decision as computed":   func(p *proof.Predicate) { p.Claims[0].Grade = proof.Engine },
		"a decision as seen":       func(p *proof.Predicate) { p.Claims[0].Grade = proof.Gateway },
		"a decision of a person":   func(p *proof.Predicate) { p.Claims[0].Grade, p.Claims[0].How = proof.Person, "terminal" },
		"who allowed it":           func(p *proof.Predicate) { p.Claims[1].How = "order" },
		"nobody allowed it":        func(p *proof.Predicate) { p.Claims[1].How = "" },
		"a person allowed another": func(p *proof.Predicate) { p.Claims[2].How = "person" },
		"a call left out":          func(p *proof.Predicate) { p.Claims = slices.Delete(p.Claims, 2, 3) },
		"a refused call as absent": func(p *proof.Predicate) { p.Claims = append(p.Claims, proof.Claim{Step: "1-3", Grade: proof.Absent}) },
		"a refused call as computed": func(p *proof.Predicate) {
			p.Claims = append(p.Claims, proof.Claim{Step: "1-3", Status: "done", Grade: proof.Engine})
		},
		"a call that nobody made": func(p *proof.Predicate) {
			p.Claims = append(p.Claims, proof.Claim{Step: "2", Status: "done", Grade: proof.Engine})
		},
		"a tool": func(p *proof.Predicate) {
			p.Graph = append(p.Graph, proof.Node{ID: "1-1", Call: "git.status"})
		},
	} {
		f.change("agent: "+name, proof.BadClaim, from, func(s *proof.Statement) { change(&s.Predicate) })
	}
	f.change("agent: as a workflow", proof.BadChain, from, func(s *proof.Statement) { s.Predicate.Run.Workflow = "shipped" })
	f.change("agent: a workflow as one of the agent", proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Run.Workflow = proof.AgentRun })
	f.change("agent: a better end", proof.BadChain, from, func(s *proof.Statement) { s.Predicate.Run.Status = "done" })
	f.change("agent: an interrupted run that says how it ended", proof.BadChain, from, func(s *proof.Statement) { s.Predicate.Run.Status = "interrupted" })
	f.change("agent: a receipt of another result", proof.BadReceipt, from, func(s *proof.Statement) { s.Predicate.Receipts[0].Output = strings.Repeat("0", 64) })
	f.change("agent: another answer", proof.BadSubject, from, func(s *proof.Statement) { s.Subject[2].Digest["sha256"] = strings.Repeat("a", 64) })
	f.change("agent: a stated commit as seen", proof.BadSubject, from, func(s *proof.Statement) { s.Subject[1].Name = proof.SubjectSeen })
	f.change("agent: a workflow that it did not follow", proof.BadSource, from, func(s *proof.Statement) {
		s.Predicate.Texts = append(s.Predicate.Texts, "x")
	})
	for i, each := range from.Predicate.Records {
		edit := func(name string, code proof.Code, old, text string) {
			if strings.Contains(each, old) {
				f.change("agent: "+name, code, from, func(s *proof.Statement) {
					s.Predicate.Records[i] = strings.Replace(each, old, text, 1)
					chained(s)
				})
			}
		}
		f.change("agent: a record left out", proof.BadChain, from, func(s *proof.Statement) {
			s.Predicate.Records = slices.Delete(s.Predicate.Records, i, i+1)
			s.Predicate.Run.Whole--
		})
		edit("a failure that was none, chained anew", proof.BadClaim, `"status":"failed"`, `"status":"done"`)
		edit("an allowance, chained anew", proof.BadClaim, `"allowed":"person"`, `"allowed":"pattern"`)
		edit("an allowance that is no text", proof.BadStatement, `"allowed":"person"`, `"allowed":["person"]`)
		edit("a refusal that was none, chained anew", proof.BadClaim, `"kind":"refused"`, `"kind":"result"`)
		edit("another end, chained anew", proof.BadChain, `"status":"ok","data"`, `"status":"error","data"`)
		edit("a number that differs beyond 2^53 is another text", proof.BadSubject, `"final":{"n":12345678901234567890`, `"final":{"n":22345678901234567890`)
		edit("a status that is no text", proof.BadStatement, `"status":"ok"`, `"status":true`)
	}
}

// TestARunOfTheAgentIsProven verifies it, whole and redacted, and looks at what it says.
func TestARunOfTheAgentIsProven(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	ada := signerOf(t, 'a')
	statement := w.agentRun("a1")
	for _, rules := range [][]string{nil, {"push it"}} {
		_, err := proof.Redact(statement, rules)
		require.NoError(t, err)
		report := proof.Verify(t.Context(), sealed(t, statement, ada), trusting(ada), replayer(t))
		require.Nil(t, report.Reason)
		require.False(t, report.Replayed)
		require.Equal(t, "ok", report.Run.Status)
		require.Equal(t, map[proof.Grade]int{proof.Gateway: 1, proof.Said: 2}, report.Counts)
		require.Equal(t, []proof.Model{{Grade: proof.SeenModel, Model: "m", Calls: 2, PromptTokens: 7}}, report.Models)
		require.Equal(t, "person", report.Statement.Predicate.Claims[1].How)
		require.Len(t, report.Statement.Predicate.Receipts, 1)
		require.Contains(t, strings.Join(report.Limits, "\n"), "why a model decided so")
		found, err := proof.Demand{Commit: head, Workflow: proof.AgentRun, Required: []proof.Requirement{{Step: "1-1", Grades: proof.Known}}}.Check(report)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}
