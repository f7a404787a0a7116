package program

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/telemetry"
)

// TestTheExitCodeOfAReview starts reviews that end in each way: only changes that are asked
// for end with 1.
func TestTheExitCodeOfAReview(t *testing.T) {
	skipInShort(t)
	t.Parallel()
	folder := repository(t, "package pay\n", "package pay\n\n// More.\n")
	none := `{"findings": []}`
	blocker := `{"findings": [{"path": "pay.go", "line": 3, "severity": "blocker", "message": "This says too little of it.", "evidence": "// More."}]}`
	verdict := func(decision string) string {
		return `{"decision": "` + decision + `", "summary": "The change was read as a whole.", "reasons": ["pay.go"]}`
	}
	for name, c := range map[string]struct {
		answers []string
		args    []string
		want    int
		says    string
	}{
		"approved":          {[]string{none, verdict("approve")}, nil, exitOK, ""},
		"changes asked for": {[]string{blocker, verdict("request_changes")}, nil, 1, ""},
		"vetoed":            {[]string{blocker, verdict("approve")}, nil, 1, "request_changes: 1 finding in 2 of 2 changed lines."},
		"no such branch":    {[]string{none}, []string{"nosuch"}, 3, "expected a commit of this repository"},
		"no model":          {nil, []string{"--set=llm.provider=offline"}, 8, "No model is set: name one with LLM_MODEL or --llm=PROVIDER:NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOllama(t, map[string][]string{"llama3": c.answers})
			var stdout, stderr strings.Builder
			code := run(t.Context(), append([]string{"review", "--no-tests"}, c.args...), []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL,
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, c.want, code, stdout.String()+stderr.String())
			require.Contains(t, stderr.String(), c.says)
			require.Equal(t, c.want > 1, stdout.String() == "", stdout.String())
		})
	}
}

// TestModelsAreNamedAlikeEverywhere names the models of commands that drive workflows and
// serve decisions as `savant run` has them named.
func TestModelsAreNamedAlikeEverywhere(t *testing.T) {
	t.Parallel()
	folder := repository(t, "package pay\n", "package pay\n\n// More.\n")
	findings, verdict := `{"findings": []}`, `{"decision": "approve", "summary": "The change was read as a whole.", "reasons": ["pay.go"]}`
	o := newOllama(t, map[string][]string{"house": {findings, verdict, findings, verdict}})
	savant := func(args ...string) (int, string) {
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
			strings.NewReader(`{"run_id": "r1", "step": 1, "goal": "Look."}`), &stdout, &stderr)
		return code, stderr.String()
	}
	code, stderr := savant("review", "--no-tests", "--llm=ollama:house")
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, []string{"house", "house"}, o.models())
	code, stderr = savant("workflows", "run", "review_mr", "--param", "run_tests=false", "--slm", "house")
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, []string{"house", "house", "house", "house"}, o.models()[:4])
	_, stderr = savant("reasoning", "decide", "--slm=house", "--request", "-")
	require.NotContains(t, stderr, "unknown flag")
	require.Greater(t, len(o.models()), 4, stderr)
	for _, command := range [][]string{{"reasoning", "serve"}, {"reasoning", "work"}} {
		code, stderr = savant(append(command, "--slm=", "--nosuch")...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "--nosuch", "--slm is known")
	}
	code, stderr = savant("review", "--slm=house", "--reasoning-api-url=http://127.0.0.1:1")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--slm names a model of the built-in service, and REASONING_API_URL names another service")
}

// TestAttemptsCountAsRetries: a model's HTTP 500 is a call, and the one after it says so.
func TestAttemptsCountAsRetries(t *testing.T) {
	t.Parallel()
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPost {
			asked++
		}
		if r.Method != http.MethodPost || asked < 3 {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		answer, _ := json.Marshal(reasoning.Intent{Action: reasoning.ActionFinish, Final: "so"})
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": string(answer)}, "finish_reason": "stop"}}})
	}))
	defer api.Close()
	folder := t.TempDir()
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"run", "--skip-git", "--quiet", "What now?"}, []string{"SAVANT_PATH=" + folder, "LLM_MODEL=openai:m", "OPENAI_BASE_URL=" + api.URL, "OPENAI_API_KEY=k"},
		strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	var retries []any
	for _, each := range ofType(traceOf(t, folder), telemetry.LLMCall) {
		retries = append(retries, each.Metadata["retry"])
	}
	require.Equal(t, []any{0., 1., 2.}, retries)
}
