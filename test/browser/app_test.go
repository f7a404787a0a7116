package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// appHostPage is a client that shows the pages of a server with the library that the
// extension MCP Apps has for hosts: it has the SDK's client and the extension's bridge, and
// keeps a page that it has read.
const appHostPage = `<!doctype html><title>host</title><iframe id="app" sandbox="allow-scripts allow-same-origin allow-forms" width="640" height="640"></iframe>
<script type="module">
import { AppBridge, Client, PostMessageTransport } from "/bridge.js";
const frame = document.getElementById("app");
window.heard = [];
addEventListener("message", (event) => event.source === frame.contentWindow && heard.push(event.data));
const transport = { start: async () => {}, close: async () => {}, send: async (message) => {
  const reply = await (await fetch("/mcp", { method: "POST", body: JSON.stringify(message) })).text();
  if (reply) transport.onmessage(JSON.parse(reply));
} };
const info = { name: "host", version: "1" };
const client = new Client(info, { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } } });
await client.connect(transport);
const { tools } = await client.listTools();
window.show = async (name, given, mute) => {
  const uri = tools.find((each) => each.name === name)._meta.ui.resourceUri;
  localStorage[uri] ??= JSON.stringify((await client.readResource({ uri })).contents[0]);
  const page = JSON.parse(localStorage[uri]);
  const bridge = window.bridge = new AppBridge(mute ? null : client, info, mute ? {} : { serverTools: {}, serverResources: {}, updateModelContext: {} }, { hostContext: { theme: "dark" } });
  const initialized = new Promise((resolve) => bridge.addEventListener("initialized", resolve));
  const ready = new Promise((resolve) => addEventListener("message", ({ data }) => data.method === "ui/notifications/sandbox-proxy-ready" && resolve()));
  if (!mute) bridge.onmessage = async () => ({});
  frame.src = SANDBOX + "?csp=" + encodeURIComponent(JSON.stringify(page._meta.ui.csp));
  await ready;
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await bridge.sendSandboxResourceReady({ html: page.text, csp: page._meta.ui.csp });
  await initialized;
  await bridge.sendToolInput({ arguments: given });
  await bridge.sendToolResult(await client.callTool({ name, arguments: given }));
};
</script>`

