package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAGoalThatMeansAReview starts the agent on "review my code" where nobody can be
// asked, with models of Ollama that give valid answers: it ends with the report, and says
// that the tests were not run and how they are.
func TestAGoalThatMeansAReview(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	git := func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	git("init", "-q", "-b", "main")
	write("pay.txt", "one\n")
	git("add", "-A")
	git("commit", "-q", "-m", "begin")
	write("pay.txt", "one\ntwo\n")
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	write(".savant/ci.yaml", "commands:\n  tests:\n    command: [git, --version]\n")
	trusts(t, folder)

	for name, c := range map[string]struct {
		args  []string
		holds []string
	}{
		"nobody can be asked": {nil, []string{"Tests: not run.", "Step tests failed: TOOL_FAILED: TOOL_DENIED: ci.run_tests may not be called: destructive; nobody can be asked here; approve it by name (--approve ci.run_tests)"}},
		"approved":            {[]string{"--approve", "ci.run_tests"}, []string{"Tests: passed."}},
		"allowed":             {[]string{"--allow", "workflow.*,review.*,git.*,ci.run_tests"}, []string{"Tests: passed."}},
	} {
		t.Run(name, func(t *testing.T) {
			findings := `{"findings": [{"path": "pay.txt", "line": 1, "severity": "minor", "message": "The second line says too little.", "evidence": "two"}]}`
			verdict := `{"decision": "comment", "summary": "One line could say more than it does.", "reasons": ["pay.txt:2"]}`
			o := newOllama(t, map[string][]string{"phi3.5": {findings, verdict}, "llama3": {findings, verdict}})
			var stdout, stderr strings.Builder
			code := run(t.Context(), append([]string{"run", "review my code"}, c.args...), []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL,
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME")}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, exitOK, code, stdout.String()+stderr.String())
			require.Contains(t, stderr.String(), "begins with workflow review_mr, because the rule local_review matches the goal")
			for _, want := range append(c.holds, "# Review of uncommitted changes: comment", "### minor: pay.txt:2", "One line could say more") {
				require.Contains(t, stdout.String(), want)
			}
		})
	}
}
