package program

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"savant/cmd/savant/app"
)

// collector takes the traces of processes, by OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string][]traced // by service and name of the span
	raw []byte
	// arrived is closed when more spans have come.
	arrived chan struct{}
}

// traced is what matters of a span.
type traced struct{ trace, id, parent string }

func newCollector(t *testing.T) *collector {
	c := &collector{got: map[string][]traced{}, arrived: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request otlp.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	close(c.arrived)
	c.arrived = make(chan struct{})
	for _, from := range request.GetResourceSpans() {
		service := ""
		for _, each := range from.GetResource().GetAttributes() {
			if each.GetKey() == "service.name" {
				service = each.GetValue().GetStringValue()
			}
		}
		for _, span := range from.GetScopeSpans()[0].GetSpans() {
			name := service + " " + span.GetName()
			c.got[name] = append(c.got[name], traced{hex.EncodeToString(span.GetTraceId()), hex.EncodeToString(span.GetSpanId()), hex.EncodeToString(span.GetParentSpanId())})
		}
	}
}

// spans returns those of a name, as soon as there are so many.
func (c *collector) spans(t *testing.T, name string, count int) []traced {
	t.Helper()
	late := time.After(hang)
	for {
		c.mu.Lock()
		found, all, arrived := c.got[name], fmt.Sprint(c.got), c.arrived
		c.mu.Unlock()
		if len(found) >= count {
			require.Len(t, found, count)
			return found
		}
		select {
		case <-arrived:
		case <-late:
			require.Fail(t, "no span", "%q among %s", name, all)
		}
	}
}

const (
	clientTrace   = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan    = "00f067aa0ba902b7"
	plantedSecret = "plantedSecret-secret-value"
)

// asking is a Reasoning API that has one tool called, and remembers the traces
// of its questions.
func asking(t *testing.T, tool string) (address string, parents func() []string) {
	var mu sync.Mutex
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Traceparent")+" "+r.Header.Get("Tracestate"))
		answer := map[string]any{"action": "finish", "final": "done", "model": "m " + plantedSecret}
		if len(seen) == 1 {
			answer = map[string]any{"action": "tool", "tool_name": tool, "args": map[string]any{}, "model": "m", "prompt_tokens": 7}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(api.Close)
	return api.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, seen...)
	}
}

// One trace leads from a client through the agent and its questions to a
// mounted server, which is a process of its own; what is secret is in no span
// and no line.
func TestOneTraceFromTheClientToTheLastServer(t *testing.T) {
	t.Parallel()
	folder, c := t.TempDir(), newCollector(t)
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	config := fmt.Sprintf(`{"mcpServers": {"inner": {"command": "savant", "args": ["mcp"], "env": {"MCP_SERVICE": "git",
		"OTEL_EXPORTER_OTLP_ENDPOINT": %q, "OTEL_SERVICE_NAME": "inner"}}}}`, c.URL)
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant/mcp.json"), []byte(config), 0o600))
	trusts(t, folder)
	api, parents := asking(t, "inner.git_status")
	s := serveIn(t, folder, "REASONING_API_URL="+api, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "MY_API_TOKEN="+plantedSecret)
	require.Eventually(t, func() bool { return s.lists(t, "inner_git_status") }, hang, 10*time.Millisecond, "the server was not discovered")
	_, err := fmt.Fprintf(s.stdin, `{"jsonrpc":"2.0","id":"a-%s","method":"tools/call","params":{"name":"agent_run","arguments":{"goal":"look, %s"},`+
		`"_meta":{"traceparent":"00-%s-%s-01","tracestate":"vendor=1"}}}`+"\n", plantedSecret, plantedSecret, clientTrace, clientSpan)
	require.NoError(t, err)
	require.True(t, s.lines.Scan(), "the server has ended")
	require.Contains(t, s.lines.Text(), `"status":"ok"`)

	above := clientSpan
	for _, name := range []string{"savant tools/call agent.run", "savant execute_tool agent.run", "savant invoke_agent savant",
		"savant execute_tool inner.git_status", "inner tools/call git.status", "inner execute_tool git.status"} {
		span := c.spans(t, name, 1)[0]
		require.Equal(t, clientTrace, span.trace, name)
		require.Equal(t, above, span.parent, name)
		above = span.id
	}
	first, last := c.spans(t, "savant chat m", 1)[0], c.spans(t, "savant chat m [redacted]", 1)[0]
	require.Equal(t, c.spans(t, "savant invoke_agent savant", 1)[0].id, first.parent)
	require.Equal(t, []string{"00-" + clientTrace + "-" + first.id + "-01 vendor=1", "00-" + clientTrace + "-" + last.id + "-01 vendor=1"}, parents())
	require.NoError(t, s.stdin.Close())
	require.NoError(t, s.wait(t))
	c.Close() // whatever is still on its way is read or gone
	require.NotContains(t, string(c.raw), plantedSecret)
	require.NotContains(t, string(traceFile(t, folder)), plantedSecret)
	require.Contains(t, string(traceFile(t, folder)), `"traceparent":"00-`+clientTrace)
}