// appSandbox is the frame of another origin between host and page, as the extension wants it.
const appSandbox = `<!doctype html><body style="margin:0"><script>
const inner = document.createElement("iframe");
inner.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
inner.style = "width:100%;height:620px;border:0";
document.body.append(inner);
addEventListener("message", ({ source, data }) => {
  if (data.method === "text") return parent.postMessage({ method: "text", params: inner.contentDocument.body.innerText }, "*");
  if (source === inner.contentWindow) return parent.postMessage(data, "*");
  if (data.method !== "ui/notifications/sandbox-resource-ready") return inner.contentWindow.postMessage(data, "*");
  inner.contentDocument.open();
  inner.contentDocument.write(data.params.html);
  inner.contentDocument.close();
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
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

// send sends a message and returns the reply to it; nothing for a notification.
func (s *appServer) send(message map[string]any) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := message["id"]
	if asked != nil {
		s.last++
		message["id"] = s.last
	}
	line, err := json.Marshal(message)
	require.NoError(s.t, err)
	_, err = fmt.Fprintf(s.stdin, "%s\n", line)
	require.NoError(s.t, err)
	for asked != nil && s.lines.Scan() {
		var got map[string]json.RawMessage
		require.NoError(s.t, json.Unmarshal(s.lines.Bytes(), &got))
		if string(got["id"]) == strconv.Itoa(s.last) {
			got["id"], err = json.Marshal(asked)
			require.NoError(s.t, err)
			return got
		}
	}
	return nil
}

func (s *appServer) ask(method string, params any) string {
	return string(s.send(map[string]any{"jsonrpc": "2.0", "id": 0, "method": method, "params": params})["result"])
}

// bridge returns the extension's library for hosts, as make browser bundles it.
func bridge(t *testing.T) []byte {
	t.Helper()
	wanted(t)
	if os.Getenv("SAVANT_APP_BRIDGE") == "" {
		_, err := exec.LookPath("npm")
		require.False(t, err == nil && os.Getenv("CI") == "true", "there is npm, and SAVANT_APP_BRIDGE names no library: make browser bundles it")
		t.Skip("SAVANT_APP_BRIDGE names no library for hosts: make browser bundles it where there is npm")
	}
	library, err := os.ReadFile(os.Getenv("SAVANT_APP_BRIDGE"))
	require.NoError(t, err)
	return library
}

// hostOf returns a tab, and the address of a host of the server of a folder.
func hostOf(t *testing.T, folder string) (p *tab, address string, s *appServer) {
	t.Helper()
	library := bridge(t)
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
	page := func(policy, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", policy)
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		}
	}
	sandbox := httptest.NewServer(page(appPolicy, "text/html; charset=utf-8", appSandbox))
	t.Cleanup(sandbox.Close)
	routes := http.NewServeMux()
	routes.Handle("GET /", page("", "text/html; charset=utf-8", strings.ReplaceAll(appHostPage, "SANDBOX", strconv.Quote(sandbox.URL))))
	routes.Handle("GET /bridge.js", page("", "text/javascript", string(library)))
	routes.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		var message map[string]any
		if json.NewDecoder(r.Body).Decode(&message) != nil {
			http.Error(w, "no message", http.StatusBadRequest)
		} else if reply := s.send(message); reply != nil {
			_ = json.NewEncoder(w).Encode(reply)
		}
	})
	served := httptest.NewServer(routes)
	t.Cleanup(served.Close)
	return newProfile(t), served.URL, s
}

// heard waits for a message of the page.
func (p *tab) heard(condition string, values ...any) {
	p.t.Helper()
	p.until(`heard.some((m) => `+condition+`)`, values...)
}

// shows opens a host that shows a page, or one that passes nothing on for it, and goes into the page by the keyboard.
func (p *tab) shows(address, tool string, args map[string]any, mute ...bool) {
	p.t.Helper()
	p.open(address)
	p.until(`!!window.show`)
	eval[any](p, `void show($1, $2, $3)`, tool, args, len(mute) > 0)
	p.heard(`m.method === "ui/notifications/size-changed" && m.params.height > 0`)
	eval[any](p, `heard.length = 0, document.getElementById("app").focus()`)
	p.do(chromedp.KeyEvent(kb.Tab)) // into the frame
}

// TestAPageInTheClient has a person answer an approval and a question with the keys alone, in
// the pages that a host shows, and look at the run.
func TestAPageInTheClient(t *testing.T) {
	t.Parallel()
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

	// A client that only shows pages: the page says where the answer counts.
	p.shows(address, "app_approve", map[string]any{"run_id": "r1", "step_id": "sure"}, true)
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.until(`(document.getElementById("app").contentWindow.postMessage({ method: "text" }, "*"), heard.some((m) => m.method === "text" && m.params.includes("or with: savant approve r1 sure")))`)

	p.shows(address, "app_approve", map[string]any{"run_id": "r1", "step_id": "sure"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("fine"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "tools/call" && m.params.name === "app_decide"`)
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step sure of run r1 is answered")`)
	require.Contains(t, s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "sure"}}), `"step_id":"where"`)

	p.shows(address, "app_ask", map[string]any{"run_id": "r1", "step_id": "where"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("Oslo"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step where of run r1 is answered")`)
	require.Contains(t, s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "where"}}), `"step_id":"again"`)

	// The key of the page was used, so it reads itself once more.
	p.shows(address, "app_approve", map[string]any{"run_id": "r1", "step_id": "again"})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("fine"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.heard(`m.method === "resources/read"`)
	p.heard(`m.method === "ui/message" && m.params.content[0].text.includes("Step again of run r1 is answered")`)
	ended := s.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "again"}})
	require.Contains(t, ended, `"sure":{"approved":true,"comment":"fine"},"where":{"place":"Oslo"}`)

	p.shows(address, "app_run", map[string]any{"run_id": "r1"})
	p.wears(color.RGBA{0x11, 0x17, 0x1d, 0xff})
	eval[any](p, `bridge.sendHostContextChange({ theme: "light" })`)
	p.wears(color.RGBA{0xff, 0xff, 0xff, 0xff})

	// A run that cannot be shown any more is followed no longer, and the page says it once.
	s.ask("tools/call", map[string]any{"name": "think_plan", "arguments": map[string]any{"workflow": "ships", "run_id": "r2"}})
	p.shows(address, "app_run", map[string]any{"run_id": "r2"})
	require.NoError(t, exec.Command("savant", "state", "delete", "r2", "--path", folder).Run())
	p.until(`(document.getElementById("app").contentWindow.postMessage({ method: "text" }, "*"), heard.some((m) => m.method === "text" && /followed no longer: .*UNKNOWN_RUN/.test(m.params)))`)
}

// wears waits until the page in the host has a colour at its edge.
func (p *tab) wears(want color.RGBA) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		require.NoError(p.t, err)
		shown, err := png.Decode(bytes.NewReader(picture))
		require.NoError(p.t, err)
		return color.RGBAModel.Convert(shown.At(16, 100)) == want
	}, patience, 50*time.Millisecond)
}
