package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestATokenMeansItsOwnRuns: over HTTP, a call without a run id means a run of its token,
// or of its session, and the history names the token.
func TestATokenMeansItsOwnRuns(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "w.yaml"), []byte(`name: w
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: a}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: b}}
`), 0o600))
	tokens := map[string]string{}
	for _, name := range []string{"one", "two"} {
		command := exec.Command("savant", "token", "add", name, "--scope", "run", "--path", folder)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err)
		tokens[name] = strings.TrimSpace(string(out))
	}
	s := serveHTTP(t, folder, configuration)
	call := func(token, tool string, args map[string]any) string {
		_, body := s.callHTTP(t, tokens[token], tool, args)
		return body
	}
	require.Contains(t, call("one", "think.plan", map[string]any{"workflow": "w", "run_id": "r"}), `"step_id":"a"`)
	refused := call("two", "think.next", map[string]any{"step_id": "a", "result_snapshot": "from two"})
	require.Contains(t, refused, "INVALID_PARAMS")
	require.Contains(t, refused, "none of the open runs was planned or named by this client: name one of r (w, a, ")
	require.Contains(t, call("one", "think.next", map[string]any{"step_id": "a", "result_snapshot": "from one"}), `"version":2`)
	require.Contains(t, call("two", "think.next", map[string]any{"run_id": "r", "step_id": "b", "result_snapshot": "from two"}), `"done":true`)
	var whole struct {
		Result struct {
			StructuredContent struct {
				History []struct{ By string }
			}
		}
	}
	body := call("one", "think.state.get", map[string]any{"workflow": "w"})
	if _, data, streamed := strings.Cut(body, "data: "); streamed {
		body = data
	}
	require.NoError(t, json.Unmarshal([]byte(body), &whole), body)
	by := []string{}
	for _, each := range whole.Result.StructuredContent.History {
		by = append(by, each.By)
	}
	require.Equal(t, []string{"one", "one", "two"}, by)
	require.Contains(t, call("two", "agent.run", map[string]any{"goal": "say it", "force_finish": true}), `"status":"ok"`)
	require.NoError(t, s.command.Process.Signal(os.Interrupt)) // the trace is whole when it has ended
	<-s.read
	trace, err := os.ReadFile(filepath.Join(folder, "logs", "agent_trace.log"))
	require.NoError(t, err)
	require.Regexp(t, `"type":"tool_call_completed","source":"mcp","by":"one",.*"tool_name":"think.plan"`, string(trace))
	require.Regexp(t, `"type":"run_finished","source":"agent","by":"two",`, string(trace))
}
