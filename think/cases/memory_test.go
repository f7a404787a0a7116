package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/cases"
)

// A case takes no more memory than a run should: the loops of a small file would make gigabytes.
func TestMemoryOfACase(t *testing.T) {
	numbers := strings.TrimSuffix(strings.Repeat("1, ", 4000), ", ")
	begin := fmt.Sprintf("limits: {items: 10000}\nparams:\n  n: {type: array, default: [%s]}\n  t: {type: string, default: %s}\nsteps:\n  - id: each\n    foreach: params.n\n",
		numbers, strings.Repeat("x", 100_000))
	for call, says := range map[string]string{
		"    call: flow.set\n    capture_as: all\n    input_template: {value: \"{{ params.t }}{{ item }}\"}\n": "have more than 128 MB",
		"    call: llm.generate\n    input_template: {task: \"{{ params.t }}{{ item }}\"}\n":                   "inputs of its steps have more than 128 MB",
	} {
		graph := graphOf(t, map[string]string{"main": begin + call})
		answers := ""
		if strings.Contains(call, "llm") {
			answers = "answers: {each: [" + numbers + "]}, "
		}
		file := parsed(t, "  - {name: all, "+answers+"expect: {outcome: done}}\n", graph)
		require.Contains(t, fmt.Sprint(cases.Run(file, file.Cases[0], graph).Differences), says)
	}
}
