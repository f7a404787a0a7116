package program

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
)

// longSteps is how many steps the workflow of these benchmarks has.
const longSteps = 1000

// longRun is a run of it that somebody goes through, one run after the other.
type longRun struct {
	name string
	step int
	call func(tool string, args map[string]any)
}

// id is that of the run that is gone through now.
func (l *longRun) id() string { return fmt.Sprintf("%s-%d", l.name, l.step/longSteps) }

// plan begins a run, if the next step is the first of one.
func (l *longRun) plan() {
	if l.step%longSteps == 0 {
		l.call("think.plan", map[string]any{"workflow": "long", "run_id": l.id()})
	}
}

// next answers the next step.
func (l *longRun) next() {
	l.call("think.next", map[string]any{"run_id": l.id(), "step_id": fmt.Sprintf("s%d", l.step%longSteps), "result_snapshot": strings.Repeat("x", payload)})
	l.step++
}

// calling returns what makes a call over HTTP that has to go well.
func (s *overHTTP) calling(b *testing.B) func(string, map[string]any) {
	return func(tool string, args map[string]any) {
		status, body := s.callHTTP(b, "", tool, args)
		require.Equal(b, http.StatusOK, status, body)
		require.NotContains(b, body, `"isError":true`)
	}
}

// BenchmarkNextHTTP takes think.next with a result of 1 KB over HTTP beside the same
// step over stdio, in turns.
func BenchmarkNextHTTP(b *testing.B) {
	pipes, web := b.TempDir(), b.TempDir()
	longWorkflow(b, pipes, longSteps)
	longWorkflow(b, web, longSteps)
	s, h := serveIn(b, pipes), serveHTTP(b, web, "LOG_LEVEL=error")
	stdio := &longRun{name: "r", call: func(tool string, args map[string]any) { s.call(b, tool, args) }}
	over := &longRun{name: "r", call: h.calling(b)}
	var onStdio, onHTTP samples
	for b.Loop() {
		stdio.plan()
		over.plan()
		onStdio.time(stdio.next)
		onHTTP.time(over.next)
	}
	b.ReportMetric(onHTTP.median()/onStdio.median(), "http/stdio")
	b.ReportMetric(onHTTP.median(), "http-ms")
	b.ReportMetric(onStdio.median(), "stdio-ms")
}

// BenchmarkClientsHTTP counts the steps that one server, and three on the same folder
// behind a balancer, take in a second from clients that each go through a run of their own.
func BenchmarkClientsHTTP(b *testing.B) { clientsHTTP(b, func(testing.TB) []string { return nil }) }

// BenchmarkClientsDatabase is the same with the runs in a database, beside the inserts that
// as many clients get from it in a second.
func BenchmarkClientsDatabase(b *testing.B) {
	server := mongotest.Start(b)
	for _, clients := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("inserts/clients=%d", clients), func(b *testing.B) { insertsOf(b, server, clients) })
	}
	clientsHTTP(b, func(testing.TB) []string {
		return []string{"SAVANT_STORE=mongo", "MONGO_URI=" + server.URI(mongotest.NewDatabase())}
	})
}

func clientsHTTP(b *testing.B, environment func(testing.TB) []string) {
	for _, servers := range []int{1, 3} {
		for _, clients := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("servers=%d/clients=%d", servers, clients), func(b *testing.B) {
				folder, with := b.TempDir(), append(environment(b), "LOG_LEVEL=error")
				longWorkflow(b, folder, longSteps)
				var all []*overHTTP
				for range servers {
					all = append(all, serveHTTP(b, folder, with...))
				}
				front := all[0]
				if servers > 1 {
					front = &overHTTP{address: balanced(b, all...)}
				}
				runs := make([]*longRun, clients)
				for n := range runs {
					runs[n] = &longRun{name: fmt.Sprintf("c%d", n), call: front.calling(b)}
					runs[n].plan()
				}
				perSecond(b, clients, "steps/s", func(client int) {
					runs[client].next()
					runs[client].plan()
				})
			})
		}
	}
}

// insertsOf counts the inserts of documents as long as the record of a step.
func insertsOf(b *testing.B, server *mongotest.Server, clients int) {
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase())}})
	require.NoError(b, err)
	defer func() { _ = database.Close(context.Background()) }()
	documents, body := database.Collection("bare"), []byte(strings.Repeat("x", payload))
	perSecond(b, clients, "inserts/s", func(int) {
		_, err := documents.Insert(b.Context(), mongo.Document{Key: rand.Text(), Body: body})
		require.NoError(b, err)
	})
}

// perSecond reports how often in a second clients at once do something.
func perSecond(b *testing.B, clients int, unit string, do func(client int)) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	began := time.Now()
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			for left.Add(-1) >= 0 {
				do(client)
			}
		})
	}
	working.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), unit)
}
