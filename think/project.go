package think

import (
	"context"
	"errors"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// projector writes the projections of runs in the background, debounced. The journal is
// authoritative: losing a projection loses nothing.
type projector struct {
	engine  *Engine
	every   time.Duration // the debounce of a projection
	closing chan struct{}
	writing sync.WaitGroup // the loop, which runs while projections are pending

	mu      sync.Mutex
	closed  bool
	running bool // the loop
	waiting map[state.Key]*due
	latest  map[string]string // the latest changed run of each workflow
}

// due is a run with a pending projection: the times of its first and last change since
// the file was written.
type due struct {
	run         *live
	first, last time.Time
}

// In an unbroken stream of changes a run is written after maxRests debounces, and after
// maxShare times as long as writing it took: in a long run, writing takes at most a
// fiftieth of the time.
const (
	maxRests = 5
	maxShare = 50
)

// project writes a held run's readable file: now, at its plan, end and
// checkpoints, or once the run has rested.
func (e *Engine) project(ctx context.Context, l *live, now bool) {
	if e.projects.moved(l, now); !now {
		return
	}
	if err := e.projectHeld(context.WithoutCancel(ctx), l); err != nil {
		e.projects.again(l, err)
		e.Logger.Warn("the projection was not written; the journal is complete", "run", l.key.String(), "error", err)
	}
}

// projectHeld writes the readable file of a held run. Only the last one is synced: the
// others are soon replaced.
func (e *Engine) projectHeld(ctx context.Context, l *live) error {
	snapshot, err := e.snapshotOf(ctx, l)
	if err != nil {
		return err
	}
	snapshot.Lazy = l.now.Final == nil
	return e.Store.Save(ctx, l.key, "", snapshot)
}

// snapshotOf returns the readable state of a held run. Long values are named, not
// repeated: the journal and the artifacts have them.
func (e *Engine) snapshotOf(ctx context.Context, l *live) (state.Snapshot, error) {
	snapshot, err := e.snapshot(ctx, l.history(), l.run, maxVar)
	if err != nil {
		return state.Snapshot{}, err
	}
	nameLong(&snapshot)
	data, err := jsonvalue.Encode(snapshot)
	if err != nil {
		return state.Snapshot{}, fault.New(fault.Internal, "encoding a state: %w", err)
	}
	return state.Snapshot{Workflow: l.key.Workflow, Run: l.key.Run, Version: l.version, Status: string(snapshot.Status),
		Hash: l.now.Hash, Record: l.hash, State: data}, nil
}

// nameLong replaces long captures by the place where they can be read.
func nameLong(snapshot *flow.Snapshot) {
	for name, value := range snapshot.Vars {
		if long, ok := value.(flow.Long); ok {
			snapshot.Vars[name] = preview{Artifact: varURI(snapshot.Workflow, snapshot.RunID, name), Size: long.Size}
		}
	}
}

// moved notes that a run has moved, and that its file is written now or waits.
func (p *projector) moved(l *live, now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest[l.key.Workflow] = l.key.Run
	if now {
		delete(p.waiting, l.key)
		return
	}
	p.wait(l)
}

// wait schedules the projection of a run after the debounce; p.mu is held.
func (p *projector) wait(l *live) {
	at := time.Now()
	if waiting := p.waiting[l.key]; waiting != nil {
		waiting.run, waiting.last = l, at
		return
	}
	p.waiting[l.key] = &due{l, at, at}
	if !p.running && !p.closed {
		p.running = true
		p.writing.Go(p.loop)
	}
}

// again schedules another attempt for a run whose file could not be written.
func (p *projector) again(l *live, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, fault.StateNotSaved) {
		p.wait(l)
	}
}

// passed reports whether another run of the workflow has changed since.
func (p *projector) passed(key state.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest[key.Workflow] != key.Run
}

func (p *projector) drop(key state.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}

// loop writes pending projections until there are none.
func (p *projector) loop() {
	tick := time.NewTicker(max(p.every/4, 1))
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-p.closing:
			return
		case <-tick.C:
			waiting = p.write(time.Now())
		}
	}
}

// write writes the runs whose debounce has expired, and reports whether others wait.
func (p *projector) write(at time.Time) bool {
	p.writeAll(p.take(func(each *due) bool {
		return at.Sub(each.last) >= p.every || at.Sub(each.first) >= max(maxRests*p.every, maxShare*each.run.writing)
	}))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = len(p.waiting) > 0
	return p.running
}

func (p *projector) writeAll(runs []*live) {
	for _, l := range runs {
		if err := p.writeRun(l); err != nil {
			p.again(l, err)
			p.engine.Logger.Debug("the projection was not written", "run", l.key.String(), "error", err)
		}
	}
}

// take removes and returns the waiting runs that are to be written.
func (p *projector) take(now func(*due) bool) []*live {
	p.mu.Lock()
	defer p.mu.Unlock()
	var runs []*live
	for key, each := range p.waiting {
		if now(each) {
			runs = append(runs, each.run)
			delete(p.waiting, key)
		}
	}
	return runs
}

// writeRun writes a run without blocking its steps.
func (p *projector) writeRun(l *live) error {
	ctx, began := context.Background(), time.Now()
	l.mu.Lock()
	if l.run == nil {
		l.mu.Unlock()
		return nil
	}
	snapshot, err := p.engine.snapshotOf(ctx, l)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	snapshot.NotLatest, snapshot.Lazy = p.passed(l.key), true
	err = p.engine.Store.Save(ctx, l.key, "", snapshot)
	p.mu.Lock()
	defer p.mu.Unlock()
	l.writing = time.Since(began)
	return err
}

// close writes what waits and returns when nothing is under way.
func (p *projector) close() {
	p.mu.Lock()
	if !p.closed {
		close(p.closing)
	}
	p.closed = true
	p.mu.Unlock()
	p.writing.Wait()
	p.writeAll(p.take(func(*due) bool { return true }))
}