// lists says whether the server has a tool now.
func (s *server) lists(t *testing.T, tool string) bool {
	_, err := fmt.Fprintln(s.stdin, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.NoError(t, err)
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), `"id":1`) { // else a notification
			return strings.Contains(s.lines.Text(), tool)
		}
	}
	require.Fail(t, "the server has ended")
	return false
}

func traceFile(t *testing.T, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "logs", "agent_trace.log"))
	require.NoError(t, err)
	return data
}

// callIn runs `savant call` in a folder of its own and returns its output.
func callIn(t *testing.T, environment ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code := run(t.Context(), []string{"call", "think.workflows.list"}, append(environment, "SAVANT_PATH="+t.TempDir()), strings.NewReader(""), &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	return out.String(), errs.String()
}

func TestTheSpansOfACommandAreSentBeforeItEnds(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	patient := func(a *app.App) error { // however slow this machine is
		a.FlushTime = hang
		return a.AddEngines()
	}
	var stderr strings.Builder
	environment := []string{"SAVANT_PATH=" + t.TempDir(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.URL + "/anywhere", "OTEL_SERVICE_NAME=mine"}
	code := runWith(t.Context(), patient, []string{"call", "think.workflows.list"}, environment, strings.NewReader(""), io.Discard, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Empty(t, stderr.String())
	c.spans(t, "mine execute_tool think.workflows.list", 1)
}

// A collector that takes longer than a command, as over a slow network, gets its spans.
func TestASlowCollectorGetsTheSpansOfACommand(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(700 * time.Millisecond)
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	_, stderr := callIn(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+slow.URL, "OTEL_SERVICE_NAME=mine")
	require.Empty(t, stderr)
	c.spans(t, "mine execute_tool think.workflows.list", 1)
}

func TestACollectorThatIsGoneFailsNothing(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	plain, _ := callIn(t)
	stdout, stderr := callIn(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+gone.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+plantedSecret)
	require.Equal(t, plain, stdout)
	require.Equal(t, 1, strings.Count(stderr, "traces cannot be sent"), stderr)
	require.NotContains(t, stderr, plantedSecret)
}

// Variables that are set for other programs do not stop this one.
func TestVariablesOfOpenTelemetryThatDoNotFit(t *testing.T) {
	t.Parallel()
	plain, _ := callIn(t)
	for variables, warning := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317":                                                 "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1 OTEL_EXPORTER_OTLP_HEADERS=" + plantedSecret: "OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc":            "http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1 OTEL_SDK_DISABLED=TRUE":                      "",
	} {
		stdout, stderr := callIn(t, strings.Fields(variables)...)
		require.Equal(t, plain, stdout, variables)
		require.Contains(t, stderr, warning)
		require.Equal(t, warning == "", stderr == "", stderr)
		require.NotContains(t, stderr, plantedSecret)
	}
}

// A collector that never answers holds no call up, and no end.
func TestACollectorThatHangsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-blocked }))
	defer hanging.Close()
	defer close(blocked)
	folder := t.TempDir()
	longWorkflow(t, folder, 100)
	s := serveIn(t, folder, "OTEL_EXPORTER_OTLP_ENDPOINT="+hanging.URL)
	s.send(t, 0, "think.plan", map[string]any{"workflow": "long", "run_id": "r1"})
	for i := range 100 {
		_, more := s.read(t)
		require.True(t, more)
		s.send(t, i+1, "think.next", map[string]any{"run_id": "r1", "step_id": fmt.Sprintf("s%d", i), "result_snapshot": i})
	}
	_, more := s.read(t)
	require.True(t, more)
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.wait(t))
	require.Equal(t, 101, verified(t, folder, "r1"))
}

// Large arguments are left out of the trace; whose call it was is not.
func TestLargeArgumentsAreLeftOut(t *testing.T) {
	t.Parallel()
	written := traceOfCall(t, "think.validate", fmt.Sprintf(`{"workflow": "none", "run_id": "r1", "step_id": "greet", "response": %q}`, strings.Repeat("x", (16<<10))))
	require.Less(t, len(written), 2000)
	require.Contains(t, written, `"left_out":"args: `)
	require.Equal(t, 2, strings.Count(written, `"run_id":"r1","workflow":"none","step_id":"greet"`), written)
}

