package think_test

import (
	"fmt"
	"hash/fnv"
	"slices"

	"pgregory.net/rapid"

	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/library"
)

// compile parses and links a generated workflow.
func (g generated) compile(t *rapid.T) *flow.Graph {
	set, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) (*flow.Workflow, error) {
		return flow.Parse(name+".yaml", []byte(g.files[name]), set)
	}
	main, err := find("main")
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	graph, err := library.Link(main, find, flow.CurrentEdition)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return graph
}

func (g generated) String() string {
	return g.files["main"] + "\n" + g.files["outer"] + "\n" + g.files["inner"]
}

// respond is what the client of a generated run answers: it depends on the
// step, the attempt and a seed alone, so every drive of a run sees the same.
type respond struct {
	seed     uint64
	failures bool
}

func (r respond) answer(step string, attempt int, call string) any {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", r.seed, step, attempt)
	chance := h.Sum64()
	if call == flow.CallApprove {
		return map[string]any{"approved": !r.failures || chance%4 != 0}
	}
	list := make([]any, chance>>8%4)
	for i := range list {
		list[i] = int(chance>>16) % (i + 3)
	}
	good := map[string]any{"n": int(chance >> 24 % 5), "list": list, "ok": chance>>32%2 == 0}
	switch kind := chance >> 40 % 12; {
	case kind == 0 && r.failures:
		return map[string]any{"isError": true, "content": []any{}}
	case kind == 1 && r.failures:
		return map[string]any{"m": 1}
	case kind == 2:
		return map[string]any{"structuredContent": good, "content": []any{}}
	case kind == 3:
		text, _ := jsonvalue.Encode(good)
		return string(text)
	}
	return good
}

// drive takes a run to its end, choosing among what is outstanding, and returns
// everything that could be seen on the way.
func drive(t *rapid.T, graph *flow.Graph, params map[string]any, client respond, choose func(count int) int) (*flow.Run, flow.Outcome, []string) {
	run, now := graph.Start("r", params, flow.Terms{PlainFailures: true})
	watch := &watcher{t: t, settled: map[string]bool{}}
	watch.look(now)
	for now.Final == nil && now.Blocked == nil {
		next := now.Instructions[choose(len(now.Instructions))]
		out, err := run.Settle(handleOf(t, run, next.StepID), client.settling(t, next))
		if err != nil {
			t.Fatalf("settle %s: %v", next.StepID, err)
		}
		if now = out; now.Rejected == nil {
			watch.settled[next.StepID] = true
		}
		watch.look(now)
	}
	return run, now, watch.seen
}

// handleOf looks a step up by the id of its instruction.
func handleOf(t *rapid.T, run *flow.Run, id string) flow.Handle {
	step, err := run.View().Step(id)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// settling returns the answer to an instruction; a person approves all.
func (r respond) settling(t *rapid.T, next flow.Instruction) flow.Answer {
	result := r.answer(next.StepID, next.Attempt, next.Call)
	digest, err := jsonvalue.Digest(result)
	if err != nil {
		t.Fatal(err)
	}
	answer := flow.Answer{Attempt: next.Attempt, Result: result, Digest: digest}
	if next.Call == flow.CallApprove {
		answer.Person, answer.Shown = true, next.Shown
	}
	return answer
}

// watcher holds a run against what must be true of it after every event.
type watcher struct {
	t       *rapid.T
	version int
	settled map[string]bool
	seen    []string
}

func (w *watcher) look(now flow.Outcome) {
	var ids []string
	for _, next := range now.Instructions {
		ids = append(ids, next.StepID)
	}
	ready := now.Ready
	if w.version++; now.Version != w.version {
		w.t.Fatalf("version %d, expected %d", now.Version, w.version)
	}
	if len(now.Missing) > 0 {
		w.t.Fatalf("%v is missing, though all captures are short", now.Missing)
	}
	if w.version > 2000 {
		w.t.Fatal("the run does not end")
	}
	if limit := now.Workflow.Limits.Parallel; len(ids) > limit {
		w.t.Fatalf("%d instructions outstanding, limits.parallel is %d", len(ids), limit)
	}
	for _, id := range slices.Concat(ids, ready) {
		if w.settled[id] {
			w.t.Fatalf("%s is issued again", id)
		}
	}
	if all := slices.Concat(ids, ready); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		w.t.Fatalf("a step is outstanding or ready twice: %v", all)
	}
	if over := now.Final != nil; now.Blocked == nil && over != (len(ids) == 0) {
		w.t.Fatalf("%d instructions outstanding, and final is %v", len(ids), over)
	}
	w.seen = append(w.seen, w.describe(now))
}

func (w *watcher) describe(now flow.Outcome) string {
	vars := map[string]any{}
	for _, v := range now.Change.Vars {
		vars[v.Name] = string(v.Value) // of a long list only the beginning
	}
	data, err := jsonvalue.Encode([]any{now.Instructions, now.Ready, now.Change.Steps, vars, now.Hash, now.Status, now.Blocked, now.Final})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}
