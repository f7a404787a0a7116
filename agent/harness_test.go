package agent_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a Reasoning API that plays a script: a real HTTP server.
type scripted struct {
	mu       sync.Mutex
	answers  []json.RawMessage
	requests []reasoning.Request
	log      *journal
	// recorder is flushed before a question is shown: events come first.
	recorder *telemetry.Recorder
	// arrived is told of each question.
	arrived chan int
}

// journal is what a scenario shows: questions and events in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n") + "\n"
}

// ServeHTTP answers the next of the script. {"http": 503} is an answer with
// that status, {"hang": true} none until the client goes; when the script is
// over the run is told to finish.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request reasoning.Request
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	answer := json.RawMessage(`{"action":"finish","final":"the script is over"}`)
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	s.recorder.Flush()
	s.log.add("ask %d%s", request.Step, asked(request))
	select {
	case s.arrived <- request.Step:
	default:
	}
	var special struct {
		HTTP int
		Hang bool
		Text string
	}
	_ = json.Unmarshal(answer, &special) // an intent is none of these
	switch {
	case special.Hang:
		<-r.Context().Done()
	case special.HTTP != 0:
		http.Error(w, "as the script says", special.HTTP)
	case special.Text != "":
		_, _ = io.WriteString(w, special.Text)
	default:
		_, _ = w.Write(answer)
	}
}

// asked is what is worth seeing of a question.
func asked(request reasoning.Request) string {
	var out strings.Builder
	p := request.Policy
	if p.NoTools {
		out.WriteString(" no_tools")
	}
	if p.MustFinish {
		out.WriteString(" must_finish")
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, " note=%q", note)
	}
	for _, each := range request.LastOutput {
		came := string(each.Result)
		if each.Error != nil {
			came = string(each.Error.Code)
		}
		fmt.Fprintf(&out, " last=%s:%s", each.ToolName, fault.Cut(came, 60))
	}
	if request.Memory.Omitted > 0 {
		fmt.Fprintf(&out, " omitted=%d", request.Memory.Omitted)
	}
	return out.String()
}

// world is a runtime with what it needs.
type world struct {
	runtime *agent.Runtime
	api     *scripted
	log     *journal
	folder  string
	store   *memory.Store
}

func newWorld(t testing.TB, answers []json.RawMessage, change func(*agent.Options)) *world {
	t.Helper()
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	log := &journal{}
	api := &scripted{answers: answers, log: log, arrived: make(chan int, 1000)}
	server := httptest.NewServer(api)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(t, err)
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root, Redactor: telemetry.NewRedactor("planted-secret-value"),
		Observe: func(e telemetry.Event) { log.add("%s", shown(e)) }})
	api.recorder = recorder
	store := memory.Open(root, time.Now)
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(tools(folder)...))
	ids := 0
	options := agent.Options{Toolbox: registry, Memory: store, Recorder: recorder, Now: time.Now, Decider: "a script",
		Client: reasoning.New(reasoning.Options{Transport: transport, Name: "the script", Retries: 1}),
		NewID:  func() string { ids++; return fmt.Sprintf("run%d", ids) },
		Prompts: func(context.Context) (agent.Prompts, error) {
			return agent.Prompts{Personas: []reasoning.Persona{{Name: "engineer", Text: "You are careful."}, {Name: "reviewer", Text: "You review."}},
				Rules: []agent.Rule{{Name: "tour", Phrases: []string{"repository tour"}, Workflow: "repo_tour", Persona: "reviewer"},
					{Name: "bug", Phrases: []string{"fix the bug"}, Workflow: "bug_fix", ParamFromGoal: "bug"}}}, nil
		},
		Workflows: func(context.Context) ([]string, error) { return []string{"hello", "repo_tour", "review_v1"}, nil },
	}
	if change != nil {
		change(&options)
	}
	w := &world{runtime: agent.New(options), api: api, log: log, folder: folder, store: store}
	t.Cleanup(func() {
		w.runtime.Close()
		transport.Close()
		server.Close()
		require.NoError(t, recorder.Close())
		require.NoError(t, root.Close())
	})
	return w
}

// shown is what is worth seeing of an event, without what differs each time.
func shown(e telemetry.Event) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %s %d", e.Type, e.Step)
	for _, each := range []string{e.Action, e.ToolName, string(e.Args), e.Status} {
		if each != "" {
			out.WriteString(" " + each)
		}
	}
	if e.Error != nil {
		out.WriteString(" " + e.Error.Code)
	}
	for _, name := range []string{"rule", "persona", "amr_rules_triggered", "final", "warning", "note", "summarized"} {
		if value := e.Metadata[name]; value != nil && fmt.Sprint(value) != "" && fmt.Sprint(value) != "[]" && fmt.Sprint(value) != "0" {
			fmt.Fprintf(&out, " %s=%q", name, fmt.Sprint(value))
		}
	}
	return out.String()
}

type in struct {
	Text string `json:"text,omitempty"`
	Size int    `json:"size,omitempty"`
}