// The journal has what a step was answered with.
func TestAnAnswerIsOneLineOfTheTrace(t *testing.T) {
	t.Parallel()
	written := traceOfCall(t, "think.next", `{"workflow": "hello", "run_id": "r1", "step_id": "greet", "result_snapshot": "the-answer"}`)
	require.Equal(t, 1, strings.Count(written, "\n"), written)
	require.Contains(t, written, `"type":"tool_call_completed"`)
	require.Contains(t, written, `"run_id":"r1","workflow":"hello","step_id":"greet"`)
	require.NotContains(t, written, "the-answer")
}

// traceOfCall returns the trace of a call that fails.
func traceOfCall(t *testing.T, tool, args string) string {
	folder := t.TempDir()
	code := run(t.Context(), []string{"call", tool, "--args", args}, []string{"SAVANT_PATH=" + folder}, strings.NewReader(""), io.Discard, io.Discard)
	require.NotZero(t, code)
	return string(traceFile(t, folder))
}

// TestARunOfAWorkflowHasSpans has the steps below the run, although one process began it
// and another ended it.
func TestARunOfAWorkflowHasSpans(t *testing.T) {
	t.Parallel()
	c, folder := newCollector(t), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows/ship.yaml"), []byte("name: ship\nversion: \"1.0\"\nsteps:\n"+
		"  - {id: look, call: llm.generate, input_template: {task: look}, capture_as: tree}\n  - {id: say, call: llm.generate, input_template: {task: \"of {{ tree }}\"}}\n"), 0o600))
	patient := func(a *app.App) error {
		a.FlushTime = hang
		return a.AddEngines()
	}
	for _, call := range [][]string{{"think.plan", `{"workflow":"ship","run_id":"r1"}`}, {"think.next", `{"run_id":"r1","step_id":"look","result_snapshot":"a pine"}`},
		{"think.next", `{"run_id":"r1","step_id":"say","result_snapshot":"an oak"}`}} {
		var stderr strings.Builder
		environment := []string{"SAVANT_PATH=" + folder, "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SERVICE_NAME=mine"}
		require.Equal(t, exitOK, runWith(t.Context(), patient, []string{"call", call[0], "--args", call[1]}, environment, strings.NewReader(""), io.Discard, &stderr), stderr.String())
	}
	whole := c.spans(t, "mine invoke_workflow ship", 1)[0]
	for _, name := range []string{"mine step look", "mine step say"} {
		span := c.spans(t, name, 1)[0]
		require.Equal(t, whole.id, span.parent, name)
		require.Equal(t, whole.trace, span.trace, name)
	}
	c.Close()
	require.NotContains(t, string(c.raw), "an oak")
}

// TestARunIsInTheTraceOfItsClient has the run below the call that began it, with its wait for
// a person; another trace ends it.
func TestARunIsInTheTraceOfItsClient(t *testing.T) {
	t.Parallel()
	c, folder := newCollector(t), t.TempDir()
	places(t, folder, "workflows/ships.yaml", "name: ships\nversion: \"1.0\"\nsteps:\n  - {id: sure, call: human.approve, input_template: {message: \"Ship it?\"}}\n"+
		"  - {id: say, call: llm.generate, input_template: {task: say it}}\n")
	h := &appHost{formClient: formClient{t, serveIn(t, folder, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SERVICE_NAME=mine")}}
	h.ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": json.RawMessage(showsPages), "clientInfo": map[string]any{"name": "c", "version": "1"}})
	within := func(trace, tool string, args map[string]any) string {
		return h.ask("tools/call", map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{"traceparent": "00-" + strings.Repeat(trace, 32) + "-b7ad6b7169203331-01"}})
	}
	require.Contains(t, within("a", "think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), "Ship it?")
	digest := h.shown("r1")
	within("b", "app_decide", pressed("r1", digest, yes, h.key("ui://savant/approve")))
	require.Contains(t, within("b", "think_next", map[string]any{"run_id": "r1", "step_id": "sure"}), `"step_id":"say"`)
	require.Contains(t, within("c", "think_next", map[string]any{"run_id": "r1", "step_id": "say", "result_snapshot": "said"}), `"done"`)
	for _, name := range []string{"mine invoke_workflow ships", "mine wait_for_person sure", "mine step say"} {
		require.Equal(t, strings.Repeat("a", 32), c.spans(t, name, 1)[0].trace, name)
	}
}
