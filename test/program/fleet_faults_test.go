//go:build unix

package program

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory/mongosessions"
	"savant/fault"
	"savant/test/mongotest"
)

// What asks for more rounds of faults than the one of a plain run, and for those of a
// certain seed. Each round has the next seed.
const (
	EnvFaultRounds = "SAVANT_FAULT_ROUNDS"
	EnvFaultSeed   = "SAVANT_FAULT_SEED"
)

// keepLedger gives the workers of a fleet the tool ledger.note.
func (f *oneFleet) keepLedger() {
	f.ledger = filepath.Join(f.t.TempDir(), "ledger")
	require.NoError(f.t, os.Mkdir(filepath.Join(f.folder, ".savant"), 0o700))
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"ledger": map[string]any{"command": "savant-ledger", "env": map[string]string{"LEDGER": f.ledger}}}})
	require.NoError(f.t, err)
	require.NoError(f.t, os.WriteFile(filepath.Join(f.folder, ".savant", "mcp.json"), config, 0o600))
	trusts(f.t, f.folder)
}

// faults are what happens to a fleet, one after the other, while it works.
type faults struct {
	*oneFleet
	chance  *rand.Rand
	working []string        // the names of the workers that are there
	faulty  map[string]bool // those that were killed or stopped: they may have paid in vain
	stopped string
	events  chan struct{} // as many as are due
}

// next is one fault.
func (f *faults) next() {
	i := f.chance.IntN(len(f.working))
	worker, which := f.working[i], f.chance.IntN(6)
	if which == 1 && (f.stopped != "" || i == 0) { // one of them is always awake
		which = 0
	}
	switch which {
	case 0:
		f.tell("%s is killed, and another started", worker)
		f.faulty[worker] = true
		f.signal(worker, syscall.SIGKILL)
		if worker == f.stopped {
			f.stopped = ""
		}
		f.working[i] = fmt.Sprintf("worker %d", len(f.names)+1)
		f.worker(f.working[i])
	case 1:
		f.tell("%s is stopped", worker)
		f.faulty[worker], f.stopped = true, worker
		f.signal(worker, syscall.SIGSTOP)
	case 2, 3:
		at := f.chance.IntN(len(f.servers))
		f.tell("server %d is killed, and another started", at+1)
		_ = f.servers[at].command.Process.Kill()
		fresh := serveHTTP(f.t, f.folder, f.environment...)
		f.mu.Lock()
		f.servers[at] = fresh
		f.mu.Unlock()
	case 4:
		f.tell("the database is killed, and started again")
		f.database.Kill()
		f.away()
		f.restart()
	default:
		f.tell("no connection to the database lasts")
		f.proxy.Refuse(true)
		f.away()
		f.proxy.Refuse(false)
	}
}

// away lasts as long as the database is away: less than a lease, or more.
func (f *faults) away() { time.Sleep(time.Duration(f.chance.Int64N(int64(fleetLease * 3 / 2)))) }

func (f *faults) tell(format string, args ...any) {
	f.t.Helper()
	f.t.Logf(format, args...)
}

