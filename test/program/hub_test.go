package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/telemetry"
)

// hubAt is a program that serves the hub of a folder.
type hubAt struct {
	t          testing.TB
	base, link string
	client     *http.Client // with the session that the link gave
	end        func()       // ends the program, as Ctrl-C does
	process    *os.Process
}

// serveHub starts a hub, and follows its link.
func serveHub(t testing.TB, folder string, flags ...string) *hubAt {
	t.Helper()
	command := exec.CommandContext(t.Context(), "savant", append([]string{"hub", "--address", "127.0.0.1:0", "--path", folder}, flags...)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Wait() })
	end := func() {
		require.NoError(t, command.Process.Signal(os.Interrupt))
		_ = command.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = command.Wait() // only then all that it said is there
		require.NoError(t, err, said.String())
	}
	link := strings.TrimSpace(line)
	base, _, found := strings.Cut(link, "/enter?key=")
	require.True(t, found, link)
	h := &hubAt{t: t, base: base, link: link, client: browser(t), end: end, process: command.Process}
	status, body, _ := h.ask(h.client, http.MethodGet, strings.TrimPrefix(link, base), nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "<h1>Overview</h1>")
	return h
}

func browser(t testing.TB) *http.Client {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar}
}

// ask makes a request; headers are pairs of a name and a value, Host among them.
func (h *hubAt) ask(client *http.Client, method, path string, form url.Values, headers ...string) (int, string, http.Header) {
	h.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, body)
	require.NoError(h.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := client.Do(request)
	require.NoError(h.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(h.t, err)
	return answer.StatusCode, string(text), answer.Header
}

// page returns a page that is there.
func (h *hubAt) page(path string) string {
	h.t.Helper()
	status, body, _ := h.ask(h.client, http.MethodGet, path, nil)
	require.Equal(h.t, http.StatusOK, status, body)
	return body
}

// savantIn runs a command in a folder, whatever its exit code, and returns its stdout.
func savantIn(t testing.TB, folder string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "savant", append(args, "--path", folder)...).Output()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return string(out)
}

const hubPages = "/ /runs /runs/w/r /workflows /workflows/repo_tour /diagnostics/agents /diagnostics/agents/known /diagnostics/agents/known/rows /diagnostics/agents/known/event /live " +
	"/diagnostics/agents/known/trace.ndjson /diagnostics/agents/known/session.json /nowhere"

// TestTheHubIsForWhoHasItsLink: no page says anything without a session, a link gives
// one once, and nobody can make one up.
func TestTheHubIsForWhoHasItsLink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "the goal of it")
	h := serveHub(t, folder)
	stranger := &http.Client{}
	own, err := url.Parse(h.base)
	require.NoError(t, err)
	cookie := h.client.Jar.Cookies(own)[0]
	require.Contains(t, h.page("/diagnostics/agents"), "the goal of it")

	until, rest, _ := strings.Cut(cookie.Value, ".")
	for _, forged := range []string{"", cookie.Name + "=", cookie.Name + "=1.x.y", cookie.Name + "=9" + until + "." + rest,
		cookie.Name + "=" + cookie.Value + "x", cookie.Name + "=" + cookie.Value[:len(cookie.Value)-1]} {
		for _, page := range strings.Fields(hubPages) {
			status, body, header := h.ask(stranger, http.MethodGet, page, nil, "Cookie", forged)
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", page, forged)
			require.NotContains(t, body, "the goal of it")
			require.NotContains(t, body, folder)
			require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'")
		}
	}
	status, _, _ := h.ask(browser(t), http.MethodGet, strings.TrimPrefix(h.link, h.base), nil)
	require.Equal(t, http.StatusUnauthorized, status, "a link is good once")
	status, _, _ = h.ask(h.client, http.MethodGet, strings.TrimPrefix(h.link, h.base), nil)
	require.Equal(t, http.StatusOK, status, "the link can be followed again within its session")
	status, _, _ = h.ask(stranger, http.MethodGet, "/enter?key=", nil)
	require.Equal(t, http.StatusUnauthorized, status)

	another := serveHub(t, folder)
	name := "savant_hub_" + regexp.MustCompile(`\d+$`).FindString(another.base)
	status, _, _ = another.ask(stranger, http.MethodGet, "/", nil, "Cookie", name+"="+cookie.Value)
	require.Equal(t, http.StatusUnauthorized, status, "a session is valid for one hub only")

	status, body, _ := h.ask(stranger, http.MethodGet, "/healthz", nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ok"}`, body)
	_, _, header := h.ask(stranger, http.MethodGet, "/enter?key=nothing", nil)
	require.Empty(t, header.Get("Set-Cookie"))
}

