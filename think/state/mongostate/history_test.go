package mongostate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

// fixedTime makes the hash of a record depend on nothing but what is in it.
const fixedTime = "2026-01-02T03:04:05Z"

// call is what somebody asked of a run, answer what came of it.
type (
	call struct {
		key    state.Key
		kind   callKind
		record state.Record
	}
	callKind string
	answer   struct {
		end  state.Link
		code fault.Code
	}
)

const (
	appends callKind = "append"
	heads   callKind = "head"
	deletes callKind = "delete"
)

// history is what several clients asked at the same time.
type history struct {
	begun time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	answered   int
	unsure     int
}

func newHistory() *history { return &history{begun: time.Now()} }

// do makes a call and notes it. A change of which nobody knows whether it happened has
// no end: it may take effect at any time from then on, or never. A look that failed says
// nothing.
func (h *history) do(ctx context.Context, client int, store state.Journal, asked call) answer {
	began := time.Since(h.begun)
	var got answer
	var err error
	switch asked.kind {
	case appends:
		var made state.Record
		made, err = store.Append(ctx, asked.key, asked.record)
		got.end = state.Link{Version: made.Version, Hash: made.Hash}
	case heads:
		got.end.Version, got.end.Hash, err = store.Head(ctx, asked.key)
	case deletes:
		err = store.Delete(ctx, asked.key)
	}
	if err != nil {
		got = answer{code: fault.From(err).Code}
	}
	ended := time.Since(h.begun)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered++
	if unknown := got.code == fault.StateNotSaved; unknown {
		h.unsure++
		if asked.kind == heads {
			return got
		}
		ended = math.MaxInt64
	}
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: asked, Output: got, Call: int64(began), Return: int64(ended)})
	return got
}

// model is one run: the end of its chain.
var model = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[state.Key][]porcupine.Operation{}
		for _, each := range all {
			key := each.Input.(call).key
			byKey[key] = append(byKey[key], each)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return state.Link{} },
	Step: func(was, input, output any) (bool, any) {
		at, asked, got := was.(state.Link), input.(call), output.(answer)
		next, code := at, fault.Code("")
		switch {
		case asked.kind == heads && at.Version == 0, asked.kind == deletes && at.Version == 0,
			asked.kind == appends && at.Version == 0 && asked.record.Version != 1:
			code = fault.UnknownRun
		case asked.kind == appends && asked.record.Version != at.Version+1:
			code = fault.StateConflict
		case asked.kind == appends:
			sealed, _, err := state.Seal(asked.key, at, asked.record, time.Time{})
			if err != nil {
				return false, was
			}
			next = state.Link{Version: sealed.Version, Hash: sealed.Hash}
		case asked.kind == deletes:
			next = state.Link{}
		}
		if got.code == fault.StateNotSaved {
			return true, next // whenever that was
		}
		return got.code == code && (code != "" || asked.kind == deletes || got.end == next), next
	},
	DescribeOperation: func(input, output any) string {
		asked, got := input.(call), output.(answer)
		return fmt.Sprintf("%s %s v%d: %v %s", asked.kind, asked.key, asked.record.Version, got.end.Version, got.code)
	},
}

// requireLinearizable fails unless the calls could have happened one after the other.
func (h *history) requireLinearizable(t *testing.T) {
	t.Helper()
	for _, part := range model.Partition(h.operations) {
		if porcupine.CheckOperationsTimeout(model, part, time.Minute) != porcupine.Illegal {
			continue
		}
		for _, each := range part {
			t.Logf("%v to %v: client %d: %s", time.Duration(each.Call), time.Duration(each.Return), each.ClientId, model.DescribeOperation(each.Input, each.Output))
		}
		require.Fail(t, "the history is not linearizable")
	}
}

// step is a record that names who wrote it.
func step(version, client, number int) state.Record {
	kind := "result"
	if version == 1 {
		kind = "plan"
	}
	return state.Record{Version: version, Kind: kind, Status: "running", Time: fixedTime,
		Data: json.RawMessage(fmt.Sprintf(`{"client":%d,"number":%d}`, client, number)), State: "s"}
}

// The check itself: histories that are wrong are refused.
func TestTheModelRefuses(t *testing.T) {
	key := state.Key{Workflow: "w", Run: "r"}
	first, _, err := state.Seal(key, state.Link{}, step(1, 1, 1), time.Time{})
	require.NoError(t, err)
	made := answer{end: state.Link{Version: 1, Hash: first.Hash}}
	operation := func(client int, asked call, got answer, from, to int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: asked, Output: got, Call: from, Return: to}
	}
	began := call{key: key, kind: appends, record: step(1, 1, 1)}
	other := call{key: key, kind: appends, record: step(1, 2, 2)}
	look := call{key: key, kind: heads}
	for name, operations := range map[string][]porcupine.Operation{
		"two won":             {operation(1, began, made, 0, 1), operation(2, other, answer{end: state.Link{Version: 1, Hash: "x"}}, 2, 3)},
		"acknowledged, lost":  {operation(1, began, made, 0, 1), operation(2, look, answer{code: fault.UnknownRun}, 2, 3)},
		"refused and present": {operation(1, other, answer{code: fault.StateConflict}, 0, 1), operation(1, look, made, 2, 3)},
		"deleted, comes back": {operation(1, began, made, 0, 1), operation(1, call{key: key, kind: deletes}, answer{}, 2, 3), operation(1, look, made, 4, 5)},
	} {
		require.False(t, porcupine.CheckOperations(model, operations), name)
	}
	unsure := operation(1, began, answer{code: fault.StateNotSaved}, 0, math.MaxInt64)
	require.True(t, porcupine.CheckOperations(model, []porcupine.Operation{unsure, operation(2, look, made, 2, 3)}))
	require.True(t, porcupine.CheckOperations(model, []porcupine.Operation{unsure, operation(2, look, answer{code: fault.UnknownRun}, 2, 3)}))
}
