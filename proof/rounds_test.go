package proof_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"savant/proof"
	"savant/think"
	"savant/think/state"
)

// rounds and round are workflows with a loop, a repeat, a child in both, and a long result.
const (
	rounds = `name: rounds
version: "1.0"
steps:
  - {id: list, call: list.items, capture_as: list}
  - {id: each, foreach: "list.items", as: thing, call: flow.run, input_template: {workflow: round, params: {which: "{{ thing }}"}}, capture_as: done}
  - {id: until, call: flow.run, deps: [each], input_template: {workflow: round, params: {which: again}}, repeat: {until: "result.note == 'done'", max: 3}}
  - {id: ask, call: human.approve, deps: [until], input_template: {message: "Ship it?"}}
outputs: {items: "{{ done }}", odd: "{{ list.odd }}"}
`
	round = `name: round
version: "1.0"
params: {which: {type: string}}
steps:
  - {id: look, call: look.at, input_template: {which: "{{ params.which }}"}, capture_as: seen}
  - {id: note, call: flow.set, input_template: {value: "{{ seen }}"}, capture_as: note}
outputs: {note: "{{ note }}"}
`
)

// looped makes a run of rounds that is set back once, whole.
func (w *world) looped(run string) state.Key {
	w.t.Helper()
	caller := think.Caller{Name: think.ByLocal}
	next := func(step, result string) {
		_, err := w.engine.Next(w.t.Context(), think.NextInput{RunID: run, StepID: step, ResultSnapshot: json.RawMessage(result), Caller: caller})
		require.NoError(w.t, err, step)
	}
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "rounds", RunID: run, Caller: caller})
	require.NoError(w.t, err)
	next("list", `{"items":["a","\ud83d"]}`)
	_, err = w.engine.Reset(w.t.Context(), think.ResetInput{RunID: run, Checkpoint: "list", Force: true, Caller: caller})
	require.NoError(w.t, err)
	next("list", `{"items":["a","B\u030a"],"odd":[1e21,0.1,"\ud83d","\u2028"]}`)
	for i := range 2 {
		next(fmt.Sprintf("each_%d/look", i), `"`+strings.Repeat("long ", 5000*i)+`"`)
	}
	next("until_0/look", `"more"`)
	next("until_1/look", `"done"`)
	pending, err := w.engine.Pending(w.t.Context(), "rounds", run)
	require.NoError(w.t, err)
	require.Len(w.t, pending, 1)
	_, err = w.engine.Approve(w.t.Context(), pending[0], map[string]any{"approved": true}, think.Caller{Name: "hub"})
	require.NoError(w.t, err)
	return state.Key{Workflow: "rounds", Run: run}
}

