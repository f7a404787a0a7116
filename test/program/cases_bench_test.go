package program

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkWorkflowsTest takes the command `workflows test` with 1,000 cases of 20 steps
// beside `workflows validate` of their workflow, the quickest of each, both without the start
// of the program. The goal for test/validate is at most 40.
func BenchmarkWorkflowsTest(b *testing.B) {
	folder := b.TempDir()
	require.NoError(b, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	steps, answers := "name: main\nversion: \"1\"\nsteps:\n", ""
	for i := range 20 {
		value := "1"
		if i > 0 {
			value = fmt.Sprintf("c%d.n + 1", i-1)
		}
		steps += fmt.Sprintf("  - {id: s%d, call: tool.x, capture_as: c%d, input_template: {n: \"{{ %s }}\"}}\n", i, i, value)
		answers += fmt.Sprintf("s%d: {n: %d}, ", i, i)
	}
	var tests strings.Builder
	tests.WriteString("workflow: main\ncases:\n")
	for i := range 1000 {
		fmt.Fprintf(&tests, "  - {name: x%d, answers: {%s}, expect: {outcome: done}}\n", i, answers)
	}
	workflow := filepath.Join(folder, "workflows", "main.yaml")
	require.NoError(b, os.WriteFile(workflow, []byte(steps), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(folder, "workflows", "main.cases.yaml"), []byte(tests.String()), 0o600))
	environment := []string{"SAVANT_PATH=" + folder, "HOME=" + folder}
	took := func(args ...string) time.Duration {
		begun := time.Now()
		require.Zero(b, run(b.Context(), args, environment, strings.NewReader(""), io.Discard, io.Discard))
		return time.Since(begun)
	}
	one, all := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		one = min(one, took("workflows", "validate", workflow))
		all = min(all, took("workflows", "test", "main"))
	}
	b.ReportMetric(float64(all)/float64(one), "test/validate")
	b.ReportMetric(one.Seconds()*1000, "validate-ms")
	b.ReportMetric(all.Seconds()*1000, "test-ms")
}
