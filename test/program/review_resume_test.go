package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// killing is a model whose every prompt is too small for a part. Its call with the number
// kill kills a program instead of answering.
type killing struct {
	*httptest.Server
	calls  atomic.Int32
	kill   int32
	victim atomic.Pointer[os.Process]
}

func newKilling(t *testing.T, kill int32) *killing {
	t.Helper()
	k := &killing{kill: kill}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Format json.RawMessage }
		if r.URL.Path != "/api/chat" || json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.NotFound(w, r)
			return
		}
		if k.calls.Add(1) == k.kill {
			_ = k.victim.Load().Kill()
			<-r.Context().Done()
			return
		}
		answer := `{"findings": []}`
		if strings.Contains(string(asked.Format), "decision") {
			answer = `{"decision": "comment", "summary": "Nothing was found in what was seen.", "reasons": ["pay.go"]}`
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"message": map[string]any{"role": "assistant", "content": answer}, "done": true})
	}))
	t.Cleanup(k.Close)
	return k
}

// TestAReviewThatWasKilledTellsAllWarnings kills a review while its last part is read. The
// review that goes on in another process reports the same as one that was not interrupted.
func TestAReviewThatWasKilledTellsAllWarnings(t *testing.T) {
	skipInShort(t)
	t.Parallel()
	folder := repository(t, "package pay\n", "package pay\nconst A = 1\n")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pay.go"), []byte("package pay\nconst A = 1\n"+strings.Repeat("// One more line of a large change.\n", 300)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "more.go"), []byte("package pay\n"+strings.Repeat("// A line of a new file.\n", 500)), 0o600))
	review := func(k *killing, run string) (stdout string, killed bool) {
		which := "--name"
		if _, err := os.Stat(filepath.Join(folder, ".savant", "state", "review_mr", run+".journal")); err == nil {
			which = "--run-id"
		}
		command := exec.Command("savant", "workflows", "run", "review_mr", which, run, "--json", "--param", "run_tests=false", "--param", "part_bytes=10000", "--set", "agent.prompt.llm_budget_tokens=2000")
		command.Env = []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + k.URL, "LLM_MODEL=ollama:llama3",
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		var out, stderr strings.Builder
		command.Stdout, command.Stderr = &out, &stderr
		require.NoError(t, command.Start())
		k.victim.Store(command.Process)
		err := command.Wait()
		require.True(t, err == nil || k.kill > 0, out.String()+stderr.String())
		return out.String(), err != nil
	}
	type outcome struct {
		Warnings []string
		Outputs  struct {
			Markdown string
			Report   struct {
				Warnings []string
				Change   struct {
					Lines map[string]int
					Parts []struct {
						Cut    bool
						Unseen []struct {
							Path        string
							From, Lines int
						}
					}
				}
			}
		}
	}
	var whole, resumed outcome
	text, _ := review(newKilling(t, 0), "whole")
	require.NoError(t, json.Unmarshal([]byte(text), &whole))
	parts := len(whole.Outputs.Report.Change.Parts)
	require.Greater(t, parts, 2)
	require.Greater(t, len(whole.Warnings), 1)
	require.Equal(t, whole.Warnings, whole.Outputs.Report.Warnings)

	_, killed := review(newKilling(t, int32(parts)), "killed")
	require.True(t, killed)
	after := newKilling(t, 0)
	text, _ = review(after, "killed")
	require.NoError(t, json.Unmarshal([]byte(text), &resumed))
	require.Less(t, int(after.calls.Load()), parts+1, "parts that were read before are not read again")
	require.ElementsMatch(t, whole.Warnings, resumed.Warnings)
	require.ElementsMatch(t, whole.Outputs.Report.Warnings, resumed.Outputs.Report.Warnings)
	require.Equal(t, whole.Outputs.Report.Change, resumed.Outputs.Report.Change)

	// What was not seen is told by file and line, and adds up.
	unseen := 0
	for _, each := range resumed.Outputs.Report.Change.Parts {
		require.Equal(t, each.Cut, len(each.Unseen) > 0)
		for _, file := range each.Unseen {
			require.Positive(t, file.From)
			unseen += file.Lines
		}
	}
	lines := resumed.Outputs.Report.Change.Lines
	require.Equal(t, lines["cut"], unseen)
	require.Positive(t, lines["reviewed"])
	require.Equal(t, 801, lines["all"])
	require.Equal(t, lines["all"], lines["cut"]+lines["reviewed"])
	require.Regexp(t, "(?m)^\\| `more.go` \\| untracked \\| \\+501 -0 \\| not seen: .*\\d+ lines of part \\d+, from line \\d+ on", resumed.Outputs.Markdown)
}
