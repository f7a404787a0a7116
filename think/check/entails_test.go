package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// coveringAll is a workflow whose steps p0, p1, … have conditions, and whose last one reads
// what the first of them gave that ran.
func coveringAll(conditions ...string) string {
	var steps strings.Builder
	var reads []string
	for k, when := range conditions {
		fmt.Fprintf(&steps, "  - {id: p%d, when: %q, call: flow.set, input_template: {value: %d}, capture_as: c%d}\n", k, when, k, k)
		reads = append(reads, fmt.Sprintf("c%d", k))
	}
	return `name: w
version: "1.0"
params: {b: {type: [boolean, "null"], default: null}, z: {default: null}, x: {type: boolean, default: true}, y: {type: boolean, default: false}, n: {type: integer, default: 1}, f: {type: number, default: 1}, s: {default: a, type: string}}
steps:
` + steps.String() + "  - {id: q, call: flow.set, input_template: {value: \"{{ " + strings.Join(reads, " ?? ") + " }}\"}, capture_as: q}\n" +
		"outputs: {q: \"{{ q }}\", all: \"{{ [params.x, params.y, params.n, params.f, params.s, params.b, params.z] }}\"}\n"
}

// TestBranchesThatCoverAll: where one of several steps is certain to have run, no read of
// the last of them is warned of.
func TestBranchesThatCoverAll(t *testing.T) {
	for _, conditions := range [][]string{
		{"x and y", "x != y", "!x and !y"},
		{"x != y", "x == y and x", "!x and !y"},
		{"x == y", "y != x"},
		{"x == true", "x == false"},
		{"n > 1", "n == 1", "n < 1"},
		{"f >= 2", "f < 2 and f != 1", "f == 1"},
		{"n in 1..5", "n < 1", "n > 5"},
		{"n >= 2", "n <= 1"},
		{"n % 2 == 0", "n % 2 != 0"},
		{"s < 'm'", "s >= 'm' and s != 'm'", "s == 'm'"},
		{"len(s) > 1", "len(s) == 1", "len(s) == 0"},
		{"x ? y : false", "not (x and y)"},
		{"x ? (n in 1..20 and f > 3 and s in ['a', 'b', 'c']) : y", "not (x ? (n in 1..20 and f > 3 and s in ['a', 'b', 'c']) : y)"},
	} {
		require.Empty(t, skippedReads(lines(report(t, coveringAll(conditions...)))), conditions)
	}
	for _, conditions := range [][]string{
		{"x and y", "x != y"},
		{"x or y", "x == y and x"},
		{"b == true", "b == false"},
		{"z in [true]", "false == z"},
		{"z != []", "z != []"},
		{"z in [1]", "z != [1]"},
		{"[1] != z", "f * 2 < 2.5"},
		{"z == true", "z == false", "z == null"},
		{"n <= 1.5", "n >= 2.5"},
		{"len(s) <= 1.5", "len(s) >= 2.5"},
		{"n > 1", "n < 1"},
		{"f >= 2", "f <= 1"},
		{"f in [1, 2]", "f < 1", "f > 2"},
		{"s < 'm'", "s > 'm'"},
		{"len(s) > 1", "len(s) == 0"},
		{"n % 2 == 0", "n % 3 != 0"},
	} {
		require.NotEmpty(t, skippedReads(lines(report(t, coveringAll(conditions...)))), conditions)
	}
}

func skippedReads(found []string) (reads []string) {
	for _, each := range found {
		if strings.Contains(each, "may be skipped") {
			reads = append(reads, each)
		}
	}
	return reads
}
