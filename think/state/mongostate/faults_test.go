package mongostate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// seeds are those of the tests of faults: more where CI is set.
func seeds(few, many uint64) (all []uint64) {
	count := few
	if os.Getenv("CI") != "" {
		count = many
	}
	for seed := range count {
		all = append(all, seed+1)
	}
	return all
}

// Several clients work on the same runs, while requests and answers are late, lost and
// sent twice, and the database is killed and started again. What they saw could have
// happened one after the other, and no acknowledged record is lost.
func TestFaults(t *testing.T) {
	for _, seed := range seeds(2, 12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFaults(t, seed)
			f.proxy.Use(mongotest.Faults{Delay: 0.05, MaxDelay: 3 * time.Millisecond, Lose: 0.004, LoseReply: 0.004, Repeat: 0.05})
			f.work(t, 4, 60)
			f.requireWhole(t)
			t.Logf("seed %d: %d calls, of %d nobody knew the outcome, %d kills", seed, f.history.answered, f.history.unsure, f.kills)
		})
	}
}

// faults are a database behind a proxy, and the clients of it.
type faults struct {
	seed    uint64
	server  *mongotest.Server
	proxy   *mongotest.Proxy
	name    string
	history *history
	keys    []state.Key
	stores  []*mongostate.Store

	mu    sync.Mutex
	until int // calls until the next kill, or until the database comes back
	away  bool
	kills int
}

func newFaults(t *testing.T, seed uint64) *faults {
	server := mongotest.Start(t)
	f := &faults{seed: seed, server: server, proxy: mongotest.NewProxy(t, server, seed), name: mongotest.NewDatabase(), history: newHistory()}
	for i := range 3 {
		f.keys = append(f.keys, state.Key{Workflow: "w", Run: fmt.Sprintf("r%d", i)})
	}
	f.until = 40
	// FerretDB may be killed, or lose its client, between creating a collection and its
	// unique index, and never makes the index then.
	_, err := open(t, server.URI(f.name)).Append(t.Context(), state.Key{Workflow: "before", Run: "faults"}, step(1, 0, 0))
	require.NoError(t, err)
	return f
}

// work lets clients call until each has made so many calls. Every client has a
// connection of its own, as a process has.
func (f *faults) work(t *testing.T, clients, calls int) {
	chance := rand.New(rand.NewPCG(f.seed, 2))
	var group sync.WaitGroup
	for client := range clients {
		// FerretDB may answer a find that exceeds maxTimeMS, which the driver derives from
		// timeoutMS, with no document and no error.
		store := open(t, f.proxy.URI(f.name)+"?serverSelectionTimeoutMS=200&timeoutMS=60000")
		f.stores = append(f.stores, store)
		own := rand.New(rand.NewPCG(f.seed, uint64(client)+10))
		group.Go(func() {
			for number := range calls {
				f.perhapsKill(t, chance)
				f.one(t, client, number, store, own)
			}
		})
	}
	group.Wait()
}

// one makes one call, or looks and writes what follows.
func (f *faults) one(t *testing.T, client, number int, store *mongostate.Store, own *rand.Rand) {
	key := f.keys[own.IntN(len(f.keys))]
	switch dice := own.IntN(100); {
	case dice < 3:
		f.history.do(t.Context(), client, store, call{key: key, kind: deletes})
	case dice < 25:
		f.history.do(t.Context(), client, store, call{key: key, kind: heads})
	default:
		at := f.history.do(t.Context(), client, store, call{key: key, kind: heads})
		if at.code == fault.StateNotSaved {
			return
		}
		f.history.do(t.Context(), client, store, call{key: key, kind: appends, record: step(at.end.Version+1, client, number)})
	}
}

// perhapsKill kills the database, or starts it again, after a number of calls that
// chance decides.
func (f *faults) perhapsKill(t *testing.T, chance *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until--; f.until > 0 || f.server.Foreign() {
		return
	}
	if f.away = !f.away; f.away {
		f.until = 1 + chance.IntN(8)
		f.kills++
		f.server.Kill()
		f.proxy.Refuse(true) // the server of another test may get the address
		return
	}
	f.until = 40 + chance.IntN(60)
	f.server.Restart()
	f.proxy.Follow(f.server)
	f.proxy.Refuse(false)
}

// requireWhole looks at all runs once more, without faults, and at the history.
func (f *faults) requireWhole(t *testing.T) {
	f.proxy.Use(mongotest.Faults{})
	if f.away {
		f.server.Restart()
	}
	fresh := open(t, f.server.URI(f.name))
	for _, key := range f.keys {
		at := f.history.do(t.Context(), 99, fresh, call{key: key, kind: heads})
		if at.code == fault.UnknownRun {
			continue
		}
		require.Empty(t, at.code)
		records, err := fresh.Records(t.Context(), key, 0, 0)
		require.NoError(t, err)
		require.Len(t, records, at.end.Version)
		problems, err := fresh.Check(t.Context(), key)
		require.NoError(t, err)
		require.Empty(t, problems)
		infos, err := fresh.List(t.Context(), state.Filter{Run: key.Run})
		require.NoError(t, err)
		require.Equal(t, at.end.Version, infos[0].Version)
	}
	f.history.requireLinearizable(t)
}

// While the database is away every call says so, with host and cause. It works again
// by itself, and nothing that was acknowledged is lost.
func TestAway(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	store := open(t, proxy.URI(mongotest.NewDatabase())+"?serverSelectionTimeoutMS=800")
	key := state.Key{Workflow: "w", Run: "r"}
	first, err := store.Append(t.Context(), key, step(1, 0, 0))
	require.NoError(t, err)
	server.Kill()
	var group sync.WaitGroup
	for what, ask := range map[string]func() error{
		"append":   func() error { _, err := store.Append(t.Context(), key, step(2, 0, 1)); return err },
		"head":     func() error { _, _, err := store.Head(t.Context(), key); return err },
		"list":     func() error { _, err := store.List(t.Context(), state.Filter{}); return err },
		"artifact": func() error { _, err := store.PutArtifact(t.Context(), []byte("x")); return err },
		"records":  func() error { _, err := store.Records(t.Context(), key, 0, 0); return err },
	} {
		group.Go(func() {
			err := ask()
			assert.ErrorIs(t, err, fault.StateNotSaved, what)
			assert.Regexp(t, `127\.0\.0\.1:\d+: .+; .+`, err, "%s: the host, the cause and what to do", what)
		})
	}
	group.Wait()
	server.Restart()
	proxy.Follow(server)
	found, err := store.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []state.Record{first}, found)
	_, err = store.Append(t.Context(), key, step(2, 0, 1))
	require.NoError(t, err)
}
