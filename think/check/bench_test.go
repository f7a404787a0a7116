package check_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/schemas"
	"savant/think/check"
	"savant/think/flow"
)

// BenchmarkValidate takes what validate does with a long workflow beside parsing it
// alone, the quickest of each: validate/parse is to stay at 2 at most.
func BenchmarkValidate(b *testing.B) {
	source := []byte(longSource(1_000))
	set, err := schemas.Load(nil)
	require.NoError(b, err)
	parsing, all := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		begun := time.Now()
		_, err := flow.Parse("", source, set)
		require.NoError(b, err)
		parsing = min(parsing, time.Since(begun))

		begun = time.Now()
		workflow, err := flow.Parse("", source, set)
		require.NoError(b, err)
		graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
		require.NoError(b, err)
		require.Empty(b, check.Graph(graph, tools, nil).Errors)
		all = min(all, time.Since(begun))
	}
	b.ReportMetric(float64(all)/float64(parsing), "validate/parse")
}

// longSource is a workflow whose steps have each a tool with known arguments, a
// condition, a template and a schema.
func longSource(steps int) string {
	var out strings.Builder
	out.WriteString("name: long\nversion: \"1\"\nparams: {repo: {type: string, required: true}}\nlimits: {steps: 10000}\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&out, "  - id: log%d\n    call: own.log\n    input_template: {repo: \"{{ params.repo }}\", limit: %d}\n    capture_as: log%d\n", i, i%50, i)
		fmt.Fprintf(&out, "  - id: say%d\n    call: llm.generate\n    deps: [log%d]\n    when: len(log%d.commits) > 0\n    input_template: {task: \"Say what {{ log%d.commits[0].hash }} did\"}\n", i, i, i, i)
		out.WriteString("    success_schema: {type: object, required: [text], properties: {text: {type: string}}, additionalProperties: false}\n")
	}
	return out.String()
}
