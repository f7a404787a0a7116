package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhereAWorkflowComesFromAndWhatHoldsIt: the hub shows the package of a workflow, what
// its cases reach, on the graph and as a list, and what rules refused in which run, and why.
func TestWhereAWorkflowComesFromAndWhatHoldsIt(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	base := t.TempDir()
	folder := filepath.Join(base, "project")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	for name, text := range map[string]string{
		"ops/workflows/greet.yaml": "name: greet\nversion: \"1.4\"\nparams: {loud: {type: boolean, default: false}}\nsteps:\n" +
			"  - {id: look, call: context.tree, on_failure: continue, capture_as: look}\n  - {id: say, when: params.loud, call: flow.set, input_template: {value: 1}}\n",
		"ops/workflows/greet.cases.yaml": "workflow: greet\ncases:\n  - name: quiet\n    answers: {look: {entries: []}}\n    expect: {outcome: done}\n" +
			"  - name: wrong\n    answers: {look: {entries: []}}\n    expect: {outcome: failed}\n",
		"ops/rules/look.yaml": "rules:\n  - {id: never_look, before: context.tree, deny: true, message: Trees are private.}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o600))
	}
	savantIn(t, folder, "workflows", "add", filepath.Join(base, "ops"), "--yes")
	savantIn(t, folder, "workflows", "run", "greet", "--name", "r1")
	h := serveHub(t, folder)

	list := h.page("/workflows")
	require.Contains(t, list, "<td>1.4</td><td>local/ops")
	require.Regexp(t, `<h2>Packages</h2>[^¤]*<code>local/ops</code>[^¤]*data-label="files">3<`, list)
	page := h.page("/workflows/greet")
	require.Regexp(t, `<dt>Package</dt><dd><code>local/ops</code>`, page)
	require.Contains(t, page, `<span class="status bad">1 failed</span>, 1 passed, 2 of 5 points reached`)
	require.Contains(t, page, `class="word bare">○ 1 point not reached</text>`)
	require.NotContains(t, page, `class="word good"`)
	require.Regexp(t, `wrong: [^<]*outcome[^<]*expected[^<]*failed[^<]*seen[^<]*done`, page)
	require.Regexp(t, `<code>say</code></td><td>when true</td>`, page)
	require.Contains(t, h.page("/workflows/hello"), `class="word good">✓ reached by cases</text>`)

	run := h.page("/runs/greet/r1")
	require.Regexp(t, `<h2>Refused by rules</h2>[^¤]*<code>context.tree</code></td><td>never_look \([^)]*:2\)</td><td class="goal text">Trees are private.`, run)
	rules := h.page("/rules")
	require.Regexp(t, `<code>never_look</code></td><td>context.tree</td><td>deny</td><td class="number" data-label="refusals">1</td><td class="goal">Trees are private.</td>`, rules)
	require.Contains(t, rules, `<a href="/runs/greet/r1">run greet r1</a>`)

	// A client's own call that the run's workflow refuses is told on its page, too.
	places(t, folder, "workflows/held.yaml", "name: held\nversion: \"1.0\"\nrules: [{id: no_status, before: git.status, deny: true}]\nsteps: [{id: say, call: llm.generate, input_template: {task: x}}]\n")
	s := startServer(t, exec.Command("savant", "mcp"), folder, "MCP_SERVICE=all")
	for i, call := range []string{"think.plan", "git.status"} {
		s.send(t, i, call, map[string]any{"workflow": "held", "run_id": "g1"})
		reply, answered := s.read(t)
		require.True(t, answered)
		require.Equal(t, i == 1, reply.Result.IsError)
	}
	require.Regexp(t, `<h2>Refused by rules</h2>[^¤]*<code>git.status</code></td><td>no_status `, h.page("/runs/held/g1"))

	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows.lock"), []byte("{"), 0o600))
	require.Contains(t, h.page("/workflows"), "workflows.lock")
}