// TestTheHubRefusesOtherSites plays a site with a name that leads here, a site that
// sends forms here, and a page at another port, which the cookie is sent for.
func TestTheHubRefusesOtherSites(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "--max-steps", "1", "a goal")
	h := serveHub(t, folder)
	host := strings.TrimPrefix(h.base, "http://")
	for _, headers := range [][]string{
		{"Host", "rebound.example"}, {"Host", "rebound.example:9999"}, {"Host", "127.0.0.1"}, {"Host", "127.0.0.1.rebound.example"}, {"Host", "localhost:1"},
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1:1"}, {"Origin", "https://" + host}, {"Origin", "http://" + host + ".evil.example"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	} {
		for _, page := range strings.Fields(hubPages) {
			status, body, _ := h.ask(h.client, http.MethodGet, page, nil, headers...)
			require.Equal(t, http.StatusForbidden, status, "%s %v", page, headers)
			require.NotContains(t, body, "a goal")
		}
	}
	port := host[strings.LastIndexByte(host, ':'):]
	for _, headers := range [][]string{{"Host", "localhost" + port}, {"Host", "LOCALHOST" + port}} { // the cookie is not sent there
		status, _, _ := h.ask(&http.Client{}, http.MethodGet, "/", nil, headers...)
		require.Equal(t, http.StatusUnauthorized, status)
	}
	for _, headers := range [][]string{{"Origin", h.base}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}} {
		status, _, _ := h.ask(h.client, http.MethodGet, "/", nil, headers...)
		require.Equal(t, http.StatusOK, status, headers)
	}
}

// TestAChangeNeedsAFormOfTheSession ends a run of the agent, which only the form of the
// page can.
func TestAChangeNeedsAFormOfTheSession(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	running := runningAgent(t, folder, "going")
	h := serveHub(t, folder)
	page := h.page("/diagnostics/agents/going")
	require.Contains(t, page, `<span class="status going s-running">running</span>`)
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, token, page)
	for _, form := range []url.Values{{}, {"csrf": {""}}, {"csrf": {token[1] + "x"}}, {"csrf": {strings.ToLower(token[1])}}} {
		status, _, _ := h.ask(h.client, http.MethodPost, "/diagnostics/agents/going/cancel", form)
		require.Equal(t, http.StatusForbidden, status)
	}
	form := url.Values{"csrf": {token[1]}}
	status, _, _ := h.ask(&http.Client{}, http.MethodPost, "/diagnostics/agents/going/cancel", form)
	require.Equal(t, http.StatusUnauthorized, status, "without the session")
	status, _, _ = h.ask(h.client, http.MethodPost, "/diagnostics/agents/going/cancel", form, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	require.Equal(t, http.StatusForbidden, status, "of another site")
	status, _, _ = h.ask(h.client, http.MethodPost, "/diagnostics/agents/going/cancel?csrf="+url.QueryEscape(token[1]), url.Values{})
	require.Equal(t, http.StatusForbidden, status, "in the address, which others may see")
	large := url.Values{"csrf": {token[1]}, "why": {strings.Repeat("x", 1<<20)}}
	status, page, _ = h.ask(h.client, http.MethodPost, "/diagnostics/agents/going/cancel", large)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, page, "LIMIT_EXCEEDED")
	chunked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+"/diagnostics/agents/going/cancel", io.MultiReader(strings.NewReader(large.Encode())))
	require.NoError(t, err)
	chunked.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := h.client.Do(chunked)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode, "of an unknown length")
	require.Contains(t, h.page("/diagnostics/agents/going"), "running</span>", "nothing of that changed anything")

	status, body, _ := h.ask(h.client, http.MethodPost, "/diagnostics/agents/going/cancel", form)
	require.Equal(t, http.StatusOK, status, body)
	var ended *exec.ExitError
	require.ErrorAs(t, running.Wait(), &ended)
	require.Equal(t, exitInterrupted, ended.ExitCode())
	require.Contains(t, h.page("/diagnostics/agents/going"), `<span class="status still s-canceled">canceled</span>`)
	status, _, _ = h.ask(h.client, http.MethodPost, "/diagnostics/agents/nobody/cancel", form)
	require.Equal(t, http.StatusNotFound, status)
}

// runningAgent starts a run of the agent in another process, whose decision nobody
// gives.
func runningAgent(t *testing.T, folder, run string) *exec.Cmd {
	t.Helper()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // whose end is awaited before the one of the connection
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	command := exec.CommandContext(t.Context(), "savant", "run", "--quiet", "--name", run, "--skip-git", "a goal", "--path", folder)
	command.Env = append(os.Environ(), "REASONING_API_URL="+server.URL+"/agent_intent")
	require.NoError(t, command.Start())
	<-asked
	return command
}

// hostile is a text that breaks out of a page that does not escape it, hides a part of
// itself, and holds a secret.
const (
	hostile       = "</title></pre>\"'><img src=x onerror=alert(1)><script>alert(1)</script>{{.}}\u202e&amp;" + hostileSecret
	hostileSecret = "sk-proj-" + "abcdefghijklmnop1234"
)

