package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// askingRules ask about a push, and refuse a forced one.
const askingRules = `rules:
  - {id: push, before: Bash, when: "input.command matches 'git push'", approve: "Run {{ input.command }}?"}
  - {id: force, before: Bash, when: "input.command matches '--force'", deny: true}
`

// TestAPersonAnswersForAClientsCallInTheHub: the hub shows the whole call, takes one
// answer, and the client's hook lets the same call pass once.
func TestAPersonAnswersForAClientsCallInTheHub(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "rules"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules", "push.yaml"), []byte(askingRules), 0o600))
	hook := func(command string) string {
		asked := exec.Command("savant", "hook", "claude-code", "--path", folder)
		asked.Stdin = strings.NewReader(`{"session_id":"s1","cwd":"` + folder + `","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"` + command + `"}}`)
		out, err := asked.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	h := serveHub(t, folder)
	require.NotContains(t, h.page("/"), "A rule asks about a call")
	require.Contains(t, hook("git push --force"), "Rule force")
	require.Contains(t, hook("git push <b>"), "savant approve call:")
	require.Contains(t, hook("curl -H token=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; git push"), "savant approve call:")
	page := h.page("/")
	require.Contains(t, page, "A rule asks about a call")
	require.Contains(t, page, "Run git push &lt;b&gt;?")
	require.Contains(t, page, "force (rules/push.yaml:3)")
	require.NotContains(t, page, "ghp_aaaaaaaaa", "a secret is not shown")
	names := regexp.MustCompile(`/calls/(call:[0-9a-f]{16})/answer`).FindAllStringSubmatch(page, -1)
	require.Len(t, names, 2)
	first, second := "/calls/"+names[0][1]+"/answer", "/calls/"+names[1][1]+"/answer"
	status, body := h.send(second, h.formOf(page, second), "decision", "approve")
	require.Equal(t, 403, status, body)
	status, body = h.send(second, h.formOf(page, second), "decision", "decline")
	require.Equal(t, 200, status, body)
	require.Contains(t, body, "The answer is recorded.")
	status, _ = h.send(first, h.formOf(page, first), "decision", "approve")
	require.Equal(t, 200, status)
	status, body = h.send(first, h.formOf(page, first), "decision", "approve")
	require.Equal(t, 409, status, body)
	require.Contains(t, body, "<h1>Overview</h1>", "the page stays")
	require.Contains(t, body, "no longer waits")
	require.Contains(t, h.page(first), "<h1>Overview</h1>", "links of that page lead back")
	require.Empty(t, hook("git push <b>"))
	require.Contains(t, hook("git push <b>"), "savant approve call:", "an answer counts once")
	require.Contains(t, hook("curl -H token=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; git push"), "the person declined")

	require.Contains(t, hook("git push <i>"), "savant approve call:")
	without := serveHub(t, folder, "--no-answers")
	require.Regexp(t, `takes no answers \(--no-answers\)\. It is answered with <code>savant approve call:[0-9a-f]{16}</code>`, without.page("/"))
}