// Whatever happens to workers, servers, the database and the connections: no step that
// was acknowledged is lost, none is recorded twice, a decision is paid twice only if
// whoever paid it was killed or stopped, a call that is not to be made twice is not, and
// every run ends.
func TestFleetFaults(t *testing.T) {
	t.Parallel()
	rounds, seed := 1, uint64(1)
	if os.Getenv("CI") != "" {
		rounds = 3
	}
	if given := os.Getenv(EnvFaultRounds); given != "" {
		var err error
		rounds, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	if given := os.Getenv(EnvFaultSeed); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	for round := range uint64(rounds) {
		t.Run(fmt.Sprintf("%s=%d", EnvFaultSeed, seed+round), func(t *testing.T) { faultyRound(t, seed+round) })
	}
}

func faultyRound(t *testing.T, seed uint64) {
	const runs, count = 6, 5
	f := &faults{oneFleet: newFleet(t, seed), chance: rand.New(rand.NewPCG(seed, 2)), faulty: map[string]bool{}, events: make(chan struct{}, count)}
	f.keepLedger()
	f.proxy.Use(mongotest.Faults{Delay: 0.05, MaxDelay: 50 * time.Millisecond, Lose: 0.003, LoseReply: 0.003, Repeat: 0.02})
	f.due = map[int64]func(){}
	for len(f.due) < count {
		f.due[1+f.chance.Int64N((3+guidedSteps)*runs)] = func() { f.events <- struct{}{} }
	}
	f.working = []string{"worker 1", "worker 2", "worker 3"}
	var happening sync.WaitGroup
	happening.Go(func() {
		for range count {
			select {
			case <-f.events:
				f.next()
			case <-t.Context().Done():
				return
			}
		}
	})
	reports := f.play(runs)
	happening.Wait()
	f.proxy.Use(mongotest.Faults{})
	f.check(reports)
	f.checkCosts(reports)
	if f.stopped == "" {
		return
	}
	before := f.journals(reports)
	f.signal(f.stopped, syscall.SIGCONT) // it wakes when others have done its work, and is to end
	f.signal(f.stopped, syscall.SIGTERM)
	_, err := f.workers[f.stopped].Process.Wait()
	require.NoError(t, err)
	require.Equal(t, before, f.journals(reports), "a worker that woke wrote to runs of others")
	f.check(reports)
	f.checkCosts(reports)
}

// checkCosts finds a decision that was paid twice though who paid it lived, and a call
// that was made twice, or of which it is not said that its outcome is not known.
func (f *faults) checkCosts(reports []agent.Report) {
	written, err := os.ReadFile(f.ledger)
	require.NoError(f.t, err)
	f.mu.Lock()
	paid := f.paid
	f.mu.Unlock()
	for _, report := range reports {
		records, err := f.place.Records(report.RunID)
		require.NoError(f.t, err)
		lost, owner := 0, ""
		for _, each := range records {
			var taken mongosessions.Taken
			if each.Kind != mongosessions.KindTaken {
				continue
			}
			require.NoError(f.t, json.Unmarshal(each.Data, &taken))
			if f.faulty[f.names[owner]] {
				lost++
			}
			owner = taken.Owner
		}
		twice := 0
		for step := range 4 {
			twice += paid[fmt.Sprint(report.RunID, " ", step+1)] - 1
		}
		require.LessOrEqual(f.t, twice, lost, "run %s, driven by %v, of whom %v were killed or stopped: decisions were paid twice", report.RunID, f.drivers(report.RunID), f.faulty)
		times := strings.Count("\n"+string(written), "\n"+report.RunID+"\n")
		require.LessOrEqual(f.t, times, 1, "run %s: a call that is not to be made twice was", report.RunID)
		for _, call := range report.Transcript[1].Calls {
			if call.Error != nil {
				require.Equal(f.t, fault.ToolFailed, call.Error.Code)
				require.Positive(f.t, lost, "run %s: a worker that lived does not know what its call did", report.RunID)
			} else {
				require.Equal(f.t, 1, times)
			}
		}
	}
	result, _, err := f.call(0, "agent.list", map[string]any{"limit": 500}, "")
	require.NoError(f.t, err)
	var list struct{ Runs []agent.Report }
	require.NoError(f.t, json.Unmarshal(result, &list))
	status := map[string]string{}
	for _, each := range list.Runs {
		status[each.RunID] = string(each.Status)
	}
	for _, report := range reports {
		require.Equal(f.t, "ok", cmp.Or(status[report.RunID], "not listed"), "the list is wrong about run %s", report.RunID)
	}
}

func (f *oneFleet) journals(reports []agent.Report) (list []string) {
	for _, each := range reports {
		records, err := f.place.Records(each.RunID)
		require.NoError(f.t, err)
		list = append(list, fmt.Sprint(records))
	}
	return list
}
