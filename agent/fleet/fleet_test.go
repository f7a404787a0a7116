package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/fleet"
	"savant/agent/memory"
	"savant/agent/memory/mongosessions"
	"savant/engines"
	"savant/fault"
	"savant/internal/mongo"
	"savant/reasoning"
	"savant/test/mongotest"
)

// machine is a process of a fleet: its connection, its runtime and its tools.
type machine struct {
	place   *mongosessions.Place
	fleet   *fleet.Fleet
	runtime *agent.Runtime
	tools   *engines.Registry
}

// asks calls box.post once and finishes with what came of it.
type asks struct{}

func (asks) RoundTrip(_ context.Context, request reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	if request.Step == 1 {
		return json.RawMessage(`{"action":"tool","tool_name":"box.post","args":{}}`), nil
	}
	final := "posted"
	if failed := request.LastOutput[0].Error; failed != nil {
		final = failed.Error()
	}
	return json.Marshal(map[string]string{"action": "finish", "final": final})
}

type nothing struct{}

// newMachine is a machine whose tool box.post, which is not to be called twice, is post.
func newMachine(t *testing.T, uri, owner string, post func(context.Context) error) *machine {
	t.Helper()
	return newMachineAt(t, uri, owner, 0, post)
}

// newMachineAt is a machine whose clock is wrong.
func newMachineAt(t *testing.T, uri, owner string, wrong time.Duration, post func(context.Context) error) *machine {
	t.Helper()
	now := func() time.Time { return time.Now().Add(wrong) }
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}, Now: now})
	require.NoError(t, err)
	m := &machine{place: mongosessions.Open(context.Background(), database, owner), tools: engines.NewRegistry(engines.Options{})}
	require.NoError(t, m.tools.Add(engines.Bind("box.post", "Posts.", func(ctx context.Context, _ nothing) (nothing, error) { return nothing{}, post(ctx) })))
	m.fleet = fleet.New(fleet.Options{Place: m.place, Database: database})
	m.runtime = agent.New(agent.Options{Toolbox: m.tools, Decider: reasoning.New(reasoning.Options{Transport: asks{}}), Memory: memory.Over(m.place, now),
		Dispatcher: m.fleet, Now: now, NewID: func() string { return strings.ToLower(ulid.Make().String()) }})
	m.fleet.Use(m.runtime)
	t.Cleanup(func() {
		m.runtime.Close()
		m.fleet.Close()
		require.NoError(t, database.Close(context.Background()))
	})
	require.NoError(t, m.tools.AddEngine(engines.Engine{Name: "agent"}, m.runtime.Tools()...))
	return m
}

// work takes runs until the test ends.
func (m *machine) work(t *testing.T, labels ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		_ = m.fleet.Serve(ctx, fleet.Work{Labels: labels, Concurrency: 2, Lease: time.Second, MaxClaims: 20})
	})
	t.Cleanup(func() { cancel(); working.Wait() })
}

func (m *machine) call(t *testing.T, tool, args string) (agent.Report, error) {
	t.Helper()
	result, err := m.tools.Invoke(t.Context(), engines.Call{}, tool, json.RawMessage(args))
	var report agent.Report
	if err == nil {
		require.NoError(t, json.Unmarshal(result.JSON, &report))
	}
	return report, err
}

func (m *machine) run(t *testing.T, args string) agent.Report {
	t.Helper()
	report, err := m.call(t, "agent.run", args)
	require.NoError(t, err)
	return report
}

// ended waits for the end of a run.
func (m *machine) ended(t *testing.T, id string) agent.Report {
	t.Helper()
	for {
		report, err := m.call(t, "agent.status", `{"run_id":"`+id+`","wait_ms":50000}`)
		require.NoError(t, err)
		if report.Status != agent.StatusQueued && report.Status != agent.StatusRunning {
			return report
		}
	}
}

// once fails if a session has a decision, a call or an end of its present goal twice.
func once(t *testing.T, place *mongosessions.Place, id string) {
	t.Helper()
	records, err := place.Records(id)
	require.NoError(t, err)
	seen := map[string]bool{}
	for i, each := range records {
		require.Equal(t, i+1, each.Number)
		var part struct {
			Step   int    `json:"step"`
			Number int    `json:"number"`
			Status string `json:"status"`
		}
		require.NoError(t, json.Unmarshal(each.Data, &part))
		if each.Kind == mongosessions.KindTaken || part.Status == string(agent.StatusInterrupted) {
			continue
		}
		part.Status = ""
		text, err := json.Marshal(part)
		require.NoError(t, err)
		what := each.Kind + string(text)
		require.False(t, seen[what], "%s was recorded twice in %s", what, id)
		seen[what] = true
	}
}

func never(context.Context) error { return nil }

