package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAReviewTellsWhatItsModelDidNotSee reviews a change that does not fit the prompts of
// its models: the report says so, however the review was asked for.
func TestAReviewTellsWhatItsModelDidNotSee(t *testing.T) {
	t.Parallel()
	folder := repository(t, "package pay\n", "package pay\n"+strings.Repeat("// One more line of a large change.\n", 300))
	findings := `{"findings": []}`
	verdict := `{"decision": "comment", "summary": "Nothing was found in what was seen.", "reasons": ["pay.go"]}`
	for name, args := range map[string][]string{"review": {"review"}, "run": {"run", "review my code"}} {
		t.Run(name, func(t *testing.T) {
			o := newOllama(t, map[string][]string{"llama3": {findings, verdict}})
			var stdout, stderr strings.Builder
			code := run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "AGENT_SLM_BUDGET_TOKENS=2000", "AGENT_LLM_BUDGET_TOKENS=2000",
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, exitOK, code, stdout.String()+stderr.String())
			require.Contains(t, stdout.String(), ": comment\n\nNothing was found in what was seen.")
			require.Regexp(t, `(?m)^Warning: the input of step review_0 was cut: ollama:llama3 did not see \d+ tokens of it`, stdout.String())
		})
	}
}
