package flow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/schemas"
)

// readers is a run of a step that gives a long capture, and of steps one after the
// other that are each decided by it.
func readers(t *testing.T, size int) (run *Run, result []byte) {
	t.Helper()
	set, err := schemas.Load()
	require.NoError(t, err)
	workflow, err := Parse("w.yaml", []byte(`name: w
version: '1'
steps:
  - {id: get, call: s.tool, capture_as: long}
  - {id: a, deps: [get], when: state.long.n == 1, call: s.tool}
  - {id: b, deps: [a], when: state.long.n == 1, call: s.tool}
  - {id: c, deps: [b], when: state.long.n == 1, call: s.tool}
`), set)
	require.NoError(t, err)
	graph, err := Compile(workflow, nil, CurrentEdition)
	require.NoError(t, err)
	run, _ = graph.Start("r", map[string]any{}, Terms{PlainFailures: true})
	return run, []byte(`{"n":1,"text":"` + strings.Repeat("x", size) + `"}`)
}

// give settles a step with a result.
func give(t *testing.T, run *Run, step string, result []byte) Outcome {
	t.Helper()
	value, err := jsonvalue.Decode(result)
	require.NoError(t, err)
	answered, err := run.View().Step(step)
	require.NoError(t, err)
	out, err := run.Settle(answered, Answer{Result: value})
	require.NoError(t, err)
	return out
}

// A long capture is read and decoded once for all conditions that follow, until the
// shell calls ReleaseCaptures.
func TestALongCaptureIsDecodedOnce(t *testing.T) {
	run, result := readers(t, 2*Inline)
	require.Empty(t, give(t, run, "get", result).Missing)
	read := func() { run.root.capture("long") }
	require.Zero(t, testing.AllocsPerRun(10, read), "it was decoded for the condition of a")
	run.ReleaseCaptures()
	require.Empty(t, run.values)

	require.Equal(t, []Ref{{Step: "get", Version: 2}}, give(t, run, "a", []byte("1")).Missing)
	require.NoError(t, run.Provide(Ref{Step: "get", Version: 2}, result))
	require.Equal(t, "b", run.Proceed().Instructions[0].StepID)
	require.Zero(t, testing.AllocsPerRun(10, read))
	require.Equal(t, "c", give(t, run, "b", []byte("1")).Instructions[0].StepID, "nothing is missing for the next one")
	require.Zero(t, testing.AllocsPerRun(10, read))
}

// What is kept from one event for the next is bounded.
func TestVeryLongCapturesAreNotKept(t *testing.T) {
	run, result := readers(t, maxCachedBytes/2)
	require.Empty(t, give(t, run, "get", result).Missing)
	require.NotEmpty(t, give(t, run, "a", []byte("1")).Missing)
	require.Empty(t, run.values)
}

// A capture is provided again from the answer as it came, in whatever form that was,
// and from no other.
func TestWhatIsProvidedIsWhatWasCaptured(t *testing.T) {
	run, result := readers(t, Inline)
	spaced := []byte(strings.ReplaceAll(string(result), `"n":1`, ` "n" : 1.0`))
	give(t, run, "get", spaced)
	ref := Ref{Step: "get", Version: 2}
	for name, c := range map[string]struct {
		given []byte
		fits  bool
	}{
		"another value": {[]byte(`{"n":2}`), false},
		"no JSON":       {[]byte(`{"n":`), false},
		"a failure":     {[]byte(`{"isError":true,"content":[]}`), false},
		"as it came":    {spaced, true},
		"as it is kept": {result, true},
	} {
		run.ReleaseCaptures()
		err := run.Provide(ref, c.given)
		require.Equal(t, c.fits, err == nil, name)
		value, missing := run.View().Var("long")
		require.Equal(t, c.fits, len(missing) == 0, name)
		if c.fits {
			require.Equal(t, string(result), string(value), name)
		}
	}
}

// A long capture that decides whether a skipped step is read is asked for before that is
// decided, also where only the step's input reads it.
func TestALongCaptureDecidesWhatIsRead(t *testing.T) {
	set, err := schemas.Load()
	require.NoError(t, err)
	workflow, err := Parse("w.yaml", []byte(`name: w
version: '1'
steps:
  - {id: get, call: s.tool, capture_as: long}
  - {id: gone, when: false, call: s.tool, capture_as: gone}
  - {id: a, deps: [get], call: s.tool}
  - {id: b, deps: [a], call: s.tool, input_template: {x: "{{ state.long.n == 2 ? gone.x : 1 }}"}}
  - {id: c, deps: [a], call: s.tool, input_template: {x: "{{ state.long.n == 1 ? gone.x : 1 }}"}}
`), set)
	require.NoError(t, err)
	graph, err := Compile(workflow, nil, CurrentEdition)
	require.NoError(t, err)
	run, _ := graph.Start("r", map[string]any{}, Terms{PlainFailures: true})
	result := []byte(`{"n":1,"text":"` + strings.Repeat("x", 2*Inline) + `"}`)
	give(t, run, "get", result)
	run.ReleaseCaptures()
	ref := Ref{Step: "get", Version: 2}
	require.Equal(t, []Ref{ref}, give(t, run, "a", []byte("1")).Missing)
	require.NoError(t, run.Provide(ref, result))
	out := run.Proceed()
	require.Len(t, out.Instructions, 1)
	require.Equal(t, "b", out.Instructions[0].StepID)
	require.Equal(t, map[string]any{"x": 1}, out.Instructions[0].Input)
	require.Contains(t, out.Change.Steps, StepStatus{ID: "c", Status: Skipped, Cause: "missing_data:gone"})
}
