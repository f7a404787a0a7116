package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"savant/internal/mongo"
)

// workersCollection has a document for each worker, replaced at each heartbeat. It is
// informative only: claims decide who drives a run.
const workersCollection = "agent_workers"

// roster tracks the live workers. A worker counts as gone if its document did not change
// for a lease, measured by the reader's own clock.
type roster struct {
	workers *mongo.Collection

	mu   sync.Mutex
	seen map[string]heartbeat // by worker
}

type heartbeat struct {
	nonce string
	at    time.Time
}

func newRoster(workers *mongo.Collection) *roster {
	return &roster{workers: workers, seen: map[string]heartbeat{}}
}

// stay sends heartbeats of a worker until ctx ends, and removes workers that are gone.
func (r *roster) stay(ctx context.Context, owner, labels string, pause time.Duration) {
	for ctx.Err() == nil {
		_ = r.workers.Replace(ctx, mongo.Document{Key: owner, Meta: labels}) // the next one may come through
		_, _ = r.present(ctx, true)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.workers.Delete(leaving, owner) // or others see that it has gone
}

// present returns the labels of the live workers.
func (r *roster) present(ctx context.Context, remove bool) (labels [][]string, err error) {
	var gone []mongo.Document
	err = r.workers.Heads(ctx, "", "\U0010ffff", func(d mongo.Document) error {
		if r.alive(d) {
			labels = append(labels, split(d.Meta))
		} else {
			gone = append(gone, d)
		}
		return nil
	})
	for _, each := range gone {
		if err == nil && remove {
			_, err = r.workers.DeleteThis(ctx, each)
		}
	}
	return labels, err
}

func (r *roster) alive(d mongo.Document) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.seen[d.Key]
	if last.nonce != d.Nonce {
		r.seen[d.Key] = heartbeat{d.Nonce, time.Now()}
		return true
	}
	return time.Since(last.at) < Lease
}

// note explains why no worker can claim a run that needs labels; "" if one can.
func (r *roster) note(ctx context.Context, needs string) string {
	present, err := r.present(ctx, false)
	if err != nil {
		return ""
	}
	for _, labels := range present {
		if has(labels, needs) {
			return ""
		}
	}
	if needs == "" {
		return "no running worker could take the run; start one: savant work"
	}
	return fmt.Sprintf("none of the %d running workers has the labels that the run needs, %s; start one that has them: savant work%s", len(present), needs, flags(needs))
}
