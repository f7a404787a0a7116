package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
)

// TestGoalsThatMeanAReview: the bundled rules lead from certain words of a goal to a
// review, and from other words not. The decider learns which rule matched, and gets
// nothing that is meant for clients.
func TestGoalsThatMeanAReview(t *testing.T) {
	skipInShort(t)
	t.Parallel()
	var asked reasoning.Request
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = reasoning.Request{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		_ = json.NewEncoder(w).Encode(reasoning.Intent{Action: reasoning.ActionFinish, Final: "so"})
	}))
	defer api.Close()
	for goal, rule := range map[string]string{
		"Review this MR": "merge_request_review", "please review pull request 12": "merge_request_review", "Review my PR, please": "merge_request_review",
		"Could you review the merge request !12?": "merge_request_review", "Code review": "local_review", "Review my code": "local_review",
		"review this diff": "local_review", "this diff": "local_review", "my code": "local_review", "Review !42": "merge_request_review",
		"please review #42": "merge_request_review", "pull request 12": "merge_request_review", "this MR": "merge_request_review", "my PR": "merge_request_review",
		"review main...feature": "merge_request_review", "Please check v1.2..HEAD~1": "merge_request_review", "Code review of origin/main..dev": "merge_request_review",
		"MR review": "merge_request_review", "PR review please": "merge_request_review", "Could you do a pull request review?": "merge_request_review",
		"look over my PR": "merge_request_review", "review group/sub/it!12": "merge_request_review", "review release+hotfix...größe": "merge_request_review",
		"review changes": "local_review", "review this": "local_review", "review everything": "local_review", "can you review what I changed": "local_review", "give my changes a review": "local_review", "look over my changes": "local_review", "please review my latest uncommitted changes": "local_review", "inspect this diff": "local_review",
		"my changes, please": "local_review", "could you take a look at my diff?": "local_review", "have a look at the changes": "local_review", "look at the code and say where it reads": "", "Review the list of breaking changes": "", "look at the log": "", "What does the review of a PR cost?": "",
		"Review the docs... and then stop": "", "Review it..": "", "Explain this diff": "", "Explain what I changed": "", "Where is this reviewed?": "", "Review the last 3 commits of docs": "", "merge request 12 into main": "", "How is a code review done here?": "", "Where is the PR template?": "",
	} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"run", "--skip-git", goal}, []string{"SAVANT_PATH=" + t.TempDir(), "REASONING_API_URL=" + api.URL,
			"AGENT_DISABLE_WORKFLOW_AUTODETECT=1"}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stderr.String())
		met := ""
		if len(asked.Rules) > 0 {
			met = asked.Rules[0].Name
			require.Equal(t, met == "merge_request_review", asked.Rules[0].Complex)
		}
		require.Equal(t, rule, met, goal)
		require.NotContains(t, asked.Driver.Text, "think.")
		require.Equal(t, "1.0", asked.Driver.Version)
	}
}

// TestAPromptsFileOverlaysTheBundledOne: a prompts.yml that sets one persona keeps the
// driver prompt, the rules and the other personas that are bundled.
func TestAPromptsFileOverlaysTheBundledOne(t *testing.T) {
	t.Parallel()
	var asked reasoning.Request
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = reasoning.Request{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		_ = json.NewEncoder(w).Encode(reasoning.Intent{Action: reasoning.ActionFinish, Final: "so"})
	}))
	defer api.Close()
	folder := t.TempDir()
	places(t, folder, "prompts.yml", "personas:\n  - {name: pirate, text: You speak as a pirate.}\n")
	trusts(t, folder)
	for goal, persona := range map[string]string{"What is it?": "pirate", "Review my code": "reviewer"} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"run", "--skip-git", goal}, []string{"SAVANT_PATH=" + folder, "REASONING_API_URL=" + api.URL,
			"AGENT_DISABLE_WORKFLOW_AUTODETECT=1", "HOME=" + os.Getenv("HOME"), "XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME")}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stderr.String())
		require.NotContains(t, stderr.String(), "prompts.yml", "it is read")
		require.Equal(t, "1.0", asked.Driver.Version)
		require.NotEmpty(t, asked.Driver.Text)
		require.Equal(t, persona, asked.Persona.Name, goal)
		require.Equal(t, persona == "reviewer", len(asked.Rules) > 0, goal)
	}
}
