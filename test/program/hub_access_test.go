package program

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// addressElsewhere is one of this machine that is not loopback.
func addressElsewhere(t *testing.T) string {
	t.Helper()
	found, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, each := range found {
		if of, is := each.(*net.IPNet); is && !of.IP.IsLoopback() && of.IP.To4() != nil {
			return of.IP.String()
		}
	}
	t.Skip("this machine has no other address")
	return ""
}

// TestATokenOpensTheHubAtAnotherAddress: a page asks for it, and a program sends it; a
// token may only what its scopes say.
func TestATokenOpensTheHubAtAnotherAddress(t *testing.T) {
	folder := shipsIn(t)
	t.Setenv("SAVANT_HTTP_TOKENS", t.TempDir()+"/tokens.json")
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	reads := strings.TrimSpace(savantIn(t, folder, "token", "add", "phone", "--scope", "read"))
	approves := strings.TrimSpace(savantIn(t, folder, "token", "add", "boss", "--scope", "read,approve"))
	h := serveHub(t, folder, "--address", addressElsewhere(t)+":0")
	stranger := browser(t)
	for _, path := range []string{"/", "/runs/ships/r1", "/live"} {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer x"}, {"Authorization", "Basic " + reads}, {"Authorization", "Bearer " + reads + "x"}} {
			status, body, _ := h.ask(stranger, http.MethodGet, path, nil, headers...)
			require.Equal(t, http.StatusUnauthorized, status, path)
			require.NotContains(t, body, "ships")
		}
	}
	for _, host := range []string{"rebound.example", "rebound.example:9999"} {
		status, _, _ := h.ask(stranger, http.MethodGet, "/", nil, "Host", host, "Authorization", "Bearer "+reads)
		require.Equal(t, http.StatusForbidden, status, "the token of a rebound name")
	}
	status, body, _ := h.ask(stranger, http.MethodGet, "/runs/ships/r1", nil, "Authorization", "Bearer "+reads)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Ship it?")

	status, body, _ = h.ask(stranger, http.MethodGet, "/enter", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `type="password"`)
	status, body, _ = h.ask(stranger, http.MethodPost, "/enter", url.Values{"token": {"wrong"}})
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, body, "the token is not accepted")
	status, _, _ = h.ask(stranger, http.MethodPost, "/enter", url.Values{"token": {reads}}, "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, status)
	for token, expected := range map[string]int{reads: http.StatusForbidden, approves: http.StatusOK} {
		entered := &hubAt{t: t, base: h.base, client: browser(t)}
		status, body, _ = entered.ask(entered.client, http.MethodPost, "/enter", url.Values{"token": {token}}, "Origin", h.base)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "<h1>Overview</h1>")
		form := entered.formOf(entered.page("/"), "/leave") // the token of the session
		status, body = entered.send("/workflows/ships/start", form)
		require.Equal(t, http.StatusForbidden, status, "neither may start a run")
		require.Contains(t, body, "scope run")
		page := entered.page("/workflows/ships")
		require.NotContains(t, page, `action="/workflows/ships/start"`)
		require.Contains(t, page, "the token does not have the scope run, so it cannot start one")
		page = entered.page("/runs/ships/r1")
		for _, change := range []string{"fork", "reset", "cancel", "go-on"} {
			require.NotContains(t, page, `action="/runs/ships/r1/`+change)
		}
		require.Contains(t, page, "the token does not have the scope guide, so it cannot fork, reset or cancel this run.")
		require.NotContains(t, entered.page("/runs"), `action="/runs/import"`)
		if expected == http.StatusForbidden {
			require.NotContains(t, page, `action="/runs/ships/r1/answer"`)
			require.Contains(t, page, "the token does not have the scope approve")
			status, body = entered.send("/runs/ships/r1/answer", form)
			require.Equal(t, http.StatusForbidden, status, body)
		} else {
			status, body = entered.answer("r1", "decision", "approve")
			require.Equal(t, http.StatusOK, status, body)
			savantIn(t, folder, "token", "revoke", "boss")
			status, _, _ = entered.ask(entered.client, http.MethodGet, "/", nil)
			require.Equal(t, http.StatusUnauthorized, status, "a session ends with its token")
		}
	}
	leave := h.formOf(h.page("/"), "/leave")
	_, _ = h.send("/leave", leave)
	status, _, _ = h.ask(h.client, http.MethodGet, "/", nil)
	require.Equal(t, http.StatusUnauthorized, status)
}

// TestASessionOutlivesTheHub: the page goes on when the hub is started again at its
// address.
func TestASessionOutlivesTheHub(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serveHub(t, folder)
	form := h.formOf(h.page("/runs/ships/r1"), "/runs/ships/r1/answer")
	h.end()
	again := serveHub(t, folder, "--address", strings.TrimPrefix(h.base, "http://"))
	require.Equal(t, h.base, again.base)
	status, body := h.send("/runs/ships/r1/answer", form, "decision", "approve")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "The answer is recorded.")
}

