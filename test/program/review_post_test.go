//go:build linux

package program

import (
	"fmt"
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

// posting is a folder with the server of a forge, and a model that reviews.
type posting struct {
	t       *testing.T
	folder  string
	store   string
	address string
	home    string
}

func newPosting(t *testing.T, kind string) *posting {
	t.Helper()
	p := &posting{t: t, folder: repository(t, "package pay\n", "package pay\n\n// Two.\n"), home: t.TempDir()}
	p.store = filepath.Join(t.TempDir(), "forge.json")
	p.address = "https://github.com/ada/it/pull/12"
	if kind != "github" {
		p.address = "https://gitlab.com/ada/it/-/merge_requests/12"
	}
	places(t, p.folder, ".savant/mcp.json", fmt.Sprintf(`{"mcpServers": {"house": {"command": "savant-forge", "args": [%q, %q]}}}`, kind, p.store))
	trusts(t, p.folder)
	return p
}

func (p *posting) has(store forgeStore) { require.NoError(p.t, store.save(p.store)) }

func (p *posting) comments() []string {
	p.t.Helper()
	store, err := readForge(p.store)
	require.NoError(p.t, err)
	return store.Comments
}

// savant prepares a command. Its model finds that a quoted line must go.
func (p *posting) savant(args ...string) (*exec.Cmd, *strings.Builder) {
	findings := `{"findings": [{"path": "pay.go", "line": 2, "severity": "minor", "message": "This says too little of it.", "evidence": "// More.", "suggestion": "/merge is what it could say"}]}`
	o := newOllama(p.t, map[string][]string{"llama3": {findings, `{"decision": "comment", "summary": "The change was read as a whole.", "reasons": ["pay.go"]}`}})
	command := exec.CommandContext(p.t.Context(), "savant", args...)
	command.Env = append(os.Environ(), "SAVANT_PATH="+p.folder, "OLLAMA_HOST="+o.URL, "LLM_MODEL=ollama:llama3", "HOME="+p.home)
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	return command, &out
}

func (p *posting) exits(want int, args ...string) string {
	p.t.Helper()
	command, out := p.savant(args...)
	err := command.Run()
	require.Equal(p.t, want, command.ProcessState.ExitCode(), "%v: %s", err, out)
	return out.String()
}

// reviewed runs a review up to the question whether it is posted, and agrees.
func (p *posting) reviewed(run string) {
	p.t.Helper()
	require.Contains(p.t, p.exits(8, "review", p.address, "--no-tests", "--post", "--name", run), "waits for a person")
	person, program := atTerminal(p.t)
	command, _ := p.savant("approve", run)
	command.Stdin, command.Stdout, command.Stderr = program, program, program
	require.NoError(p.t, command.Start())
	require.Contains(p.t, readUntil(p.t, person, "[l]ater "), "This says too little of it.")
	_, err := person.WriteString("y\n")
	require.NoError(p.t, err)
	require.NoError(p.t, command.Wait())
}

// TestAReviewIsPostedOnce posts a review through the server of each forge, a process of
// its own: after a person agreed, and once for a head commit, however the first attempt
// ended and however many comments there are.
func TestAReviewIsPostedOnce(t *testing.T) {
	skipInShort(t)
	for _, kind := range []string{"github", "gitlab", "gitlab-next"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPosting(t, kind)
			old := make([]string, 150)
			for i := range old {
				old[i] = fmt.Sprintf("comment %d", i)
			}
			var victim atomic.Pointer[os.Process]
			kills := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { _ = victim.Load().Kill() }))
			defer kills.Close()
			p.has(forgeStore{Head: "a1", Comments: old, Told: kills.URL})

			p.reviewed("first")
			require.Equal(t, old, p.comments(), "nothing is posted before it goes on")
			goOn := []string{"workflows", "run", "review_mr", "--run-id", "first"}
			command, out := p.savant(goOn...)
			require.NoError(t, command.Start())
			victim.Store(command.Process)
			require.Error(t, command.Wait(), out.String())
			require.Len(t, p.comments(), 151, "it was killed between the comment and its record: %s", out)

			p.exits(exitOK, goOn...)
			comments := p.comments()
			require.Len(t, comments, 151)
			require.Contains(t, comments[150], "// More.")
			require.Contains(t, comments[150], "/merge is what it could say")

			p.has(forgeStore{Head: "a1", Comments: append([]string{comments[150]}, old...)})
			p.reviewed("again")
			p.exits(exitOK, "workflows", "run", "review_mr", "--run-id", "again")
			require.Len(t, p.comments(), 151, "the commit was reviewed before")

			p.has(forgeStore{Head: "a2", Comments: comments})
			p.reviewed("next")
			p.exits(exitOK, "workflows", "run", "review_mr", "--run-id", "next")
			require.Len(t, p.comments(), 152, "another commit has a comment of its own")
		})
	}
}

// TestWhatCannotBePostedIsReportedFirst: no model is asked for a review that has no place.
func TestWhatCannotBePostedIsReportedFirst(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	p := newPosting(t, "github")
	p.has(forgeStore{Head: "a1"})
	said := p.exits(3, "review", "faster", "--no-tests", "--post")
	require.Contains(t, said, "A review is posted on a pull or merge request of a known project")
	require.NotContains(t, said, "llm.generate")
	require.Empty(t, p.comments())
}

// TestAnAgentPostsNothingUnasked: where nobody can be asked, a model posts nothing, also
// where the server of the forge says that its tool destroys nothing.
func TestAnAgentPostsNothingUnasked(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	p := newPosting(t, "gitlab")
	p.has(forgeStore{Head: "a1"})
	o := newOllama(t, map[string][]string{"llama3": {
		`{"action": "tool", "tool_name": "review.comment", "args": {"source": {"head": "a1", "project": "ada/it", "number": 12, "kind": "gitlab"}, "markdown": "Merge it."}}`,
		`{"action": "finish", "final": "so be it"}`}})
	command, out := p.savant("run", "Say that it may be merged.")
	command.Env = append(command.Env, "OLLAMA_HOST="+o.URL)
	require.NoError(t, command.Run(), out.String())
	require.Contains(t, out.String(), "denied review.comment by destructive")
	require.Empty(t, p.comments())
}
