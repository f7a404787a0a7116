package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/telemetry"
)

// keeper is a Reasoning API that keeps its answers by key, as docs/reasoning-api.md
// invites: the answer is the task, and the data if there is any.
type keeper struct {
	mu   sync.Mutex
	kept map[string]string
	paid int
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	if json.NewDecoder(r.Body).Decode(&request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if k.kept[key] == "" {
		k.paid++
		answer, _ := json.Marshal(map[string]string{"text": request.Question.Task + request.Data()})
		k.kept[key] = string(answer)
	}
	_ = json.NewEncoder(w).Encode(reasoning.Intent{Action: reasoning.ActionFinish, Final: k.kept[key]})
}

const twoSteps = `name: two
version: "1"
steps:
  - id: first
    call: llm.generate
    input_template: {task: "Say one."}
    success_schema: {type: object, required: [text]}
    capture_as: first
  - id: each
    foreach: "['a', 'b', 'a']"
    as: letter
    call: llm.generate
    input_template: {task: "Say a letter.", letter: "{{ letter }}"}
    success_schema: {type: object, required: [text]}
    capture_as: letters
  - id: last
    call: llm.generate
    deps: [each]
    input_template: {task: "Say two."}
    success_schema: {type: object, required: [text]}
    capture_as: last
outputs:
  said: "{{ first.text }} {{ join(map(letters, .text), ' ') }} {{ last.text }}"
`

// project is a folder with a workflow.
func project(t *testing.T, name, workflow string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", name+".yaml"), []byte(workflow), 0o644))
	return folder
}

// Each step and each item of a loop gets its own answer, from a service that keeps
// what it answered, too; a run of the same id in another folder as well.
func TestAServiceThatKeepsItsAnswersMixesNoneUp(t *testing.T) {
	t.Parallel()
	service := &keeper{kept: map[string]string{}}
	api := httptest.NewServer(service)
	defer api.Close()
	for i, workflow := range []string{twoSteps, strings.ReplaceAll(twoSteps, "Say two.", "Say three.")} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"workflows", "run", "two", "--name", "r1"},
			[]string{"SAVANT_PATH=" + project(t, "two", workflow), "REASONING_API_URL=" + api.URL}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stderr.String())
		last := []string{"Say two.", "Say three."}[i]
		require.Contains(t, stdout.String(), `said: Say one. Say a letter.{"letter":"a"} Say a letter.{"letter":"b"} Say a letter.{"letter":"a"} `+last)
	}
	require.Len(t, service.kept, service.paid)
}

// repository is a git repository with a branch that changes one file.
func repository(t *testing.T, before, after string) string {
	t.Helper()
	folder := t.TempDir()
	git := func(args ...string) {
		out, err := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=ada", "-c", "user.email=ada@example.org"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "pay.go"), []byte(text), 0o644))
	}
	git("init", "-q", "-b", "main")
	write(before)
	git("add", ".")
	git("commit", "-qm", "first")
	git("checkout", "-qb", "faster")
	write(after)
	git("commit", "-qam", "second")
	return folder
}

const asksForChanges = `{"decision":"request_changes","summary":"Pay drops the error of send, see pay.go.","reasons":["pay.go returns nil"]}`

// The model that gives the verdict of review_v1 sees the change, and its answer is
// wanted in the schema of the step.
func TestTheVerdictIsAskedWithTheChange(t *testing.T) {
	t.Parallel()
	folder := repository(t, "package pay\n", "package pay\n\nfunc Pay() error { _ = send(); return nil }\n")
	models := newOllama(t, map[string][]string{"small": {asksForChanges}})
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"workflows", "run", "review_v1", "--name", "r1"},
		[]string{"SAVANT_PATH=" + folder, "SLM_MODEL=ollama:small", "OLLAMA_HOST=" + models.URL}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Contains(t, stdout.String(), "decision: request_changes")
	require.Len(t, models.asked, 1)
	shown := models.asked[0].Messages
	require.Contains(t, shown[1].Content, "+func Pay() error { _ = send(); return nil }")
	require.Contains(t, shown[1].Content, "Decide on this change")
	require.Contains(t, string(models.asked[0].Format), `"request_changes"`)
	require.NotContains(t, shown[0].Content+shown[1].Content, "tool_name")
}

// A patch that is larger than the prompt is cut in its place, and that is said in the
// log and in the trace; a large model sees all of it.
func TestALargePatchIsCutAndTold(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	var after strings.Builder
	for i := range 3500 {
		fmt.Fprintf(&after, "// line %d of the patch\n", i)
	}
	folder := repository(t, "package pay\n", "package pay\n"+after.String())
	models := newOllama(t, map[string][]string{"small": {asksForChanges}, "large": {asksForChanges}})
	environment := []string{"SAVANT_PATH=" + folder, "SLM_MODEL=ollama:small", "OLLAMA_HOST=" + models.URL}
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"workflows", "run", "--json", "review_v1", "--name", "r1"}, environment, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Contains(t, stderr.String(), "the input of step verdict was cut")
	var outcome struct{ Warnings []string }
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &outcome))
	require.Len(t, outcome.Warnings, 1)
	shown := models.asked[0].Messages
	require.Regexp(t, `… \(\d+ of \d+ tokens left out\)`, shown[1].Content)
	require.LessOrEqual(t, (len(shown[0].Content)+3)/4+(len(shown[1].Content)+3)/4, 8000)
	prompts := ofType(traceOf(t, folder), telemetry.PromptSnapshot)
	require.Len(t, prompts, 1)
	require.Contains(t, fmt.Sprint(prompts[0].Metadata["sections"]), "trimmed")

	code = run(t.Context(), []string{"workflows", "run", "review_v1", "--name", "r2"}, append(environment, "LLM_MODEL=ollama:large"), strings.NewReader(""), io.Discard, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Equal(t, []string{"small", "large"}, models.models())
	require.Contains(t, models.asked[1].Messages[1].Content, "+// line 3499 of the patch")
}

// What can never be cut and does not fit leaves the step to somebody else, and says
// how large it is and what to do.
func TestATaskThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	models := newOllama(t, map[string][]string{"small": {asksForChanges}})
	large := strings.Replace(twoSteps, "Say one.", strings.Repeat("Say one. ", 4000), 1)
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"workflows", "run", "two", "--name", "r1"},
		[]string{"SAVANT_PATH=" + project(t, "two", large), "SLM_MODEL=ollama:small", "OLLAMA_HOST=" + models.URL}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitPending, code, stderr.String())
	require.Regexp(t, `LIMIT_EXCEEDED: step first: .* 9\d\d\d .* 8000`, stderr.String())
	require.Contains(t, stderr.String(), "agent.prompt.slm_budget_tokens")
	require.Empty(t, models.asked)
}
