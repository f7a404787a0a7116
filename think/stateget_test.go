package think_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
)

const pagedYAML = `name: paged
version: "1"
limits: {items: 2000}
params: {items: {type: array}, text: {type: string}}
steps:
  - {id: each, call: llm.generate, foreach: items, input_template: {task: "{{ item }}"}, capture_as: all}
  - {id: few, call: flow.set, foreach: [1, 2], input_template: {value: "{{ item }}"}, capture_as: few}
  - {id: words, call: flow.set, input_template: {value: "{{ text }}"}, capture_as: words}
`

// pagedRun is a run of a loop over so many items, answered up to the second
// number.
func pagedRun(t *testing.T, items, answered int, text string) *think.Engine {
	t.Helper()
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/paged.yaml": {Data: []byte(pagedYAML)}}}),
		Store: statetest.NewMemory(), Now: time.Now})
	t.Cleanup(engine.Close)
	list := make([]any, items)
	for i := range list {
		list[i] = "item " + strconv.Itoa(i) + strings.Repeat("x", 40)
	}
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "paged", RunID: "r", Params: map[string]any{"items": list, "text": text}})
	require.NoError(t, err)
	for i := range answered {
		_, err := engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: fmt.Sprintf("each_%d", i), ResultSnapshot: json.RawMessage(`"done"`)})
		require.NoError(t, err)
	}
	return engine
}

func sizeOf(t *testing.T, value any) int {
	t.Helper()
	data, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return len(data)
}

func get(t *testing.T, engine *think.Engine, in think.StateGetInput) *think.StateGet {
	t.Helper()
	in.RunID = "r"
	got, err := engine.StateGet(t.Context(), in)
	require.NoError(t, err)
	return got
}

// The pages of a long run together are its whole state, and none is long.
func TestALongStateComesInPages(t *testing.T) {
	t.Parallel()
	engine := pagedRun(t, 1500, 300, strings.Repeat("long ", 20_000))
	whole := get(t, engine, think.StateGetInput{Limit: -1})
	require.Empty(t, whole.More)
	require.Greater(t, sizeOf(t, whole), 200_000)

	first := get(t, engine, think.StateGetInput{})
	require.LessOrEqual(t, sizeOf(t, first), 64<<10)
	var steps flow.Statuses
	var history []think.Event
	lists := map[string]any{}
	for _, more := range first.More {
		require.Positive(t, more.Left)
		for page := first; ; {
			require.LessOrEqual(t, sizeOf(t, page), 64<<10)
			switch more.Section {
			case "steps":
				steps = append(steps, page.Snapshot.Steps...)
			case "history":
				history = append(history, page.History...)
			case "lists":
				for id, list := range page.Snapshot.Lists {
					lists[id] = list
				}
			}
			at := slices.IndexFunc(page.More, func(m think.More) bool { return m.Section == more.Section })
			if at < 0 {
				break
			}
			page = get(t, engine, think.StateGetInput{Section: more.Section, After: page.More[at].After})
		}
	}
	require.Equal(t, whole.Snapshot.Steps, steps)
	require.Equal(t, whole.History, history)
	require.JSONEq(t, `{"items":1500}`, encode(t, first.Snapshot.Lists["each"]))
	require.Equal(t, []any{1, 2}, first.Snapshot.Lists["few"])

	for _, in := range []think.StateGetInput{{Var: "params.text"}, {List: "each"}, {Var: "words", Limit: 1000}} {
		var text strings.Builder
		for part := get(t, engine, in).Part; ; part = get(t, engine, in).Part {
			text.WriteString(part.Text)
			if in.Offset = part.Next; in.Offset == 0 {
				break
			}
		}
		in.Limit, in.Offset = -1, 0
		require.Equal(t, string(get(t, engine, in).Value), text.String())
	}
}

func TestAShortStateIsWhole(t *testing.T) {
	t.Parallel()
	engine := pagedRun(t, 3, 2, "short")
	whole, page := get(t, engine, think.StateGetInput{Limit: -1}), get(t, engine, think.StateGetInput{})
	require.Equal(t, whole, page)
	require.Len(t, page.History, 3)
	one := get(t, engine, think.StateGetInput{Section: "vars"})
	require.Equal(t, whole.Snapshot.Vars, one.Snapshot.Vars)
	require.Empty(t, one.Snapshot.Steps)
	require.Empty(t, one.History)
}

func TestPagesThatAreNone(t *testing.T) {
	t.Parallel()
	engine := pagedRun(t, 3, 0, "short")
	for _, in := range []think.StateGetInput{{After: "each"}, {Section: "steps", After: "none"}, {Section: "history", After: "x"}} {
		in.RunID = "r"
		_, err := engine.StateGet(t.Context(), in)
		require.ErrorIs(t, err, fault.InvalidParams)
	}
	for _, in := range []think.StateGetInput{{Var: "none"}, {Var: "params.none"}, {List: "words"}} {
		in.RunID = "r"
		_, err := engine.StateGet(t.Context(), in)
		require.ErrorIs(t, err, fault.UnresolvedVar)
	}
}
