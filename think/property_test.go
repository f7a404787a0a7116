package think_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/internal/jsonvalue"
	static "savant/think/check"
	"savant/think/flow"
)

// fewest is how many checks a property has at least; rapid makes a fifth of it in short mode.
const fewest = 10

// setting is locked while -rapid.checks is not the usual: tests that run at once share it.
var setting sync.Mutex

// check checks a property so many times: a tenth of that unless CI is set, and a tenth
// again in short mode. -rapid.checks decides where it is given.
func check(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		rapid.Check(t, property)
		return
	}
	if os.Getenv("CI") == "" {
		times /= 10
	}
	if testing.Short() {
		times /= 10
	}
	setting.Lock()
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	restore := sync.OnceFunc(func() {
		defer setting.Unlock()
		require.NoError(t, checks.Set(usual))
	})
	defer restore()
	require.NoError(t, checks.Set(strconv.Itoa(max(times, fewest))))
	rapid.Check(t, func(t *rapid.T) {
		restore() // rapid has read the number
		property(t)
	})
}

// Properties that are checked at once have each its own number of checks, and some even
// in short mode.
func TestEachPropertyHasItsNumber(t *testing.T) {
	t.Setenv("CI", "true")
	in := 1
	if testing.Short() {
		in = 50 // a tenth here, a fifth of it by rapid
	}
	t.Run("at once", func(t *testing.T) {
		for i := range 20 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				checked := 0
				check(t, 1000*(1+i%3), func(*rapid.T) { checked++ })
				require.Equal(t, 1000*(1+i%3)/in, checked)
			})
		}
	})
	t.Setenv("CI", "")
	checked := 0
	check(t, 5, func(*rapid.T) { checked++ })
	require.Positive(t, checked)
}

func first(int) int { return 0 }

// The same workflow, parameters and results give the same instructions, changes
// and hashes, byte for byte; and every step is settled as the language says.
func TestRunsAreDeterministic(t *testing.T) {
	t.Parallel()
	check(t, 500, func(t *rapid.T) {
		g := generate(t, false)
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: true}
		choices := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 20).Draw(t, "choices")
		run, now, seen := drive(t, g.compile(t), g.params, client, cycle(choices))
		_, again, seenAgain := drive(t, g.compile(t), g.params, client, cycle(choices))
		require.Equal(t, seen, seenAgain, "%s", g)
		require.Equal(t, now.Hash, again.Hash)
		if now.Final != nil {
			o := &oracle{t, g.root, byID(t, run)}
			o.check()
			checkAllSettled(t, run)
		}
	})
}

// A run whose recorded answers are resumed comes to the same state as one that
// settles them.
func TestResumingComesToTheSame(t *testing.T) {
	t.Parallel()
	check(t, 300, func(t *rapid.T) {
		g := generate(t, false)
		graph := g.compile(t)
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: true}
		asked := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(t, "asked")
		always, now := graph.Start("r", g.params, flow.Terms{PlainFailures: true})
		seldom, _ := graph.Start("r", g.params, flow.Terms{PlainFailures: true})
		for event := 0; now.Final == nil && now.Blocked == nil; event++ {
			next := now.Instructions[0]
			answer := client.settling(t, next)
			var err error
			if now, err = always.Settle(handleOf(t, always, next.StepID), answer); now.Rejected == nil && now.Captured != "" && !asked[event%len(asked)] {
				data, encoding := jsonvalue.Encode(answer.Result)
				require.NoError(t, encoding)
				_, resuming := seldom.Resume(handleOf(t, seldom, next.StepID), flow.Recorded{Digest: answer.Digest, Value: now.Captured, Size: now.Size,
					Witness: now.Change.Steps[0].Witness, Result: data})
				require.NoError(t, resuming)
			} else {
				seldom.Proceed()
				_, again := seldom.Settle(handleOf(t, seldom, next.StepID), client.settling(t, next))
				require.NoError(t, again)
			}
			require.NoError(t, err)
		}
		require.Equal(t, now.Hash, seldom.Proceed().Hash, "%s", g)
	})
}

// cycle answers the outstanding steps in an order that depends on nothing else.
func cycle(choices []int) func(int) int {
	at := -1
	return func(count int) int {
		at++
		return choices[at%len(choices)] % count
	}
}

func checkAllSettled(t *rapid.T, run *flow.Run) {
	for id, step := range byID(t, run) {
		switch step.Status {
		case flow.Done, flow.Skipped, flow.Failed:
		default:
			t.Fatalf("%s is %s at the end", id, step.Status)
		}
	}
}

// byID returns the steps of a snapshot, each of which is there once, and holds
// its JSON to what encoding/json makes of the same.
func byID(t *rapid.T, run *flow.Run) map[string]flow.StepStatus {
	snapshot, missing := run.View().Snapshot(flow.Whole)
	require.Empty(t, missing)
	steps := map[string]flow.StepStatus{}
	for _, step := range snapshot.Steps {
		require.NotContains(t, steps, step.ID)
		steps[step.ID] = step
	}
	type tagged flow.Snapshot
	plain := struct {
		tagged
		Steps map[string]flow.StepStatus `json:"steps"`
	}{tagged(snapshot), steps}
	want, err := json.Marshal(plain)
	require.NoError(t, err)
	got, err := jsonvalue.Encode(snapshot)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	return steps
}

// Parallel answers may come in any order: where no failure ends a workflow, the
// final state and the outputs are the same.
func TestOrderOfAnswersDoesNotMatter(t *testing.T) {
	t.Parallel()
	check(t, 500, func(t *rapid.T) {
		g := generate(t, true)
		graph := g.compile(t)
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: rapid.Bool().Draw(t, "failures")}
		_, straight, _ := drive(t, graph, g.params, client, first)
		for range 3 {
			choices := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 20).Draw(t, "choices")
			_, other, _ := drive(t, graph, g.params, client, cycle(choices))
			require.Equal(t, straight.Status, other.Status, "%s", g)
			if straight.Final == nil {
				continue // blocked where an expression has no value
			}
			require.Equal(t, outcome(t, straight), outcome(t, other), "%s", g)
			require.Equal(t, straight.Hash, other.Hash, "%s", g)
		}
	})
}

func outcome(t *rapid.T, now flow.Outcome) string {
	data, err := jsonvalue.Encode(now.Final)
	require.NoError(t, err)
	return string(data)
}

// blocks matches the one condition of generated workflows that may have no value.
var blocks = regexp.MustCompile(`c\d+\.n > 1`)

// mayBeSkipped reports the warning of a hard read of a step with a `when`, which is
// generated on purpose.
func mayBeSkipped(d fault.Diagnostic) bool { return strings.Contains(d.Message, "may be skipped") }

// What is generated without a mistake is not blamed before it runs.
// Without CI it is 400 workflows: a few are left out.
func TestChecksBlameNothingThatIsRight(t *testing.T) {
	t.Parallel()
	check(t, 1000, func(t *rapid.T) {
		g := generate(t, false)
		for _, text := range g.files {
			if blocks.MatchString(text) {
				return
			}
		}
		found := static.Graph(g.compile(t), nil, nil)
		require.Empty(t, found.Errors, "%s", g)
		require.Empty(t, slices.DeleteFunc(found.Warnings, mayBeSkipped), "%s", g)
	})
}
