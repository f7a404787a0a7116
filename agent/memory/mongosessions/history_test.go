package mongosessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"savant/agent/memory"
	"savant/agent/memory/mongosessions"
	"savant/fault"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// What a client does with a session: it adds a record that it believes to be the next,
// reads the records, or takes the session over.
type (
	done struct {
		what   string // add, read or take
		number int    // of the record that is added
		by     string
	}
	came struct {
		ok, unsure bool
		log        string // what was read, or was there at the takeover
	}
)

// log is one session: records in a row, each added by the one who knew all before it.
var log = porcupine.Model{
	Init: func() any { return "" },
	Step: func(was, input, output any) (bool, any) {
		at, in, out := was.(string), input.(done), output.(came)
		length := len([]rune(at))
		next := in.what == "take" || length == in.number-1
		switch {
		case in.what == "read":
			return out.log == at, at
		case out.ok:
			return next && (in.what == "add" || out.log == at), at + in.by
		case out.unsure && next:
			return true, at + in.by
		}
		return out.unsure || !next, at // refused: somebody else was first
	},
}

// marks are who wrote each record of a session, a letter for each client.
func marks(records []memory.Record) (text string) {
	for _, each := range records {
		var taken mongosessions.Taken
		if by := each.Kind; by != mongosessions.KindTaken {
			text += by
		} else if json.Unmarshal(each.Data, &taken) == nil {
			text += taken.Owner
		}
	}
	return text
}

const clients = 4

func client(i int) string { return string(rune('a' + i)) }

// TestASessionIsAsIfOneWroteAfterTheOther: several machines take one session over and
// write to it at once, through a network that loses, delays and repeats.
func TestASessionIsAsIfOneWroteAfterTheOther(t *testing.T) {
	const seed, rounds = 21, 25
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, seed)
	uri := proxy.URI(mongotest.NewDatabase())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	places := make([]*mongosessions.Place, clients)
	for i := range places {
		database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
		require.NoError(t, err)
		defer database.Close(context.Background())
		places[i] = mongosessions.Open(ctx, database, client(i))
	}
	first, err := places[0].Create("s")
	require.NoError(t, err)
	require.NoError(t, first.Append(memory.Record{Number: 1, Kind: "a"}, memory.Durable))
	proxy.Use(mongotest.Faults{Delay: 0.1, MaxDelay: 20 * time.Millisecond, Lose: 0.02, LoseReply: 0.03, Repeat: 0.05})
	var mu sync.Mutex
	history := []porcupine.Operation{{Input: done{"add", 1, "a"}, Output: came{ok: true}, Call: 0, Return: 1}}
	begun := time.Now()
	var group sync.WaitGroup
	for i, place := range places {
		group.Go(func() {
			w := &writer{place: place, by: client(i)}
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range rounds {
				in := w.choose(random)
				call := int64(time.Since(begun)) + 2
				out, says := w.do(in)
				end := int64(time.Since(begun)) + 2
				if !says {
					continue // a look that failed says nothing
				}
				if out.unsure {
					end = math.MaxInt64 // it may take effect at any time, or never
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: i, Input: in, Output: out, Call: call, Return: end})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.NoError(t, ctx.Err())
	require.Greater(t, len(history), clients*rounds/2)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(log, history, time.Minute))
}

// writer is a client; it writes only while it believes to have the session.
type writer struct {
	place   *mongosessions.Place
	by      string
	journal memory.Journal
	next    int
}

func (w *writer) choose(random *rand.Rand) done {
	which := random.IntN(5)
	switch {
	case which == 0 || w.journal == nil && which < 3:
		return done{what: "take", by: w.by}
	case w.journal == nil || which == 1:
		return done{what: "read"}
	}
	return done{"add", w.next, w.by}
}

// do is one attempt; says is false where nothing is known, and nothing can have changed.
func (w *writer) do(in done) (out came, says bool) {
	switch in.what {
	case "read":
		records, err := w.place.Records("s")
		return came{log: marks(records)}, err == nil
	case "take":
		journal, records, err := w.place.Resume("s")
		if err != nil { // it may have been written or not
			w.journal = nil
			return came{unsure: true}, true
		}
		w.journal, w.next = journal, len(records)+1
		return came{ok: true, log: marks(records[:len(records)-1])}, true
	}
	err := w.journal.Append(memory.Record{Number: in.number, Kind: w.by}, memory.Durable)
	if err == nil {
		w.next++
		return came{ok: true}, true
	}
	w.journal = nil // it lets go of the session
	return came{unsure: !errors.Is(err, fault.StateConflict)}, true
}