// TestHostileTextsAreShownAsText has them in every field of an event, in a goal, in a
// workflow and its run, and in addresses.
func TestHostileTextsAreShownAsText(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "hostile", hostile)
	quoted, err := json.Marshal(hostile)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("workflows/mean.yaml", "name: mean\nversion: \"1\"\ndescription: "+string(quoted)+"\nparams:\n  p: {type: string, description: "+string(quoted)+"}\nsteps:\n  - {id: ask, call: human.ask, input_template: {message: \"{{ params.p }}\"}}\n")
	write("workflows/broken.yaml", "name: broken\nversion: \"1\"\nsteps:\n  - {id: a, call: llm.generate, "+string(quoted)+": 1}\n")
	write("workflows/"+strings.ReplaceAll(hostile, "/", "")+".yaml", "name: x\n")
	savantIn(t, folder, "workflows", "run", "mean", "--name", "r1", "--param", "p="+hostile)

	metadata := map[string]any{hostile: hostile, "decision_summary": hostile, "cost": hostile, "sections": []any{map[string]any{"name": hostile, "tokens": 1}}}
	raw, err := json.Marshal(map[string]any{hostile: hostile, "password": "hunter2"})
	require.NoError(t, err)
	trace, err := os.OpenFile(filepath.Join(folder, "logs", "agent_trace.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	for _, kind := range append(telemetry.Types(), telemetry.Type(hostile)) {
		line, err := json.Marshal(telemetry.Event{Type: kind, RunID: "hostile", Timestamp: hostile, Source: hostile, SessionID: hostile, Workflow: hostile, StepID: hostile,
			Step: 1, Model: hostile, Action: hostile, ToolName: hostile, CallID: hostile, Args: raw, Output: hostile, Status: hostile,
			Error: &telemetry.Failure{Code: hostile, Details: hostile}, TraceParent: hostile, Metadata: metadata})
		require.NoError(t, err)
		_, err = trace.Write(append(line, '\n'))
		require.NoError(t, err)
	}
	require.NoError(t, trace.Close())

	h := serveHub(t, folder)
	in := url.QueryEscape(hostile)
	for _, path := range []string{"/", "/runs", "/runs?workflow=mean", "/runs?workflow=" + in, "/runs/mean/r1", "/workflows", "/workflows/mean", "/workflows/broken", "/workflows?q=" + in,
		"/diagnostics/agents", "/diagnostics/agents?q=" + in + "&status=" + in, "/diagnostics/agents/hostile?view=timeline", "/diagnostics/agents/hostile?view=grouped", "/diagnostics/agents/hostile?step=1",
		"/diagnostics/agents/hostile?q=" + in + "&type=" + in + "&view=" + in, "/diagnostics/agents/hostile/trace.ndjson", "/diagnostics/agents/hostile/session.json"} {
		body := h.page(path)
		requireHarmless(t, path, body)
	}
	require.Contains(t, h.page("/diagnostics/agents/hostile"), "&lt;img src=x onerror=alert(1)&gt;")
	places := regexp.MustCompile(`data-place="([^"]+)"`).FindAllStringSubmatch(h.page("/diagnostics/agents/hostile?view=timeline"), -1)
	require.Greater(t, len(places), len(telemetry.Types()))
	for _, place := range places {
		for _, path := range []string{"/diagnostics/agents/hostile?event=", "/diagnostics/agents/hostile/event?q=" + in + "&event="} {
			path += url.QueryEscape(place[1])
			requireHarmless(t, path, h.page(path))
		}
	}
	requireHarmless(t, "rows", strings.Join(h.rows("hostile", 0, "&q="+in+"&view="+in).Rows, ""))
	for _, path := range []string{"/" + url.PathEscape(hostile), "/runs/" + url.PathEscape(hostile) + "/x", "/runs/mean/" + url.PathEscape(hostile), "/runs/..%2f..%2f/x",
		"/workflows/" + url.PathEscape(hostile), "/workflows/..%2f..%2fetc", "/diagnostics/agents/" + url.PathEscape(hostile), "/diagnostics/agents/..%2fx/session.json",
		"/diagnostics/agents/hostile/exchange?digest=" + in, "/diagnostics/agents/hostile/exchange?digest=..%2fhostile.journal"} {
		status, body, _ := h.ask(h.client, http.MethodGet, path, nil)
		require.GreaterOrEqual(t, status, 400, path)
		require.Less(t, status, 500, path)
		requireHarmless(t, path, body)
	}
	_, _, header := h.ask(h.client, http.MethodGet, "/diagnostics/agents/hostile/trace.ndjson", nil)
	require.Equal(t, `attachment; filename="trace-hostile.ndjson"`, header.Get("Content-Disposition"))
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
}

