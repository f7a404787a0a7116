package think

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"savant/fault"
	"savant/think/state"
)

// projector writes the readable state of runs behind the requests: the journal
// is the truth, so a lost projection loses nothing.
type projector struct {
	store  state.Store
	logger *slog.Logger
	every  time.Duration

	mu      sync.Mutex
	waiting map[state.Key]*live
	timer   *time.Timer
	closed  bool
	busy    sync.WaitGroup
}

func newProjector(store state.Store, logger *slog.Logger, every time.Duration) *projector {
	return &projector{store: store, logger: logger, every: every, waiting: map[state.Key]*live{}}
}

// project writes a held run's readable state: at once where durable, else
// soon, behind the request.
func (e *Engine) project(l *live, durable bool) {
	if !durable {
		e.projects.later(l)
		return
	}
	snapshot, err := snapshotOf(l)
	if err == nil {
		err = e.Store.Project(context.Background(), l.key, snapshot, true)
	}
	if err != nil {
		e.Logger.Warn("the readable state was not written; the journal has all of it", "run", l.key.String(), "error", err)
	}
}

func snapshotOf(l *live) (state.Snapshot, error) {
	whole := l.run.Snapshot()
	data, err := json.Marshal(whole)
	if err != nil {
		return state.Snapshot{}, fault.New(fault.Internal, "encoding the state of run %s: %w", l.key, err)
	}
	return state.Snapshot{Workflow: l.key.Workflow, Run: l.key.Run, Version: l.version, Status: string(whole.Status), Hash: whole.Hash, Record: l.hash, State: data}, nil
}

func (p *projector) later(l *live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.waiting[l.key] = l
	if p.timer == nil {
		p.busy.Add(1)
		p.timer = time.AfterFunc(p.every, func() {
			defer p.busy.Done()
			p.flush()
		})
	}
}

func (p *projector) drop(key state.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}

func (p *projector) flush() {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting, p.timer = map[state.Key]*live{}, nil
	p.mu.Unlock()
	for _, l := range waiting {
		l.mu.Lock()
		if l.run == nil {
			l.mu.Unlock()
			continue
		}
		snapshot, err := snapshotOf(l)
		l.mu.Unlock()
		if err == nil {
			err = p.store.Project(context.Background(), l.key, snapshot, false)
		}
		if err != nil {
			p.logger.Debug("the readable state was not written", "run", l.key.String(), "error", err)
		}
	}
}

// close writes what waits and returns when nothing is under way.
func (p *projector) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil && p.timer.Stop() {
		p.busy.Done()
	}
	p.mu.Unlock()
	p.busy.Wait()
	p.flush()
}
