//go:build unix

package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory/mongosessions"
	"savant/engines/mcpclient"
	"savant/internal/mongo"
	"savant/reasoning"
	"savant/test/mongotest"
	"savant/think/state"
)

// oneFleet is a database, servers and workers, each a process of its own, and a
// Reasoning API that counts what it was asked.
type oneFleet struct {
	t        *testing.T
	database *mongotest.Server
	proxy    *mongotest.Proxy
	place    *mongosessions.Place

	databaseName string
	folder       string
	environment  []string
	ledger       string // the file of a tool that is not to be called twice; may be empty

	mu      sync.Mutex
	servers []*overHTTP
	workers map[string]*exec.Cmd // by name
	names   map[string]string    // of workers, by owner in the database
	answers map[string]string    // of guided runs: the servers that answered
	work    atomic.Int64         // questions to the Reasoning API, and calls of guided runs
	paid    map[string]int       // how often each decision was paid for, by run and step
	due     map[int64]func()     // what happens with a question or a call
}

// guidedSteps is how many steps a guided run has, beside its plan.
const guidedSteps = 6

func newFleet(t *testing.T, seed uint64) *oneFleet {
	f := &oneFleet{t: t, database: mongotest.Start(t), folder: t.TempDir(), workers: map[string]*exec.Cmd{}, names: map[string]string{}, answers: map[string]string{}, paid: map[string]int{}}
	f.proxy = mongotest.NewProxy(t, f.database, seed)
	f.databaseName = mongotest.NewDatabase()
	uri := f.proxy.URI(f.databaseName)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	f.place = mongosessions.Open(context.Background(), database, "test")
	api := httptest.NewServer(http.HandlerFunc(f.decide))
	t.Cleanup(api.Close)
	f.environment = []string{"SAVANT_STORE=mongo", "MONGO_URI=" + uri, "REASONING_API_URL=" + api.URL, "HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}
	longWorkflow(t, f.folder, guidedSteps)
	require.NoError(t, os.WriteFile(f.folder+"/notes.md", []byte("# Notes\nThe fleet carries out runs.\n"), 0o600))
	return f
}

// decide lets a run search, think and finish, and lets happen what is due.
func (f *oneFleet) decide(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.happens()
	f.mu.Lock()
	f.paid[fmt.Sprint(request.RunID, " ", request.Step)]++
	f.mu.Unlock()
	answer := fmt.Sprintf(`{"action":"finish","final":"done %s"}`, request.RunID)
	switch {
	case request.Step == 2 && f.ledger != "":
		answer = fmt.Sprintf(`{"action":"tool","tool_name":"ledger.note","args":{"line":%q}}`, request.RunID)
	case request.Step < 4:
		answer = fmt.Sprintf(`{"action":"tool","tool_name":"context.search","args":{"query":"fleet %d"}}`, request.Step)
	}
	_, _ = w.Write([]byte(answer))
}

// happens lets happen what is due.
func (f *oneFleet) happens() {
	if happens := f.due[f.work.Add(1)]; happens != nil {
		happens()
	}
}

// fleetLease is short, so that runs of lost workers are taken over soon, and long beside
// what a busy machine keeps a worker from sending a heartbeat.
const fleetLease = 3 * time.Second

// worker starts a worker and waits until it works.
func (f *oneFleet) worker(name string) {
	f.t.Helper()
	command := exec.Command("savant", "work", "--concurrency", "2", "--lease", fleetLease.String(), "--attempts", "100", "--label", "folder=demo", "--path", f.folder)
	command.Env = append(os.Environ(), f.environment...)
	stderr, err := command.StderrPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, command.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "savant: working on runs with folder=demo") {
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
		}
	}()
	host, err := os.Hostname()
	require.NoError(f.t, err)
	f.mu.Lock()
	f.workers[name], f.names[fmt.Sprintf("%s/%d", host, command.Process.Pid)] = command, name
	f.mu.Unlock()
	f.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGCONT)
		_ = command.Process.Kill()
		<-read
		_ = command.Wait()
	})
}

func (f *oneFleet) signal(name string, signal syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.workers[name].Process.Signal(signal)
}

