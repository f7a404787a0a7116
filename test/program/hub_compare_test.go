package program

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoRunsOfTheAgentAreCompared step by step, and a run is offered others of its goal.
func TestTwoRunsOfTheAgentAreCompared(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "a1", "--force-tool", "context.status", "--force-finish", "one goal")
	savantIn(t, folder, "run", "--quiet", "--name", "a2", "--force-tool", "git.status", "--force-finish", "one goal")
	savantIn(t, folder, "run", "--quiet", "--name", "a3", "--force-tool", "git.status", "--force-finish", "another goal")
	h := serveHub(t, folder)
	offered := h.page("/compare?kind=agent&left=a1")
	require.Contains(t, offered, `left=a1&amp;right=a2"`)
	require.NotContains(t, offered, "right=a3")
	both := h.page("/compare?kind=agent&left=a1&right=a2")
	require.Contains(t, both, "<code>context.status</code>")
	require.Contains(t, both, "<code>git.status</code>")
	require.Regexp(t, `<tr class="has"><th scope="row">#1 <span class="differs">`, both)
	require.Regexp(t, `<tr><th scope="row">Goal</th>`, both)
	require.NotContains(t, both, "two goals")
	require.Contains(t, h.page("/compare?kind=agent&left=a1&right=a3"), "these runs have different goals")
	same := h.page("/compare?kind=agent&left=a2&right=a2&only=differences")
	require.NotContains(t, same, "<code>git.status</code>")
	status, _, _ := h.ask(h.client, http.MethodGet, "/compare?kind=agent&left=a1&right=none", nil)
	require.Equal(t, http.StatusNotFound, status)
	requireHarmless(t, "compare", both)
}