// A worker that is cut off in the middle of a call loses its run. Whoever takes it over
// does not repeat the call, and says so; the former owner cannot write any more.
func TestACallThatWasBegunIsNotRepeated(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy, name := mongotest.NewProxy(t, server, 1), mongotest.NewDatabase()
	var posted atomic.Int32
	begun, let := make(chan struct{}), make(chan struct{})
	lost := newMachine(t, proxy.URI(name), "lost", func(context.Context) error {
		posted.Add(1)
		close(begun)
		<-let
		return nil
	})
	lost.work(t)
	other := newMachine(t, server.URI(name), "other", func(context.Context) error { posted.Add(1); return nil })
	id := other.run(t, `{"goal":"post it","wait_ms":0}`).RunID
	<-begun
	proxy.Refuse(true)
	other.work(t)
	report := other.ended(t, id)
	require.Equal(t, agent.StatusOK, report.Status)
	require.Contains(t, report.Final, string(fault.ToolFailed)+":")
	require.Contains(t, report.Final, "box.post", "the call that was not repeated")
	require.EqualValues(t, 1, posted.Load(), "the call was made twice")
	before, err := other.place.Records(id)
	require.NoError(t, err)
	proxy.Refuse(false)
	close(let) // the former owner goes on, and writes what came of its call
	require.NoError(t, waitUntilGone(t, lost, id))
	after, err := other.place.Records(id)
	require.NoError(t, err)
	require.Equal(t, before, after, "a former owner wrote to the session")
	once(t, other.place, id)
}

// waitUntilGone waits until a machine no longer drives a run.
func waitUntilGone(t *testing.T, m *machine, id string) error {
	t.Helper()
	lost, err := m.runtime.Resume(agent.Order{RunID: id}) // the run itself while it goes on
	if err == nil {
		<-lost.Done()
		return nil
	}
	if fault.From(err).Code == fault.StateConflict {
		return nil
	}
	return err
}

// A run is cancelled from a machine that does not drive it, before and while somebody
// does, and goes on afterwards.
func TestCancelFromAnotherMachine(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	uri := server.URI(mongotest.NewDatabase())
	begun := make(chan struct{}, 1)
	asking := newMachine(t, uri, "asking", never)
	waiting := asking.run(t, `{"goal":"post it","wait_ms":0}`)
	require.Equal(t, agent.StatusQueued, waiting.Status)
	require.Contains(t, waiting.Warning, "savant work", "the command that starts a worker")
	report, err := asking.call(t, "agent.cancel", `{"run_id":"`+waiting.RunID+`"}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusCanceled, report.Status)
	elsewhere := asking.run(t, `{"goal":"post it","labels":["folder=none"],"wait_ms":0}`) // no worker would take it
	_, err = asking.call(t, "agent.cancel", `{"run_id":"`+elsewhere.RunID+`"}`)
	require.NoError(t, err)

	working := newMachine(t, uri, "working", func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	working.work(t, "folder=shop")
	driven := asking.run(t, `{"goal":"post it","labels":["folder=shop"],"wait_ms":0}`)
	<-begun
	report, err = asking.call(t, "agent.cancel", `{"run_id":"`+driven.RunID+`"}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusCanceled, report.Status)
	for { // the worker learns it, and lets go of the run
		records, err := asking.place.Records(driven.RunID)
		require.NoError(t, err)
		if agent.EndsRun(records[len(records)-1]) {
			break
		}
	}
	list, err := asking.runtime.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 3)
	for listed := 1; listed > 0; {
		listed, err = asking.place.Jobs.Waiting(t.Context())
		require.NoError(t, err)
	}
	for _, each := range list {
		require.Equal(t, agent.StatusCanceled, each.Status, each.RunID)
	}
	require.ErrorIs(t, asking.runtime.Cancel("none"), fault.UnknownRun)
}

// A run goes only to a worker that has what it needs; if there is none it says so.
func TestLabels(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	uri := server.URI(mongotest.NewDatabase())
	var wrong, right atomic.Int32
	one := newMachine(t, uri, "one", func(context.Context) error { wrong.Add(1); return nil })
	one.work(t, "folder=shop")
	require.Equal(t, agent.StatusOK, one.run(t, `{"goal":"anywhere","wait_ms":50000}`).Status)
	report := one.run(t, `{"goal":"there","labels":["folder=shop","os=linux"],"wait_ms":0}`)
	require.Equal(t, agent.StatusQueued, report.Status)
	require.Contains(t, report.Warning, "savant work --label folder=shop --label os=linux")
	_, err := one.call(t, "agent.run", `{"goal":"there","labels":["shop"]}`)
	require.ErrorIs(t, err, fault.InvalidParams)
	other := newMachine(t, uri, "other", func(context.Context) error { right.Add(1); return nil })
	other.work(t, "os=linux", "folder=shop")
	require.Equal(t, agent.StatusOK, one.ended(t, report.RunID).Status)
	require.EqualValues(t, 1, wrong.Load())
	require.EqualValues(t, 1, right.Load())
}

