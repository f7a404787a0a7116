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

// projector writes the readable files of runs behind the requests, once a run
// has rested. The journal is the truth: a lost file loses nothing.
type projector struct {
	engine  *Engine
	every   time.Duration // how long a run rests before it is written
	closing chan struct{}
	writing sync.WaitGroup // the loop, which runs while something waits

	mu      sync.Mutex
	closed  bool
	running bool // the loop
	waiting map[state.Key]*due
	latest  map[string]string // the run of each workflow that moved last
}

// due is a run with a pending projection: the times of its first and last change since
// the file was written.
type due struct {
	run         *live
	first, last time.Time
}

// maxRests is how many rests a run that does not rest is written after.
const maxRests = 5

func newProjector(e *Engine) *projector {
	return &projector{engine: e, every: e.ProjectEvery, closing: make(chan struct{}), waiting: map[state.Key]*due{}, latest: map[string]string{}}
}

// project writes a held run's readable file: now, at its plan, end and
// checkpoints, or once the run has rested.
func (e *Engine) project(ctx context.Context, l *live, now bool) {
	if e.projects.moved(l, now); !now {
		return
	}
	if err := e.projectHeld(context.WithoutCancel(ctx), l); err != nil {
		e.projects.again(l, err)
		e.Logger.Warn("the readable state was not written; the journal has all of it", "run", l.key.String(), "error", err)
	}
}

func (e *Engine) projectHeld(ctx context.Context, l *live) error {
	snapshot, err := e.snapshotOf(ctx, l)
	if err != nil {
		return err
	}
	return e.Store.Save(ctx, l.key, "", snapshot)
}

// snapshotOf returns the readable state of a held run. Long values are named, not
// repeated: the journal and the artifacts have them.
func (e *Engine) snapshotOf(ctx context.Context, l *live) (state.Snapshot, error) {
	whole, err := e.snapshot(ctx, l.past(), l.run, maxVar)
	if err != nil {
		return state.Snapshot{}, err
	}
	nameLong(&whole)
	data, err := jsonvalue.Encode(whole)
	if err != nil {
		return state.Snapshot{}, fault.New(fault.Internal, "encoding a state: %w", err)
	}
	return state.Snapshot{Workflow: l.key.Workflow, Run: l.key.Run, Version: l.version, Status: string(whole.Status),
		Hash: l.now.Hash, Record: l.hash, State: data}, nil
}

// nameLong puts where they can be read in the place of long captures.
func nameLong(whole *flow.Snapshot) {
	for name, value := range whole.Vars {
		if long, ok := value.(flow.Long); ok {
			whole.Vars[name] = preview{Size: long.Size, SHA256: long.SHA256, Ref: varURI(whole.Workflow, whole.RunID, name)}
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

// wait has a run written once it has rested; p.mu is held.
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

// loop writes what has rested until nothing waits.
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
	for _, l := range p.rested(at) {
		if err := p.writeRun(l); err != nil {
			p.again(l, err)
			p.engine.Logger.Debug("the readable state was not written", "run", l.key.String(), "error", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = len(p.waiting) > 0
	return p.running
}

// rested removes and returns the runs whose debounce has expired.
func (p *projector) rested(at time.Time) []*live {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rested []*live
	for key, each := range p.waiting {
		if at.Sub(each.last) >= p.every || at.Sub(each.first) >= maxRests*p.every {
			rested = append(rested, each.run)
			delete(p.waiting, key)
		}
	}
	return rested
}

// writeRun writes a run without blocking its steps.
func (p *projector) writeRun(l *live) error {
	ctx := context.Background()
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
	return p.engine.Store.Save(ctx, l.key, "", snapshot)
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
	p.write(time.Now().Add(maxRests * p.every))
}
