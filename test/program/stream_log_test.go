package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALogLineDoesNotInterruptWhatAModelWrites: of two steps at once, one is amid its text
// while the log says of the other that its input was cut.
func TestALogLineDoesNotInterruptWhatAModelWrites(t *testing.T) {
	t.Parallel()
	const two = "name: two\nversion: \"1\"\nparams: {text: {type: string}}\nlimits: {parallel: 2}\nsteps:\n" +
		"  - {id: writer, call: llm.generate, input_template: {task: Write slowly.}}\n" +
		"  - {id: reader, call: llm.generate, input_template: {task: Read much., text: \"{{ params.text }}\"}}\n"
	text, err := json.Marshal(map[string]string{"text": strings.Repeat("One more line.\n", 2000)})
	require.NoError(t, err)
	for name, args := range map[string][]string{
		"workflows": {"workflows", "run", "two", "--params", string(text)},
		"run":       {"run", "--skip-git", "--quiet=false", "--force-tool", "workflow.workflow_run", "--force-args", `{"workflow":"two","params":` + string(text) + `}`, "--force-finish", "--allow", "*", "--approve", "*", "go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "two.yaml"), []byte(two), 0o600))
			stderr := &untilSeen{want: "did not see", seen: make(chan struct{})}
			begun := make(chan struct{})
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct{ Messages []struct{ Content string } }
				if r.URL.Path != "/api/chat" || json.NewDecoder(r.Body).Decode(&asked) != nil {
					http.NotFound(w, r)
					return
				}
				part := func(text string, done bool) {
					_ = json.NewEncoder(w).Encode(map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "done": done})
					_ = http.NewResponseController(w).Flush()
				}
				prompt := asked.Messages[len(asked.Messages)-1].Content
				wait := begun
				if strings.Contains(prompt, "Write slowly.") {
					part("It begins ", false)
					close(begun)
					wait = stderr.seen
				}
				select {
				case <-wait:
				case <-r.Context().Done():
					return
				}
				part("and ends.", true)
			}))
			defer model.Close()
			var stdout strings.Builder
			code := run(t.Context(), append(args, "--set", "agent.prompt.llm_budget_tokens=2000"), []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + model.URL, "LLM_MODEL=ollama:m"},
				strings.NewReader(""), &stdout, stderr)
			require.Equal(t, exitOK, code, stdout.String()+stderr.text.String())
			require.Regexp(t, `(?m)^\S+ level=WARN msg="[^"]*step reader`, stderr.text.String())
			require.NotRegexp(t, regexp.MustCompile(`(?m)^.+time=\S+ level=WARN`), stderr.text.String())
		})
	}
}
