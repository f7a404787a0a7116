package agent_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/internal/redact"
	"savant/reasoning"
	"savant/telemetry"
	"savant/test/agenttest"
)

// watcherFunc is a function as a telemetry.Watcher.
type watcherFunc func(telemetry.Event)

func (f watcherFunc) Recorded(event telemetry.Event) { f(event) }

var update = flag.Bool("update", false, "write golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a runtime with what it needs.
type world struct {
	runtime *agent.Runtime
	api     *agenttest.API
	log     *agenttest.Journal
	folder  string
	store   *memory.Store
}

// scriptClient is a client that people know as a script.
type scriptClient struct{ *reasoning.Client }

// Name implements agent.Decider, as Identify does.
func (scriptClient) Name() string { return "a script" }

// Identify is Name.
func (scriptClient) Identify(context.Context) string { return "a script" }

// project has the prompts and workflows of the scenarios.
type project struct{}

// AwaitTools implements agent.Project, as the other methods do.
func (project) AwaitTools(context.Context) {}

// Prompts are those of the scenarios.
func (project) Prompts(context.Context) (agent.Prompts, error) { return agenttest.Prompts(), nil }

// Repo knows none.
func (project) Repo(context.Context) (*reasoning.Repo, error) { return nil, nil }

// Workflows are those of the scenarios.
func (project) Workflows(context.Context) ([]string, error) { return agenttest.Workflows(), nil }

// sameAnswer is a person who always answers the same.
type sameAnswer bool

// Approve implements agent.Approver.
func (a sameAnswer) Approve(context.Context, string, json.RawMessage) (bool, error) {
	return bool(a), nil
}

func newWorld(t testing.TB, answers []json.RawMessage, change func(*agent.Options)) *world {
	t.Helper()
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	log := &agenttest.Journal{}
	api := &agenttest.API{Answers: answers, Log: log, Arrived: make(chan int, 1000)}
	server := httptest.NewServer(api)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(t, err)
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root, Redactor: redact.New("planted-secret-value"),
		Watcher: watcherFunc(func(e telemetry.Event) { log.Add("%s", agenttest.Shown(e)) })})
	api.Before = recorder.Flush
	store := memory.Open(root, time.Now)
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(agenttest.Tools(folder)...))
	ids := 0
	options := agent.Options{Toolbox: registry, Memory: store, Recorder: recorder, Now: time.Now, RetryLimit: 1, CacheFor: 2 * time.Second,
		Decider: scriptClient{reasoning.New(reasoning.Options{Transport: transport, Name: "the script", Retries: 1, Remote: true})},
		NewID:   func() string { ids++; return fmt.Sprintf("run%d", ids) },
		Project: project{},
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
	scenario, err := agenttest.Read(file)
	require.NoError(t, err)
	policy := scenario.Policy
	w := newWorld(t, scenario.Answers, func(o *agent.Options) {
		o.Policy, o.DisableDetect = policy.Policy, policy.DisableDetect
		if policy.Answer != nil {
			o.Policy.Approver = sameAnswer(*policy.Answer)
		}
	})
	got := w.run(t, scenario.Order)
	if *update {
		write(t, file, scenario.Archive, got)
		return
	}
	require.Equal(t, scenario.Transcript, got, "run go test ./agent -run TestScenarios -update if this is meant")
}

// run runs an order to its end and returns the transcript.
func (w *world) run(t *testing.T, order agent.RunOptions) string {
	t.Helper()
	run, err := w.runtime.Start(order)
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	report := run.Wait(t.Context(), nil)
	text := w.log.Text() + agenttest.Ending(report)
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
