package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// appHostPage is a client that shows the pages of a server, as the extension MCP Apps has
// hosts do it: in a frame without an origin, by messages.
const appHostPage = `<!doctype html><title>host</title><iframe id="app" sandbox="allow-scripts" width="640" height="640"></iframe>
<script>
window.heard = [];
const frame = document.getElementById("app");
let shown = {};
async function server(method, params) {
  return (await fetch("/mcp", { method: "POST", body: JSON.stringify({ method, params }) })).json();
}
window.show = async (uri, name, given) => {
  shown = { name, arguments: given };
  frame.src = "/page?uri=" + encodeURIComponent(uri);
};
addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow) return;
  const message = event.data;
  heard.push(message);
  const post = (rest) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...rest }, "*");
  switch (message.method) {
    case "ui/initialize":
      return post({ id: message.id, result: { protocolVersion: message.params.protocolVersion, hostInfo: { name: "host", version: "1" }, hostCapabilities: { message: {}, serverTools: {} }, hostContext: {} } });
    case "ui/notifications/initialized":
      return post({ method: "ui/notifications/tool-result", params: await server("tools/call", shown) });
    case "tools/call":
    case "resources/read":
      return post({ id: message.id, result: await server(message.method, message.params) });
    case "ui/message":
      return post({ id: message.id, result: {} });
  }
});
</script>`

// appPolicy is the policy that a host gives a page which names no domains.
const appPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'"

// appServer is a Savant behind the host.
type appServer struct {
	t     testing.TB
	mu    sync.Mutex
	stdin io.Writer
	lines *bufio.Scanner
	last  int
}

func (s *appServer) ask(method string, params any) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	require.NoError(s.t, err)
	_, err = fmt.Fprintf(s.stdin, "%s\n", line)
	require.NoError(s.t, err)
	for s.lines.Scan() {
		var got struct {
			ID     int
			Result json.RawMessage
		}
		require.NoError(s.t, json.Unmarshal(s.lines.Bytes(), &got))
		if got.ID == s.last {
			return got.Result
		}
	}
	return nil
}

// hostOf returns a tab, and the address of a host of the server of a folder.
func hostOf(t *testing.T, folder string) (p *tab, address string, s *appServer) {
	t.Helper()
	command := exec.Command("savant", "mcp", "--service", "think")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = command.Wait() })
	s = &appServer{t: t, stdin: stdin, lines: bufio.NewScanner(stdout)}
	s.lines.Buffer(nil, 1<<24)
	s.ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "clientInfo": map[string]any{"name": "host", "version": "1"},
		"capabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}}}}})
	pages := map[string]json.RawMessage{} // a host reads a page once
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			var read struct{ Contents []struct{ Text string } }
			uri := r.URL.Query().Get("uri")
			if pages[uri] == nil {
				pages[uri] = s.ask("resources/read", map[string]any{"uri": uri})
			}
			if json.Unmarshal(pages[uri], &read) != nil || len(read.Contents) != 1 {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Security-Policy", appPolicy)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, read.Contents[0].Text)
		case "/mcp":
			var asked struct {
				Method string
				Params json.RawMessage
			}
			if json.NewDecoder(r.Body).Decode(&asked) != nil {
				http.Error(w, "no request", http.StatusBadRequest)
				return
			}
			_, _ = w.Write(s.ask(asked.Method, asked.Params))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, appHostPage)
		}
	}))
	t.Cleanup(served.Close)
	return newProfile(t), served.URL, s
}

// heard waits for a message of the page.
func (p *tab) heard(condition string, values ...any) {
	p.t.Helper()
	p.until(`heard.some((m) => `+condition+`)`, values...)
}

// shows opens a host that shows a page, and goes into the page by the keyboard.
func (p *tab) shows(address, uri, tool string, args map[string]any) {
	p.t.Helper()
	p.open(address)
	eval[any](p, `show($1, $2, $3)`, uri, tool, args)
	p.heard(`m.method === "ui/notifications/size-changed" && m.params.height > 0`)
	eval[any](p, `heard.length = 0, document.getElementById("app").focus()`)
	p.do(chromedp.KeyEvent(kb.Tab)) // into the frame
}

// TestAPageInTheClient has a person answer an approval and a question with the keys alone, in
// the pages that a host shows, and look at the run.
func TestAPageInTheClient(t *testing.T) {
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ships.yaml"), []byte(`name: ships
version: "1.0"
steps:
  - {id: sure, call: human.approve, input_template: {message: "Ship it?"}, capture_as: sure}
  - {id: where, call: human.ask, input_template: {message: "Where to?", schema: {type: object, required: [place], properties: {place: {type: string}}}}, capture_as: where}
  - {id: again, call: human.approve, input_template: {message: "Again?"}, capture_as: again}
outputs: {sure: "{{ state.sure }}", where: "{{ state.where }}"}
`), 0o600))
	p, address, s := hostOf(t, folder)
	s.ask("tools/call", map[string]any{"name": "think_plan", "arguments": map[string]any{"workflow": "ships", "run_id": "r1"}})

	p.shows(address, "ui://savant/approve", "app_approve", map[string]any{"run_id": "r1", "step_id": "sure"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("fine"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "tools/call" && m.params.name === "app_decide"`)
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step sure of run r1 is answered")`)
	require.Contains(t, string(s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "sure"}})), `"step_id":"where"`)

	p.shows(address, "ui://savant/ask", "app_ask", map[string]any{"run_id": "r1", "step_id": "where"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("Oslo"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step where of run r1 is answered")`)
	require.Contains(t, string(s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "where"}})), `"step_id":"again"`)

	// The key of the page was used, so it reads itself once more.
	p.shows(address, "ui://savant/approve", "app_approve", map[string]any{"run_id": "r1", "step_id": "again"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("fine"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "resources/read"`)
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step again of run r1 is answered")`)
	ended := string(s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "again"}}))
	require.Contains(t, ended, `"sure":{"approved":true,"comment":"fine"},"where":{"place":"Oslo"}`)

	p.shows(address, "ui://savant/run", "app_run", map[string]any{"run_id": "r1"})
}
