package proofs

import (
	"cmp"
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"savant/cmd/savant/app"
	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/think"
	"savant/think/gate"
	"savant/think/gate/sessions"
	"savant/think/state"
)

// hooks are what hooks of clients saw in a folder. It implements proof.Observer.
type hooks struct {
	root     *os.Root
	receipts state.Receipts
}

// runsOf are the runs of a folder, with what hooks saw of them.
func runsOf(a *app.App) proof.Runs {
	return proof.Runs{Engine: a.Think, Receipts: a.Store, Observations: hooks{a.Root, a.Store}, Rulings: rulings{a}}
}

// rulings are what rules refused in a folder. It implements proof.Rulings.
type rulings struct{ app *app.App }

// RefusedIn implements proof.Rulings.
func (r rulings) RefusedIn(workflow, run string) ([]think.RuleRefusal, error) {
	var call engines.Call
	if workflow == proof.AgentRun {
		call.Agent.RunID = run
	}
	return r.app.RuleKeeper().RefusedIn(call, workflow, run)
}

// RulesIn implements proof.Rulings.
func (r rulings) RulesIn(from, to time.Time) (found []proof.RuleFile, err error) {
	texts, err := r.app.RuleKeeper().TextsIn(from, to)
	for _, each := range texts {
		found = append(found, proof.RuleFile(each))
	}
	return found, err
}

// Differences says where hooks and the gateway do not tell the same of a run's calls.
func Differences(ctx context.Context, a *app.App, key state.Key) ([]string, error) {
	return runsOf(a).Differences(ctx, key)
}

// question is a step that waits for its answer, from one time until another, in milliseconds.
type question struct {
	gate.Issued
	began, until int64
	seen         bool
}

// recorded is what is read of a record.
type recorded struct {
	Step    string `json:"step"`
	Receipt string `json:"receipt"`
	Reply   struct {
		Reply struct {
			Instruction  *gate.Issued  `json:"instruction"`
			Instructions []gate.Issued `json:"instructions"`
		} `json:"reply"`
	} `json:"reply"`
}

// Observed implements proof.Observer: a call answers a step if it is the one that the step
// asked for, and was made between the instruction and the answer.
func (h hooks) Observed(ctx context.Context, key state.Key, records []state.Record) (found []proof.Observation, err error) {
	calls, err := sessions.Seen(h.root)
	if err != nil {
		return nil, err
	}
	calls = slices.DeleteFunc(calls, func(each sessions.Call) bool { return !slices.Contains(each.Runs, key) })
	if len(calls) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(calls, func(a, b sessions.Call) int { return cmp.Compare(a.Last(), b.Last()) })
	issued, all := map[string]*question{}, []*question{}
	for _, record := range records {
		var data recorded
		at, err := time.Parse(time.RFC3339Nano, record.Time)
		if err != nil || jsonvalue.UnmarshalStored(record.Data, &data) != nil {
			continue
		}
		if asked, ok := issued[data.Step]; ok && record.Kind == "result" {
			asked.until = at.UnixMilli()
			seen, is := asked.answer(calls)
			if asked.seen = is; !is {
				seen.Client, is = h.unseen(ctx, data.Receipt, calls)
				seen.Tool, seen.Outcome = asked.Call, proof.Unseen
			}
			if seen.Version = record.Version; is {
				found = append(found, seen)
			}
		}
		next := data.Reply.Reply.Instructions
		if data.Reply.Reply.Instruction != nil {
			next = append(next, *data.Reply.Reply.Instruction)
		}
		for _, each := range next {
			if again, ok := issued[each.Step]; ok {
				again.until = min(again.until, at.UnixMilli())
			}
			issued[each.Step] = &question{Issued: each, began: at.UnixMilli(), until: math.MaxInt64}
			all = append(all, issued[each.Step])
		}
	}
	return append(found, unanswered(all, calls)...), nil
}

// unanswered returns of each tool that steps asked for whether more calls of it succeeded
// while they waited than records answer. Of a session of several runs nothing is said.
func unanswered(all []*question, calls []sessions.Call) (found []proof.Observation) {
	tools := map[string]int{} // calls without a record
	last := map[string]proof.Observation{}
	for _, each := range calls {
		if len(each.Runs) != 1 || each.Began == 0 || each.Outcome != gate.Succeeded {
			continue
		}
		if at := slices.IndexFunc(all, func(q *question) bool { return q.fits(each) }); at >= 0 {
			tools[all[at].Call]++
			last[all[at].Call] = proof.Observation{Client: each.Client, Tool: all[at].Call, Outcome: each.Outcome, Savant: each.Savant}
		}
	}
	for _, each := range all {
		if each.seen {
			tools[each.Call]--
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(last)) {
		if tools[tool] > 0 {
			found = append(found, last[tool])
		}
	}
	return found
}

// fits reports whether a call is of the tool that a step asks for, while it waits.
func (q *question) fits(each sessions.Call) bool {
	return each.Last() >= q.began && each.Last() <= q.until && (each.Began == 0 || each.Began >= q.began) && each.Is(q.Call)
}

// answer returns the call that answers a step, the last of several; calls are in the order
// in which they were last seen. Of one of Savant's tools the beginning is enough, and the
// arguments are the receipt's to tell.
func (q *question) answer(calls []sessions.Call) (found proof.Observation, ok bool) {
	from, _ := slices.BinarySearchFunc(calls, q.began, func(each sessions.Call, at int64) int { return cmp.Compare(each.Last(), at) })
	for _, each := range calls[from:] {
		if each.Last() > q.until {
			break
		}
		if !q.fits(each) {
			continue
		}
		if each.Savant || each.Ended != 0 && each.Began != 0 && each.Input == inputOf(q.Issued) {
			found, ok = proof.Observation{Client: each.Client, Tool: q.Call, Outcome: cmp.Or(each.Outcome, gate.Unknown), Savant: each.Savant}, true
		}
	}
	return found, ok
}

// unseen returns the client whose hooks held the session while Savant took a call of it for a
// step, without seeing it.
func (h hooks) unseen(ctx context.Context, id string, held []sessions.Call) (client string, is bool) {
	receipt, err := h.receipts.Receipt(ctx, id)
	if id == "" || err != nil || receipt.Run != "" {
		return "", false // gone, or the run's own call
	}
	before, after := false, false
	for _, each := range held {
		client = each.Client
		before = before || each.Last() <= receipt.Time.UnixMilli()
		after = after || each.Last() >= receipt.Time.UnixMilli()
	}
	return client, before && after
}

// inputOf is the digest of an instruction's arguments.
func inputOf(asked gate.Issued) string {
	value, err := jsonvalue.DecodeStored(asked.Input)
	if err != nil {
		return ""
	}
	digest, _ := jsonvalue.Digest(value) // what was decoded has one
	return digest
}
