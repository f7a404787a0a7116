package program

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoPersonsApproveInTheHub has two persons approve, each with a token. A third person,
// whom the step does not name, is refused. Who agreed can still decline; whoever may approve
// at all takes the approval back, since calls are then asked about again.
func TestTwoPersonsApproveInTheHub(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "both.yaml"), []byte(`name: both
version: "1"
steps:
  - id: agree
    call: human.approve
    input_template: {message: "Look?"}
    approvers: [anna, ben]
    count: 2
    remind_after: 1ms
    scope: {call: git.status, at_most: 5}
  - {id: look, call: llm.generate, input_template: {task: Look.}}
`), 0o600))
	t.Setenv("SAVANT_HTTP_TOKENS", t.TempDir()+"/tokens.json")
	savantIn(t, folder, "workflows", "run", "both", "--name", "r1")
	tokens := map[string]string{}
	for _, name := range []string{"anna", "ben", "carl"} {
		tokens[name] = strings.TrimSpace(savantIn(t, folder, "token", "add", name, "--scope", "read,approve"))
	}
	h := serveHub(t, folder, "--address", addressElsewhere(t)+":0")
	status, page, _ := h.ask(browser(t), http.MethodGet, "/", nil, "Authorization", "Bearer "+tokens["anna"])
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "0 of 2 persons agreed. It waits longer than its remind_after.")
	require.Contains(t, page, `<details open><summary><code>scope</code>`, "nobody agrees to a scope that is folded away")
	digest := regexp.MustCompile(`name="digest" value="([0-9a-f]{64})"`).FindStringSubmatch(page)
	require.Len(t, digest, 2)
	send := func(name, path string, form url.Values) (int, string) {
		status, body, _ := h.ask(browser(t), http.MethodPost, "/runs/both/r1/"+path, form, "Authorization", "Bearer "+tokens[name], "Content-Type", "application/x-www-form-urlencoded")
		return status, body
	}
	_, barred, _ := h.ask(browser(t), http.MethodGet, "/", nil, "Authorization", "Bearer "+tokens["carl"])
	require.Contains(t, barred, "takes the answers of anna, ben, not of carl. They answer in the hub, entered with their own token.")
	require.NotContains(t, barred, `name="decision"`, "the inbox has a form for who may not answer")
	_, barred, _ = h.ask(browser(t), http.MethodGet, "/runs/both/r1", nil, "Authorization", "Bearer "+tokens["carl"])
	require.Contains(t, barred, "takes the answers of anna, ben, not of carl. They answer in the hub, entered with their own token.")
	require.NotContains(t, barred, `name="decision"`)
	status, page = send("anna", "answer", url.Values{"step": {"agree"}, "digest": {digest[1]}, "decision": {"approve", "decline"}})
	require.Equal(t, 422, status)
	require.Contains(t, page, "Approve or decline.")
	yes := url.Values{"step": {"agree"}, "digest": {digest[1]}, "decision": {"approve"}}
	for _, each := range []struct {
		name   string
		status int
		says   string
	}{{"carl", 409, "takes the answers of anna, ben, not of carl"}, {"anna", 200, "recorded"}, {"anna", 409, "anna agreed already"}, {"ben", 200, "recorded"}} {
		if each.name == "ben" {
			for _, path := range []string{"/", "/runs/both/r1"} {
				_, page, _ := h.ask(browser(t), http.MethodGet, path, nil, "Authorization", "Bearer "+tokens["anna"])
				require.Contains(t, page, "Anna agreed already", path)
				require.Contains(t, page, `value="decline"`, path)
				require.NotContains(t, page, `value="approve"`, path)
			}
		}
		status, body := send(each.name, "answer", yes)
		require.Equal(t, each.status, status, "%s: %s", each.name, body)
		require.Contains(t, body, each.says)
	}
	_, page, _ = h.ask(browser(t), http.MethodGet, "/runs/both/r1", nil, "Authorization", "Bearer "+tokens["carl"])
	require.Contains(t, page, "Approvals that cover calls")
	require.Contains(t, page, "0 of 5")
	status, body := send("carl", "revoke", url.Values{"step": {"agree"}})
	require.Equal(t, 200, status, body)
	_, page, _ = h.ask(browser(t), http.MethodGet, "/runs/both/r1", nil, "Authorization", "Bearer "+tokens["carl"])
	require.Contains(t, page, "it was revoked")
	status, body = send("carl", "revoke", url.Values{"step": {"agree"}})
	require.Equal(t, 409, status, body)
	require.Contains(t, savantIn(t, folder, "state", "get", "r1"), `"by": "ben"`)
}