func requireHarmless(t *testing.T, path, body string) {
	t.Helper()
	if !strings.HasSuffix(path, "json") { // which no browser shows as a page, and which holds what there is
		for _, each := range []string{"<img", "<script>", "<no value>", "</title></pre>", "\u202e"} {
			require.NotContains(t, body, each, path)
		}
	}
	require.NotContains(t, body, hostileSecret, path)
	require.NotContains(t, body, "hunter2", path)
}

// TestTheHubShowsWhatTheCommandsSay compares pages with the command line.
func TestTheHubShowsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	empty := serveHub(t, folder)
	for path, says := range map[string]string{"/": "savant workflows run NAME", "/runs": "savant workflows run NAME", "/diagnostics/agents": "savant run &#34;what you want&#34;"} {
		require.Contains(t, quotesOf(empty.page(path)), quotesOf(says), path)
	}
	require.Contains(t, empty.page("/"), "No run of a workflow is open: none waits for anybody.")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "asks.yaml"),
		[]byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: sure, call: human.approve, input_template: {message: \"Sure?\"}}\n  - {id: more, call: nobody.has}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "asks", "--name", "r1")
	savantIn(t, folder, "run", "--quiet", "--name", "a1", "--force-tool", "git.status", "--force-finish")

	h := empty // what other processes did since it was started is there, too
	require.Contains(t, h.page("/"), `href="/runs/asks/r1"`)
	require.Contains(t, h.page("/"), "offline-planner</td>")
	require.NotContains(t, h.page("/"), "none waits for anybody")
	require.Contains(t, h.page("/diagnostics/agents/a1?type=tool_call_started"), `<span class="line">1 git.status</span>`)
	require.Contains(t, h.page("/diagnostics/agents"), "no goal: its first call was given")
	run := h.page("/runs/asks/r1")
	require.Contains(t, run, "waiting</span> for a person at <code>sure</code>")
	var history struct {
		History []struct{ Hash, Kind string }
	}
	require.NoError(t, json.Unmarshal([]byte(savantIn(t, folder, "state", "history", "r1", "--json")), &history))
	require.NotEmpty(t, history.History)
	for _, each := range history.History {
		require.Contains(t, run, each.Hash)
	}
	workflow := h.page("/workflows/asks")
	require.Contains(t, workflow, `id="L5" class="has"`, "the unknown tool is marked at its line")
	require.Contains(t, workflow, "nobody.has")

	agent := h.page("/diagnostics/agents/a1?view=grouped")
	require.Regexp(t, `Step #1</a> tool <code>git\.status</code>`, agent)
	only := h.page("/diagnostics/agents/a1?type=tool_call_started")
	require.Equal(t, 1, strings.Count(only, `<li class="row"`))
	require.Regexp(t, `data-key="tool_call_started" href="[^"]*" aria-current="true">tool_call_started <span class="number">1<`, only)
	_, trace, _ := h.ask(h.client, http.MethodGet, "/diagnostics/agents/a1/trace.ndjson", nil)
	require.Equal(t, savantIn(t, folder, "runs", "trace", "a1", "--json"), trace)
	var shown, downloaded any
	require.NoError(t, json.Unmarshal([]byte(savantIn(t, folder, "runs", "show", "a1", "--json")), &shown))
	require.NoError(t, json.Unmarshal([]byte(h.page("/diagnostics/agents/a1/session.json")), &downloaded))
	require.Equal(t, shown, downloaded)

	savantIn(t, folder, "workflows", "run", "asks", "--name", "r2")
	journal := filepath.Join(folder, ".savant", "state", "asks", "r2.journal")
	records, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, bytes.ReplaceAll(records, []byte(`"kind"`), []byte(`"kinq"`)), 0o600))
	require.Contains(t, h.page("/runs/asks/r2"), "does not match its hash", "a damaged run says what is wrong with it")

	for path, status := range map[string]int{"/runs/asks/none": 404, "/runs/none/r1": 404, "/workflows/none": 404, "/diagnostics/agents/none": 404, "/none": 404} {
		got, _, _ := h.ask(h.client, http.MethodGet, path, nil)
		require.Equal(t, status, got, path)
	}
}

// quotesOf is a text without the quotes that templates write in their own way.
func quotesOf(text string) string { return strings.ReplaceAll(text, "&#34;", `"`) }

// TestTheHubListensHereAlone refuses addresses that others can reach.
func TestTheHubListensHereAlone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0", "nonsense"} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{"hub", "--address", address, "--path", t.TempDir()}, nil, strings.NewReader(""), io.Discard, &stderr)
		require.Equal(t, cli.ExitUsage, code, stderr.String())
		require.Contains(t, stderr.String(), "--address")
	}
}