// Without the database it is said at once, with code, host and cause. When it is back
// everything goes on by itself.
func TestWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	begun, let := make(chan struct{}, 10), make(chan struct{})
	m := newMachine(t, proxy.URI(mongotest.NewDatabase()), "m", func(context.Context) error { begun <- struct{}{}; <-let; return nil })
	m.work(t)
	id := m.run(t, `{"goal":"post it","wait_ms":0}`).RunID
	<-begun
	proxy.Refuse(true)
	_, err := m.call(t, "agent.run", `{"goal":"another one"}`)
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.ErrorContains(t, err, strings.TrimSuffix(strings.TrimPrefix(proxy.URI(""), "mongodb://"), "/"))
	close(let)
	proxy.Refuse(false)
	require.Equal(t, agent.StatusOK, m.ended(t, id).Status)
	once(t, m.place, id)
	require.Equal(t, agent.StatusOK, m.run(t, `{"goal":"another one","wait_ms":50000}`).Status)
}

// Machines whose clocks are apart by minutes share runs as others do: nobody loses a run
// that sends heartbeats, whoever is lost loses it after a lease, and no step is there
// twice.
func TestClocksThatAreApart(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	name := mongotest.NewDatabase()
	var posted atomic.Int32
	post := func(context.Context) error { posted.Add(1); return nil }
	begun, let := make(chan struct{}), make(chan struct{})
	proxy := mongotest.NewProxy(t, server, 1)
	behind := newMachineAt(t, proxy.URI(name), "behind", -20*time.Minute, func(context.Context) error {
		posted.Add(1)
		close(begun)
		<-let
		return nil
	})
	behind.work(t)
	asking := newMachineAt(t, server.URI(name), "asking", 3*time.Minute, never)
	id := asking.run(t, `{"goal":"post it","wait_ms":0}`).RunID
	<-begun
	ahead := newMachineAt(t, server.URI(name), "ahead", 20*time.Minute, post)
	ahead.work(t)
	others := 0
	for began, n := time.Now(), 0; n < 4 || time.Since(began) < 3*time.Second; n++ { // three leases: it takes others, and not this one
		others++
		other := asking.run(t, `{"goal":"another one","wait_ms":50000}`)
		require.Equal(t, agent.StatusOK, other.Status, n)
		once(t, asking.place, other.RunID)
		driver, err := asking.place.DriverStatus(id)
		require.NoError(t, err)
		require.Equal(t, "behind", driver.Owner)
	}
	proxy.Refuse(true) // now it is lost
	report := asking.ended(t, id)
	require.Equal(t, agent.StatusOK, report.Status)
	require.Contains(t, report.Final, string(fault.ToolFailed)+":")
	require.Contains(t, report.Final, "box.post", "the call that was not repeated")
	proxy.Refuse(false)
	close(let)
	require.NoError(t, waitUntilGone(t, behind, id))
	once(t, asking.place, id)
	require.EqualValues(t, others+1, posted.Load())
	pruned, err := asking.runtime.Prune(t.Context(), time.Now().Add(-time.Hour), false)
	require.NoError(t, err)
	require.Empty(t, pruned, "what is minutes old is not an hour old")
}

// A run whose process was killed is interrupted once it has sent no heartbeat for long,
// though no worker is there to notice.
func TestARunThatWasLeftIsInterrupted(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	name := mongotest.NewDatabase()
	begun, let := make(chan struct{}), make(chan struct{})
	here := newMachine(t, server.URI(name), "here", func(context.Context) error {
		close(begun)
		<-let
		return nil
	})
	run, err := here.fleet.Here(t.Context(), &agent.RunOptions{Goal: "post it"}, agent.Order{})
	require.NoError(t, err)
	<-begun
	status := func(wrong time.Duration, owner string) agent.Report {
		list, err := newMachineAt(t, server.URI(name), owner, wrong, never).runtime.List(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	require.Equal(t, agent.StatusRunning, status(20*time.Minute, "minutes").Status, "clocks may be apart by minutes")
	left := status(2*time.Hour, "hours")
	require.Equal(t, agent.StatusInterrupted, left.Status)
	require.Contains(t, left.Warning, " here", "who drives the run")
	close(let)
	<-run.Done()
}

// What a person typed reaches the run that their process drives, and nobody else: neither
// its journal nor its job in the database has it.
func TestWhatWasTypedStaysInItsProcess(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	here := newMachine(t, server.URI(mongotest.NewDatabase()), "here", never)
	var wiped atomic.Int32
	wipe := engines.Bind("box.wipe", "Wipes.", func(context.Context, nothing) (nothing, error) {
		wiped.Add(1)
		return nothing{}, nil
	})
	wipe.Destructive = true
	require.NoError(t, here.tools.Add(wipe))
	for made, approval := range []agent.Approval{{}, {Typed: true}, {Approve: []string{"box_wipe"}}} {
		run, err := here.fleet.Here(t.Context(), &agent.RunOptions{Goal: "go", ForceTool: "box.wipe", ForceFinish: true, Approval: approval}, agent.Order{})
		require.NoError(t, err)
		report := run.Wait(t.Context(), nil)
		require.EqualValues(t, made, wiped.Load(), report.Error)
		records, err := here.place.Records(report.RunID)
		require.NoError(t, err)
		require.NotRegexp(t, `(?i)typed|approve"|box_wipe`, string(records[0].Data))
	}
}
