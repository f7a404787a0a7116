package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
)

// asked is a try to end a job, or a look at how it ended when by is empty; said is what
// came of it.
type (
	asked struct{ job, by string }
	said  struct {
		won, unsure bool
		by          string
	}
)

// once is a job: whoever ends it first has ended it.
var once = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byJob := map[string][]porcupine.Operation{}
		for _, each := range all {
			byJob[each.Input.(asked).job] = append(byJob[each.Input.(asked).job], each)
		}
		var parts [][]porcupine.Operation
		for _, part := range byJob {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(was, input, output any) (bool, any) {
		at, in, out := was.(string), input.(asked), output.(said)
		switch {
		case in.by == "":
			return out.by == at, at
		case at == "" && (out.won || out.unsure):
			return true, in.by
		}
		return !out.won, at
	},
}

// TestAJobEndsAsIfOneAfterTheOtherTried: several workers and clients end the same jobs at
// once, through a network that loses, delays and repeats.
func TestAJobEndsAsIfOneAfterTheOtherTried(t *testing.T) {
	const seed, clients, rounds, count = 11, 6, 25, 10
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, seed)
	proxy.Use(mongotest.Faults{Delay: 0.1, MaxDelay: 20 * time.Millisecond, Lose: 0.02, LoseReply: 0.03, Repeat: 0.05})
	uri := proxy.URI(mongotest.NewDatabase())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var history []porcupine.Operation
	begun := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
			if err != nil {
				t.Error(err)
				return
			}
			defer database.Close(context.Background())
			queue, random := New(database.Collection("jobs")), rand.New(rand.NewPCG(seed, uint64(client)))
			for round := range rounds {
				in := asked{job: fmt.Sprint("j", random.IntN(count))}
				if random.IntN(2) == 0 {
					in.by = fmt.Sprintf("%d.%d", client, round)
				}
				call := time.Since(begun)
				out, known := try(ctx, queue, in)
				end := int64(time.Since(begun))
				if !known && in.by == "" {
					continue // a look that failed says nothing
				}
				if out.unsure = !known; out.unsure {
					end = math.MaxInt64 // it may take effect at any time, or never
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(call), Return: end})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.NoError(t, ctx.Err())
	require.Greater(t, len(history), clients*rounds/2)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(once, history, time.Minute))
}

// try is one attempt; known is false where nobody can say whether it took effect.
func try(ctx context.Context, queue *Queue, in asked) (out said, known bool) {
	if in.by != "" {
		won, err := queue.settle(ctx, in.job, Result{Answer: json.RawMessage("1"), Owner: in.by})
		return said{won: won}, err == nil
	}
	result, _, err := queue.Result(ctx, in.job)
	return said{by: result.Owner}, err == nil
}

// held is a job that one worker after the other has: who takes it is the only one until
// it is given back.
var held = porcupine.Model{
	Partition: once.Partition,
	Init:      func() any { return "" },
	Step: func(was, input, output any) (bool, any) {
		at, in, out := was.(string), input.(asked), output.(said)
		switch {
		case out.by == "gave" && at == in.by:
			return true, ""
		case out.by == "gave":
			return out.unsure, at // it did not come through
		case at == "" && (out.won || out.unsure):
			return true, in.by
		}
		return !out.won, at
	},
}

// TestAJobIsHeldByOneAfterTheOther: several workers claim the same jobs and give them back
// at once, through a network that loses, delays and repeats.
func TestAJobIsHeldByOneAfterTheOther(t *testing.T) {
	const seed, clients, rounds, count = 13, 6, 20, 12
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, seed)
	uri := proxy.URI(mongotest.NewDatabase())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var history []porcupine.Operation
	begun, taken := time.Now(), 0
	var group, ready sync.WaitGroup
	ready.Add(clients)
	for client := range clients {
		database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
		require.NoError(t, err)
		defer database.Close(context.Background())
		queue := New(database.Collection("jobs"))
		for i := range count {
			require.NoError(t, queue.Enqueue(ctx, fmt.Sprint("j", i), nil))
		}
		worker := &Worker{Queue: queue, Owner: fmt.Sprint("w", client), Lease: time.Hour, MaxClaims: math.MaxInt, seen: map[string]observation{}}
		group.Go(func() {
			ready.Done()
			ready.Wait()
			proxy.Use(mongotest.Faults{Delay: 0.1, MaxDelay: 20 * time.Millisecond, Lose: 0.01, LoseReply: 0.01, Repeat: 0.05})
			random := rand.New(rand.NewPCG(seed, uint64(client)))
			note := func(in asked, out said, call time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				end := int64(time.Since(begun))
				if out.unsure {
					end = math.MaxInt64
				}
				if out.won {
					taken++
				}
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(call), Return: end})
			}
			giveBack := func() {}
			for round := range rounds {
				in := asked{job: fmt.Sprint("j", random.IntN(count)), by: fmt.Sprintf("%d.%d", client, round)}
				call := time.Since(begun)
				job, mine, err := worker.claim(ctx, mongo.Document{Key: listKey(in.job, begun)})
				note(in, said{won: mine, unsure: err != nil}, call)
				giveBack() // the job of the round before: it was held during this claim
				giveBack = func() {}
				if mine {
					giveBack = func() {
						call := time.Since(begun)
						err := worker.giveBack(ctx, job, &Returned{Err: errors.New(workerEnded), Blameless: true}) // the next may claim it at once
						note(in, said{by: "gave", unsure: err != nil}, call)
					}
				}
			}
			giveBack()
		})
	}
	group.Wait()
	require.NoError(t, ctx.Err())
	require.Greater(t, taken, count, "most claims failed")
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(held, history, time.Minute))
}
