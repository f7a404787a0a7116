package program

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// untilSeen is a writer that closes seen when a text was written to it.
type untilSeen struct {
	mu   sync.Mutex
	text strings.Builder
	want string
	seen chan struct{}
}

func (u *untilSeen) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.text.Write(p)
	if u.want != "" && strings.Contains(u.text.String(), u.want) {
		close(u.seen)
		u.want = ""
	}
	return len(p), nil
}

// TestWhatAServiceOutsideWritesIsShownAsItComes: a model writes its second half only after
// the first was shown, through `savant reasoning serve`, to an agent and to a workflow.
func TestWhatAServiceOutsideWritesIsShownAsItComes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string // in two halves
		args   []string
		stdout bool
	}{
		"run":       {`{"action": "finish",|| "final": "it is ` + plantedSecret + `"}`, []string{"run", "--skip-git", "What is it?"}, false},
		"stream":    {`{"action": "finish",|| "final": "it is ` + plantedSecret + `"}`, []string{"run", "--skip-git", "--output", "stream-json", "What is it?"}, true},
		"workflows": {`{"text": "Hello,|| ` + plantedSecret + `!"}`, []string{"workflows", "run", "hello"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			first, second, _ := strings.Cut(c.answer, "||")
			shown := &untilSeen{want: first, seen: make(chan struct{})}
			if c.stdout {
				shown.want = `"type":"llm_text"`
			}
			asked := 0
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/chat" {
					http.NotFound(w, r)
					return
				}
				asked++
				part := func(text string, done bool) {
					_ = json.NewEncoder(w).Encode(map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "done": done})
					_ = http.NewResponseController(w).Flush()
				}
				part(first+" ", false) // a word ends, so it is no part of a secret
				select {
				case <-shown.seen:
				case <-r.Context().Done():
					return
				}
				part(second, true)
			}))
			defer model.Close()
			address, stop := serveReasoning(t, "SAVANT_PATH="+t.TempDir(), "OLLAMA_HOST="+model.URL, "SLM_MODEL=m")
			defer stop()
			var other bytes.Buffer
			stdout, stderr := &other, &bytes.Buffer{}
			environment := []string{"SAVANT_PATH=" + t.TempDir(), "REASONING_API_URL=" + address, "MY_API_TOKEN=" + plantedSecret}
			var code int
			if c.stdout {
				code = run(t.Context(), c.args, environment, strings.NewReader(""), shown, stderr)
			} else {
				code = run(t.Context(), c.args, environment, strings.NewReader(""), stdout, shown)
			}
			require.Equal(t, exitOK, code, shown.text.String())
			require.Positive(t, asked)
			if strings.Contains(second, plantedSecret) {
				require.Contains(t, shown.text.String(), "[redacted]")
			}
			require.NotContains(t, shown.text.String(), plantedSecret)
		})
	}
}