// ofRounds are forgeries of the proof of a run with rounds and a reset.
func (f *forger) ofRounds() {
	w := newWorld(f.t, map[string]string{"rounds": rounds, "round": round})
	f.looped = w.statement(w.looped("l1"))
	require.NotEmpty(f.t, f.looped.Predicate.Claims)
	f.add("a true one, with rounds", "", sealed(f.t, f.looped, f.ada))
	red := w.statement(state.Key{Workflow: "rounds", Run: "l1"})
	_, err := proof.Redact(red, []string{"long long"})
	require.NoError(f.t, err)
	f.add("a true one, with rounds and a long result redacted", "", sealed(f.t, red, f.ada))
	for i, claim := range f.looped.Predicate.Claims {
		f.forge("rounds: a claim left out: "+claim.Step, proof.BadClaim, f.looped, func(s *proof.Statement) {
			if claim.Version == 0 {
				s.Predicate.Claims[i].Grade = proof.Said
				return
			}
			s.Predicate.Claims = append(s.Predicate.Claims[:i:i], s.Predicate.Claims[i+1:]...)
		})
	}
	claims := func(name string, change func(p *proof.Predicate)) {
		f.forge("rounds: "+name, proof.BadClaim, f.looped, func(s *proof.Statement) { change(&s.Predicate) })
	}
	step := func(p *proof.Predicate, id string) *proof.Claim {
		for i := range p.Claims {
			if p.Claims[i].Step == id {
				return &p.Claims[i]
			}
		}
		require.Fail(f.t, "there is no claim of "+id)
		return nil
	}
	claims("the answer before the reset", func(p *proof.Predicate) { step(p, "list").Version = 2 })
	claims("an earlier round as the last", func(p *proof.Predicate) { step(p, "until_1/look").Version = step(p, "until_0/look").Version })
	claims("a round under the step's name", func(p *proof.Predicate) { step(p, "until_1/look").Step = "until/look" })
	claims("another item's answer", func(p *proof.Predicate) { step(p, "each_0/look").Version = step(p, "each_1/look").Version })
	claims("a step of a child as one of its parent", func(p *proof.Predicate) { step(p, "each_0/look").Step = "look" })
	claims("a person's answer of the hub as one of a terminal", func(p *proof.Predicate) { step(p, "ask").How = "terminal" })
	claims("an answer of a model as computed", func(p *proof.Predicate) {
		*step(p, "until_1/look") = proof.Claim{Step: "until_1/look", Status: "done", Grade: proof.Engine}
	})
	for name, change := range map[string]func(*proof.Predicate){
		"a computed step as absent": func(p *proof.Predicate) { step(p, "each_0/note").Grade = proof.Absent },
		"a round more that was computed": func(p *proof.Predicate) {
			p.Claims = append(p.Claims, proof.Claim{Step: "until_2/note", Status: "done", Grade: proof.Engine})
		},
		"another status of a step": func(p *proof.Predicate) { step(p, "each_1/note").Status = "failed" },
		"claims in another order":  func(p *proof.Predicate) { p.Claims[0], p.Claims[1] = p.Claims[1], p.Claims[0] },
		"an edge less":             func(p *proof.Predicate) { p.Graph[2].Deps = []string{} },
		"a step less in the graph": func(p *proof.Predicate) { p.Graph = p.Graph[1:] },
	} {
		f.forge("rounds: "+name, unreplayed, f.looped, func(s *proof.Statement) { change(&s.Predicate) })
		f.replays = append(f.replays, f.all[len(f.all)-1].file)
	}
	edit := func(code proof.Code, kind, old, text string) {
		for i, line := range f.looped.Predicate.Records {
			if strings.Contains(line, `"kind":"`+kind+`"`) && strings.Contains(line, old) {
				f.forge(fmt.Sprintf("rounds: %q for %q in record %d, chained anew", text, old, i+1), code, f.looped, func(s *proof.Statement) {
					s.Predicate.Records[i] = strings.Replace(line, old, text, 1)
					chained(s)
				})
			}
		}
	}
	edit(unreplayed, "reset", `"kind":"reset"`, `"kind":"note"`)
	edit(proof.BadChain, "reset", `"to":1`, `"to":3`)
	edit(proof.BadChain, "reset", `"to":1`, `"to":0`)
	edit(proof.BadChain, "reset", `"to":1`, `"to":-1`)
	edit(proof.BadChain, "reset", `"to":1`, `"to":null`)
	edit(proof.BadStatement, "reset", `"to":1`, `"to":1.5`)
	edit(proof.BadStatement, "reset", `"to":1`, `"to":"1"`)
	edit(proof.BadStatement, "reset", `"to":1`, `"to":1e30`)
	edit(unreplayed, "reset", `"to":1`, `"to":2`)
	edit(unreplayed, "reset", `"to":1`, `"to":1.0`)
	edit(proof.BadClaim, "result", `"step":"until_1/look"`, `"step":"until_0/look"`)
	edit(proof.BadSource, "result", `"result_ref":"`, `"result_ref":"0`)
	edit(proof.BadSource, "plan", `"round":{`, `"rounder":{"digest":""},"round":{`)
}
