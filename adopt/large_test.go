package adopt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/adopt"
	"savant/fault"
	"savant/think/flow"
)

// repeated writes a text for each number, up to a size.
func repeated(size int, begin string, each func(number int) string) string {
	var out strings.Builder
	out.WriteString(begin)
	for number := 0; out.Len() < size-100; number++ {
		out.WriteString(each(number))
	}
	return out.String()
}

// Large documents are read in the time of their bytes: each of them took minutes, or all
// memory.
func TestLargestDocuments(t *testing.T) {
	plain := read(t, "plain.md", repeated(1<<20, "", func(number int) string { return fmt.Sprintf("Paragraph %d of it.\n\n", number) }))
	require.Len(t, plain.Steps, 1)
	require.Greater(t, len(plain.Units), 40_000)
	require.Equal(t, len(plain.Units)*2-1, plain.Units[len(plain.Units)-1].Line)

	for name, text := range map[string]string{
		"items.md":    repeated(1<<18, "", func(number int) string { return fmt.Sprintf("1. Do %d\n", number) }),
		"commands.md": repeated(1<<18, "", func(number int) string { return fmt.Sprintf("```sh\nls %d\n```\n\n", number) }),
		"others.md":   repeated(1<<18, "If a, go. ", func(int) string { return "Otherwise go on. " }),
		"chain.mmd":   repeated(1<<18, "flowchart TD\n", func(number int) string { return fmt.Sprintf("a%d --> a%d\n", number, number+1) }),
		"star.mmd":    repeated(1<<18, "flowchart TD\n", func(number int) string { return fmt.Sprintf("a%d --> z\n", number) }),
		"open.mmd":    repeated(1<<18, "flowchart TD\n", func(number int) string { return fmt.Sprintf("a%d -->\n", number) }),
		"groups.dot":  "digraph {{" + repeated(1<<18, "", func(number int) string { return fmt.Sprintf("a%d ", number%3000) }) + "} -> {" + strings.Repeat("b c ", 1) + "}}",
		"jobs.yml": repeated(1<<18, "jobs:\n", func(number int) string {
			return fmt.Sprintf("  j%d: {needs: j%d, steps: [{run: ls}]}\n", number, number+1)
		}),
		"matrix.yml": "jobs:\n  a:\n    steps: [{run: ls}]\n    strategy:\n      matrix:\n        x: [1" + strings.Repeat(", 1", 200) + "]\n        y: [1" + strings.Repeat(", 1", 100_000) + "]\n",
	} {
		draft, err := adopt.Read(name, []byte(text), flow.ReadForeignYAML)
		switch name {
		case "groups.dot":
			require.NoError(t, err)
			require.Len(t, draft.Steps, 3002)
		case "matrix.yml":
			require.NoError(t, err)
			require.Contains(t, draft.Units[0].Why, "too many")
		case "jobs.yml": // the last job needs one that is not there
			require.ErrorIs(t, err, fault.CyclicDependency)
		case "others.md":
			require.NoError(t, err)
		default:
			require.ErrorIs(t, err, fault.LimitExceeded, name)
		}
	}
}

// A chart in a page comes between what stands above it and below it, whichever way is taken.
func TestAChartInAPageIsAPartOfItsOrder(t *testing.T) {
	page := "1. First this\n\n```mermaid\nflowchart TD\nq{Good?} -->|yes| a[Ship]\nq -->|no| b[Mend]\n```\n\n1. Then that\n"
	draft := read(t, "page.md", page)
	first, question := step(t, draft, "first_this"), step(t, draft, "q")
	require.Equal(t, []string{first.ID}, question.Deps)
	after := step(t, draft, "after_the_chart")
	require.ElementsMatch(t, []string{"q", "a", "b"}, after.Deps) // q is done also where no way is taken
	require.Equal(t, "any", after.Join)
	require.Equal(t, []string{after.ID}, step(t, draft, "then_that").Deps)

	// What stands behind a chart in a section that is not for this run is not done.
	branch := read(t, "page.md", "## If the disk is full:\n\n```dot\ndigraph { one -> two }\n```\n\n1. Then that\n\n## Next\n\nEnd it.\n")
	require.NotEmpty(t, step(t, branch, "one").When)
	require.Equal(t, []string{"after_the_chart"}, step(t, branch, "then_that").Deps)
	require.Equal(t, "success", step(t, branch, "then_that").Join)
}

// Inputs are parameters, and a task that names one has its value.
func TestInputsOfActionsAreParameters(t *testing.T) {
	draft := read(t, "release.yml", `on:
  workflow_dispatch:
    inputs:
      version: {description: Which one, required: true}
      level: {type: choice, options: [low, high], default: low}
      input: {type: boolean, default: false}
  workflow_call:
    inputs: {version: {type: string}}
jobs:
  a:
    steps:
      - run: ./release ${{ inputs.version }} ${{ github.event.inputs.level }}
      - run: make
`)
	require.JSONEq(t, `{"type": "string", "required": true, "description": "Which one"}`, draft.Params["version"])
	require.JSONEq(t, `{"type": "string", "default": "low", "enum": ["low", "high"]}`, draft.Params["level"])
	require.JSONEq(t, `{"type": "string", "default": "false"}`, draft.Params["input_b"])
	require.Equal(t, map[string]any{"version": "{{ params.version }}", "level": "{{ params.level }}"}, draft.Steps[0].Input["inputs"])
	require.Nil(t, draft.Steps[1].Input["inputs"])
	require.Equal(t, 6, draft.Units[0].Line)
}