// tools are what the agent of a scenario can call. Some fail once: what they
// did before is in a file of the folder.
func tools(folder string) []engines.Tool {
	say := func(name string, f func(context.Context, in) (any, error)) engines.Tool {
		return engines.Bind(name, "A tool of the tests.", f)
	}
	echo := func(_ context.Context, given in) (any, error) {
		return map[string]any{"text": given.Text + strings.Repeat("x", given.Size)}, nil
	}
	readOnly := func(tool engines.Tool) engines.Tool { tool.ReadOnly, tool.Idempotent = true, true; return tool }
	write := func(_ context.Context, given in) (any, error) {
		file, err := os.OpenFile(filepath.Join(folder, "written"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		_, err = file.WriteString(given.Text + "\n")
		return map[string]any{"written": given.Text}, err
	}
	flaky := func(_ context.Context, given in) (any, error) {
		name := filepath.Join(folder, "flaky")
		if _, err := os.Stat(name); err == nil {
			return map[string]any{"text": given.Text}, nil
		}
		return nil, fmt.Errorf("%w", fault.New(fault.ToolFailed, "not yet; %v", os.WriteFile(name, nil, 0o600)))
	}
	hang := func(ctx context.Context, _ in) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	fails := func(context.Context, in) (any, error) { return nil, fault.New(fault.ToolFailed, "it always fails") }
	leak := func(context.Context, in) (any, error) {
		return map[string]any{"text": "the key is planted-secret-value", "password": "hunter2"}, nil
	}
	workflow := engines.Bind("workflow.workflow_run", "Runs a workflow.", func(_ context.Context, given struct {
		Workflow string         `json:"workflow"`
		Params   map[string]any `json:"params,omitempty"`
		WaitMS   int            `json:"wait_ms,omitempty"`
	}) (any, error) {
		return map[string]any{"status": map[bool]string{true: "pending", false: "done"}[given.Workflow == "review_v1"], "summary": "ran " + given.Workflow}, nil
	})
	workflow.Destructive, workflow.OpenWorld = true, true
	destroy := say("test.destroy", write)
	destroy.Destructive = true
	outside := readOnly(say("net.fetch", echo))
	outside.OpenWorld = true
	return []engines.Tool{readOnly(say("test.read", echo)), say("test.write", write), readOnly(say("test.flaky", flaky)), readOnly(say("test.hang", hang)),
		say("test.fail", fails), readOnly(say("test.leak", leak)), destroy, outside, readOnly(say("context.fts_search", echo)), readOnly(say("context.read", echo)),
		readOnly(say("think.plan", echo)), say("agent.run", echo), workflow}
}

// TestScenarios plays each file of testdata/scenarios: an order, a policy, the
// answers of the Reasoning API, and the transcript that comes of them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	var order agent.Order
	var answers []json.RawMessage
	var policy struct {
		agent.Policy
		Answer        *bool
		DisableDetect bool
	}
	golden := ""
	for _, each := range archive.Files {
		switch each.Name {
		case "order.json":
			require.NoError(t, json.Unmarshal(each.Data, &order))
		case "policy.json":
			require.NoError(t, json.Unmarshal(each.Data, &policy))
		case "answers.json":
			require.NoError(t, json.Unmarshal(each.Data, &answers))
		case "transcript":
			golden = string(each.Data)
		}
	}
	w := newWorld(t, answers, func(o *agent.Options) {
		o.Policy, o.DisableDetect = policy.Policy, policy.DisableDetect
		if policy.Answer != nil {
			o.Policy.Confirm = func(context.Context, string, json.RawMessage) (bool, error) { return *policy.Answer, nil }
		}
	})
	got := w.run(t, order)
	if *update {
		write(t, file, archive, got)
		return
	}
	require.Equal(t, golden, got, "run go test ./agent -run TestScenarios -update if this is meant")
}

// run runs an order to its end and returns the transcript.
func (w *world) run(t *testing.T, order agent.Order) string {
	t.Helper()
	run, err := w.runtime.Start(order)
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	report := run.Wait(t.Context(), nil)
	text := w.log.text()
	text += fmt.Sprintf("%s after %d steps, in state %s\n", report.Status, report.Steps, report.State)
	for _, each := range []string{report.Final, report.Warning} {
		if each != "" {
			text += each + "\n"
		}
	}
	if report.Error != nil {
		text += report.Error.Error() + "\n"
	}
	again, err := w.runtime.Report(run.ID())
	require.NoError(t, err)
	require.Equal(t, report.Status, again.Status, "the journal says the same")
	require.Equal(t, report.Final, again.Final)
	require.Equal(t, steps(t, report), steps(t, again), "the journal holds the whole transcript")
	return text
}

// steps are those of a report, as JSON, without the files that a snapshot made.
func steps(t *testing.T, report agent.Report) []string {
	t.Helper()
	list := []string{}
	for _, step := range report.Transcript {
		step.Calls = append([]memory.Call(nil), step.Calls...)
		for i := range step.Calls {
			step.Calls[i].Artifact = ""
		}
		data, err := json.Marshal(step)
		require.NoError(t, err)
		list = append(list, string(data))
	}
	return list
}

func write(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	for i := range archive.Files {
		if archive.Files[i].Name == "transcript" {
			archive.Files = append(archive.Files[:i], archive.Files[i+1:]...)
			break
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: "transcript", Data: []byte(got)})
	require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
}
