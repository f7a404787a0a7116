package program

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAReviewTellsWhatItsModelDidNotSee reviews a change that does not fit the prompts of
// its models: the report says so, however the review was asked for.
func TestAReviewTellsWhatItsModelDidNotSee(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := repository(t, "package pay\n", "package pay\n"+strings.Repeat("// One more line of a large change.\n", 300))
	findings := `{"findings": []}`
	verdict := `{"decision": "comment", "summary": "Nothing was found in what was seen.", "reasons": ["pay.go"]}`
	for name, args := range map[string][]string{"review": {"review"}, "run": {"run", "review my code"}} {
		t.Run(name, func(t *testing.T) {
			o := newOllama(t, map[string][]string{"llama3": {findings, verdict}})
			var stdout, stderr strings.Builder
			code := run(t.Context(), append(args, smallPrompts...), []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL,
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, exitOK, code, stdout.String()+stderr.String())
			require.Contains(t, stdout.String(), ": comment\n\nNothing was found in what was seen.")
			seen := regexp.MustCompile(`(?m)^(\d+) of 300 changed lines, in 1 part\. (\d+) lines were not seen\.$`).FindStringSubmatch(stdout.String())
			require.NotNil(t, seen, stdout.String())
			reviewed, _ := strconv.Atoi(seen[1])
			unseen, _ := strconv.Atoi(seen[2])
			require.Positive(t, reviewed)
			require.Equal(t, 300, reviewed+unseen)
			require.Contains(t, stdout.String(), fmt.Sprintf("| not seen: %d lines of part 1, from line %d on |", unseen, reviewed+2))
			require.Equal(t, 1, strings.Count(stdout.String(), "Warning: "))
			require.Regexp(t, `(?m)^Warning: .*step review_0.*ollama:llama3.*\d+ tokens`, stdout.String())
		})
	}
}

// smallPrompts are flags that bound the prompts of both models.
var smallPrompts = []string{"--set", "agent.prompt.slm_budget_tokens=2000", "--set", "agent.prompt.llm_budget_tokens=2000"}

// TestWhatAModelDidNotSeeIsInEachForm: SARIF and JSON say it as well as the workflow's own
// outputs.
func TestWhatAModelDidNotSeeIsInEachForm(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := repository(t, "package pay\n", "package pay\n"+strings.Repeat("// One more line of a large change.\n", 300))
	review := func(args ...string) string {
		o := newOllama(t, map[string][]string{"llama3": {`{"findings": []}`, `{"decision": "comment", "summary": "Nothing was found in what was seen.", "reasons": ["pay.go"]}`}})
		var stdout, stderr strings.Builder
		code := run(t.Context(), append(args, smallPrompts...), []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL,
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stdout.String()+stderr.String())
		return stdout.String()
	}
	var sarif struct {
		Runs []struct {
			Invocations []struct {
				ExecutionSuccessful        bool
				ToolExecutionNotifications []struct {
					Level   string
					Message struct{ Text string }
				}
			}
			Properties struct{ Lines map[string]int }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(review("review", "--no-tests", "--output", "sarif")), &sarif))
	invocation := sarif.Runs[0].Invocations[0]
	require.True(t, invocation.ExecutionSuccessful)
	require.Len(t, invocation.ToolExecutionNotifications, 1)
	require.Equal(t, "warning", invocation.ToolExecutionNotifications[0].Level)
	require.Contains(t, invocation.ToolExecutionNotifications[0].Message.Text, "step review_0")
	lines := sarif.Runs[0].Properties.Lines
	require.Positive(t, lines["cut"])
	require.Equal(t, map[string]int{"all": 300, "reviewed": 300 - lines["cut"], "cut": lines["cut"], "left_out": 0}, lines)

	outputs := review("workflows", "run", "review_mr", "--param", "run_tests=false")
	require.Contains(t, outputs, "Warning: the input of step review_0 was cut")
	require.Contains(t, outputs, fmt.Sprintf(`"cut":%d`, lines["cut"]))
}
