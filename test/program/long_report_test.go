package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALongReportEndsTheRun orders a workflow whose report is longer than what a step
// keeps of an output: the run ends with the whole report, and nobody is asked.
func TestALongReportEndsTheRun(t *testing.T) {
	t.Parallel()
	folder, report := t.TempDir(), strings.Repeat("One line of a long report.\n", 2000)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "long.yaml"), []byte(`name: long
version: "1.0"
params:
  line: {type: string, default: "`+strings.ReplaceAll(report, "\n", `\n`)+`"}
steps:
  - id: say
    call: flow.set
    input_template: {value: "{{ params.line }}"}
    capture_as: text
outputs: {markdown: "{{ state.text }}"}
`), 0o600))
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"run", "--workflow", "long", "--output", "json"}, []string{"SAVANT_PATH=" + folder, "LLM_PROVIDER=offline",
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	var ended struct {
		Status, Final string
		Steps         int
	}
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &ended), stdout.String())
	require.Equal(t, "ok", ended.Status)
	require.Equal(t, 1, ended.Steps, stderr.String())
	require.Equal(t, report, ended.Final)
}