// TestAFolderBringsNoSession: where the folder of configuration is in the clone that is
// served, its sessions are nobody's.
func TestAFolderBringsNoSession(t *testing.T) {
	folder, configuration := shipsIn(t), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", configuration)
	h := serveHub(t, folder)
	h.end()
	brought := filepath.Join(folder, ".config")
	require.NoError(t, os.CopyFS(brought, os.DirFS(configuration)))
	require.DirExists(t, filepath.Join(brought, "savant", "hub"))
	t.Setenv("XDG_CONFIG_HOME", brought)
	again := serveHub(t, folder, "--address", strings.TrimPrefix(h.base, "http://"))
	require.Equal(t, h.base, again.base)
	status, _, _ := h.ask(h.client, http.MethodGet, "/", nil)
	require.Equal(t, http.StatusUnauthorized, status)
}

// TestTheHubBesideAClient: one process serves MCP on stdin and stdout, and the hub; where
// its port is taken the client is served all the same.
func TestTheHubBesideAClient(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, address := range []string{"127.0.0.1:0", taken.Addr().String(), "192.0.2.1:0", "nonsense"} {
		command := exec.CommandContext(t.Context(), "savant", "mcp", "--hub", address, "--path", folder)
		stderr, err := command.StderrPipe()
		require.NoError(t, err)
		stdin, err := command.StdinPipe()
		require.NoError(t, err)
		stdout, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		nextLine := linesOf(stderr)
		line := nextLine(t)
		for !strings.Contains(line, "hub") {
			line = nextLine(t)
		}
		if address != "127.0.0.1:0" {
			require.Contains(t, line, "MCP is served without it")
		} else {
			_, link, found := strings.Cut(nextLine(t), "open it once with ")
			require.True(t, found)
			base, _, _ := strings.Cut(link, "/enter")
			h := &hubAt{t: t, base: base, link: link, client: browser(t)}
			require.Contains(t, h.page(strings.TrimPrefix(link, base)), "<h1>Overview</h1>")
		}
		_, err = io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
		require.NoError(t, err)
		first, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, first, `"id":1`)
		require.True(t, strings.HasPrefix(first, `{"jsonrpc"`), "stdout is the protocol's alone")
		require.NoError(t, stdin.Close())
		require.NoError(t, command.Wait())
	}
}

// TestTheOverviewSaysWhoCanBeReached asks nobody anything.
func TestTheOverviewSaysWhoCanBeReached(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(service.Close)
	h := serveHub(t, t.TempDir(), "--reasoning-api-url", service.URL+"/agent_intent")
	require.Contains(t, h.page("/"), `<span class="status good s-reachable">reachable</span>`)
	require.Empty(t, asked, "a connection is enough")
	service.Close()
	h = serveHub(t, t.TempDir(), "--reasoning-api-url", service.URL+"/agent_intent")
	require.Contains(t, h.page("/"), `<span class="status bad s-offline">offline</span>`)
	h = serveHub(t, t.TempDir(), "--set", "llm.provider=offline")
	require.Contains(t, h.page("/"), "offline-planner</td>")
}

// TestTheCallsOfOnePersonAreNoEvidenceForAnother: what persons call by hand in one hub is seen by
// rules as the calls of each.
func TestTheCallsOfOnePersonAreNoEvidenceForAnother(t *testing.T) {
	folder := shipsIn(t)
	t.Setenv("SAVANT_HTTP_TOKENS", t.TempDir()+"/tokens.json")
	places(t, folder, "rules/seen.yaml", "evidence: {looked: {last: context.search}}\nrules: [{id: seen, before: context.tree, require: {needs: looked}}]\n")
	ann := strings.TrimSpace(savantIn(t, folder, "token", "add", "ann", "--scope", "read"))
	bob := strings.TrimSpace(savantIn(t, folder, "token", "add", "bob", "--scope", "read"))
	h := serveHub(t, folder, "--address", addressElsewhere(t)+":0")
	entered := func(token string) *hubAt {
		at := &hubAt{t: t, base: h.base, client: browser(t)}
		status, body, _ := at.ask(at.client, http.MethodPost, "/enter", url.Values{"token": {token}}, "Origin", h.base)
		require.Equal(t, http.StatusOK, status, body)
		return at
	}
	call := func(at *hubAt, tool string, fields ...string) (int, string) {
		action := "/tools/" + tool + "/call"
		return at.send(action, at.formOf(at.page("/tools/"+tool), action), fields...)
	}
	one, other := entered(ann), entered(bob)
	status, body := call(one, "context.search", "field.0", "cranes")
	require.Equal(t, 200, status, body)
	status, body = call(other, "context.tree")
	require.Equal(t, 422, status)
	require.Contains(t, body, "Rule seen")
	status, body = call(one, "context.tree")
	require.Equal(t, 200, status, body)
}