// call calls a tool at one server after the other until one answers well. enough is a
// text of an error that will do, too.
func (f *oneFleet) call(first int, tool string, args map[string]any, enough string) (json.RawMessage, int, error) {
	for n := first; ; n++ {
		f.mu.Lock()
		at := n % len(f.servers)
		address := f.servers[at].address
		f.mu.Unlock()
		result, err := callOnce(f.t.Context(), address, tool, args)
		if err == nil || enough != "" && strings.Contains(err.Error(), enough) || f.t.Context().Err() != nil {
			return result, at, f.t.Context().Err()
		}
		for _, hopeless := range []string{"UNKNOWN_TOOL", "INVALID_PARAMS", "UNKNOWN_RUN", "VALIDATION_FAILED"} {
			if strings.Contains(err.Error(), hopeless) {
				return nil, at, err
			}
		}
	}
}

func callOnce(ctx context.Context, address, tool string, args map[string]any) (json.RawMessage, error) {
	client, err := mcpclient.ConnectHTTP(ctx, address, nil, mcpclient.Options{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Call(ctx, tool, args)
}

// underWay are the states of a run that goes on: an interrupted one is between the worker
// that died and the one that takes it over.
var underWay = []agent.Status{agent.StatusQueued, agent.StatusRunning, agent.StatusInterrupted}

// ordered begins a run of the agent and follows it to its end, wherever that is asked.
func (f *oneFleet) ordered(n int) (report agent.Report, err error) {
	result, at, err := f.call(n, "agent.run", map[string]any{"goal": fmt.Sprintf("what does the fleet do? (%d)", n), "labels": []string{"folder=demo"}, "wait_ms": 0}, "")
	for err == nil {
		steps := report.Steps
		if err = json.Unmarshal(result, &report); err != nil || !slices.Contains(underWay, report.Status) {
			return report, err
		}
		if report.Steps < steps {
			return report, fmt.Errorf("run %s had %d steps, and has %d", report.RunID, steps, report.Steps)
		}
		result, at, err = f.call(at+1, "agent.status", map[string]any{"run_id": report.RunID, "wait_ms": 2000}, "")
	}
	return report, err
}

// guidedRun and guidedResult name a guided run, and what its client answers to a step.
func guidedRun(n int) string { return fmt.Sprintf("guided%02d", n) }

func guidedResult(run string, step int) string { return fmt.Sprintf("%s has answered s%d", run, step) }

// guided goes through a workflow, each step at the next server. A step whose reply was lost
// is refused when it is repeated, which shows that it was recorded.
func (f *oneFleet) guided(n int) error {
	run, by := guidedRun(n), map[string]int{}
	for step := -1; step < guidedSteps; step++ {
		f.happens()
		tool, enough, args := "think.plan", "ID_COLLISION", map[string]any{"workflow": "long", "run_id": run}
		if step >= 0 {
			tool, enough, args = "think.next", "INVALID_TRANSITION", map[string]any{"run_id": run, "step_id": fmt.Sprint("s", step), "result_snapshot": guidedResult(run, step)}
		}
		_, at, err := f.call(n+step+1, tool, args, enough)
		if err != nil {
			return err
		}
		by[fmt.Sprintf("server %d", at+1)]++
	}
	var list []string
	for _, server := range slices.Sorted(maps.Keys(by)) {
		list = append(list, fmt.Sprintf("%s: %d", server, by[server]))
	}
	f.mu.Lock()
	f.answers[run] = strings.Join(list, ", ")
	f.mu.Unlock()
	return nil
}

// play has a fleet carry out runs while what faults says happens to it.
func (f *oneFleet) play(runs int) (reports []agent.Report) {
	f.servers = []*overHTTP{serveHTTP(f.t, f.folder, f.environment...), serveHTTP(f.t, f.folder, f.environment...)}
	for n := range 3 {
		f.worker(fmt.Sprintf("worker %d", n+1))
	}
	reports = make([]agent.Report, runs)
	failed := make([]error, 2*runs)
	var all sync.WaitGroup
	for n := range runs {
		all.Go(func() { reports[n], failed[n] = f.ordered(n) })
		all.Go(func() { failed[runs+n] = f.guided(n) })
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(f.t, err)
	}
	return reports
}

// check finds what a fleet must not do: an end that is not right, a record that is there
// twice, a guided run that is not done.
func (f *oneFleet) check(reports []agent.Report) {
	for _, report := range reports {
		require.Equal(f.t, agent.StatusOK, report.Status, "%+v", report)
		require.Equal(f.t, "done "+report.RunID, report.Final)
		records, err := f.place.Records(report.RunID)
		require.NoError(f.t, err)
		seen := map[string]bool{}
		for _, each := range records {
			var part struct{ Step, Number int }
			require.NoError(f.t, json.Unmarshal(each.Data, &part))
			what := fmt.Sprint(each.Kind, part)
			require.False(f.t, seen[what] && each.Kind != mongosessions.KindTaken && each.Kind != "finished", "%s of run %s is recorded twice", what, report.RunID)
			seen[what] = true
		}
		require.True(f.t, seen["decision{4 0}"] && seen["call{3 0}"], "%s lacks a step: %v", report.RunID, seen)
	}
	result, _, err := f.call(1, "think.state.list", map[string]any{"limit": 300}, "")
	require.NoError(f.t, err)
	require.Equal(f.t, len(f.answers), strings.Count(string(result), `"status":"done"`), "%s", result)
	store := storeOf(f.t, f.database.URI(f.databaseName))
	for run := range f.answers {
		records, err := store.Records(f.t.Context(), state.Key{Workflow: "long", Run: run}, 0, 0)
		require.NoError(f.t, err)
		require.Len(f.t, records, 1+guidedSteps, "of guided run %s a step is lost, or there twice", run)
		for step := range guidedSteps {
			require.Contains(f.t, string(records[1+step].Data), guidedResult(run, step), "guided run %s", run)
		}
	}
}

// drivers are the workers that had a run, in order.
func (f *oneFleet) drivers(id string) (list []string) {
	records, err := f.place.Records(id)
	require.NoError(f.t, err)
	for _, each := range records {
		var taken mongosessions.Taken
		if each.Kind == mongosessions.KindTaken && json.Unmarshal(each.Data, &taken) == nil {
			list = append(list, f.names[taken.Owner])
		}
	}
	return list
}

// table says who did what.
func (f *oneFleet) table(reports []agent.Report) string {
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "RUN\tSTATUS\tSTEPS\tBY")
	for _, each := range reports {
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\n", each.RunID, each.Status, each.Steps, strings.Join(f.drivers(each.RunID), ", then "))
	}
	runs := make([]string, 0, len(f.answers))
	for run := range f.answers {
		runs = append(runs, run)
	}
	slices.Sort(runs)
	for _, run := range runs {
		fmt.Fprintf(out, "%s\tdone\t%d\t%s\n", run, guidedSteps, f.answers[run])
	}
	_ = out.Flush()
	return text.String()
}

// killServer ends the first server as a crash does.
func (f *oneFleet) killServer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.servers[0].command.Process.Kill()
}

// restart ends the database as a crash does, and starts it again.
func (f *oneFleet) restart() {
	f.database.Restart()
	f.proxy.Follow(f.database)
}

// EnvDemoFleet asks for the whole demonstration and its table.
const EnvDemoFleet = "SAVANT_DEMO_FLEET"

// A fleet ends all runs right, while a worker and a server are killed on the way.
func TestFleet(t *testing.T) {
	t.Parallel()
	runs := 7 // one more than the three workers carry out at once
	if os.Getenv(EnvDemoFleet) != "" {
		runs = 20
	}
	f := newFleet(t, 1)
	// Each run has four questions, and each guided run seven calls.
	f.due = map[int64]func(){int64(8 * runs): func() { f.signal("worker 1", syscall.SIGKILL) }, int64(4 * runs): f.killServer}
	reports := f.play(runs)
	f.check(reports)
	if os.Getenv(EnvDemoFleet) != "" {
		fmt.Printf("worker 1 and server 1 were ended with SIGKILL on the way\n\n%s", f.table(reports))
	}
}
