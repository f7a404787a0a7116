package think

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// projector writes the readable state of runs behind the requests: the journal
// is the truth, so a lost projection loses nothing.
type projector struct {
	store  state.Store
	logger *slog.Logger
	every  time.Duration

	mu      sync.Mutex
	waiting map[state.Key]due
	timer   *time.Timer
	closed  bool
	busy    sync.WaitGroup
	// cost is how long the last writing took, and ended when.
	cost  time.Duration
	ended time.Time
	// latest is when the next writing begins although steps keep coming.
	latest time.Time
	// urgent says that something durable waits.
	urgent bool
}

// due is a run whose readable state is to be written.
type due struct {
	run     *live
	durable bool
}

// longRun is the number of steps from which even a durable projection is
// written behind the request: it takes tens of milliseconds there.
const longRun = 500

// share bounds the time spent on projections while steps come without a pause
// to one part in so many: a step in a hundred may then meet one, which is what
// its 99th percentile can bear.
const share = 100

func newProjector(store state.Store, logger *slog.Logger, every time.Duration) *projector {
	return &projector{store: store, logger: logger, every: every, waiting: map[state.Key]due{}}
}

// project writes a held run's readable state: at once where durable, behind
// the request else, or where the run is long.
func (e *Engine) project(l *live, durable bool) {
	if !durable || l.run.Size() > longRun {
		e.projects.later(l, durable)
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

// snapshotOf returns the readable state of a held run.
func snapshotOf(l *live) (state.Snapshot, error) { return readable(l).encode() }

// frozen is a run's state at one version, apart from the run.
type frozen struct {
	key     state.Key
	version int
	record  string
	whole   flow.Snapshot
}

// readable copies a held run's state; long values are named, not repeated: the
// journal and the artifacts have them.
func readable(l *live) frozen {
	whole := l.run.Snapshot(maxVar)
	nameLong(&whole, l.run, false)
	return frozen{l.key, l.version, l.hash, whole}
}

// nameLong puts where they can be read in the place of long captures, with
// their beginnings where those may be read back.
func nameLong(whole *flow.Snapshot, run *flow.Run, begin bool) {
	for name, value := range whole.Vars {
		long, ok := value.(flow.Long)
		if !ok {
			continue
		}
		named := preview{Size: long.Size, SHA256: long.SHA256, Ref: varURI(run.Graph().Workflow.Name, run.ID(), name)}
		if begin {
			named.Preview = fault.Cut(string(run.Var(name)), maxPreview)
		}
		whole.Vars[name] = named
	}
}

func (f frozen) encode() (state.Snapshot, error) {
	data, err := jsonvalue.Encode(f.whole)
	if err != nil {
		return state.Snapshot{}, fault.New(fault.Internal, "encoding the state of run %s: %w", f.key, err)
	}
	return state.Snapshot{Workflow: f.key.Workflow, Run: f.key.Run, Version: f.version, Status: string(f.whole.Status),
		Hash: f.whole.Hash, Record: f.record, State: data, Encoded: true}, nil
}

// later has a run written once it pauses for a moment, and now and then while
// it does not.
func (p *projector) later(l *live, durable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[l.key] = due{l, durable || p.waiting[l.key].durable}
	if p.closed {
		return
	}
	p.urgent = p.urgent || durable
	now := time.Now()
	if p.timer == nil {
		p.arm(now)
		return
	}
	if p.timer.Stop() {
		p.timer.Reset(p.delay(now))
	}
}

// arm has what waits written in a while; p.mu is held, and nothing is armed.
func (p *projector) arm(now time.Time) {
	p.latest = now.Add(p.every)
	if rested := p.ended.Add(share * p.cost); rested.After(p.latest) {
		p.latest = rested
	}
	p.busy.Add(1)
	p.timer = time.AfterFunc(p.delay(now), func() {
		defer p.busy.Done()
		p.flush()
	})
}

// delay returns how long the next writing waits.
func (p *projector) delay(now time.Time) time.Duration {
	if p.urgent {
		return 0
	}
	return max(0, min(p.every, p.latest.Sub(now)))
}

func (p *projector) drop(key state.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}

// take returns what is to be written now: of several runs the end of one does
// not hurry the others.
func (p *projector) take() (waiting map[state.Key]due, hurried bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, hurried = p.waiting, p.urgent && !p.closed
	p.waiting, p.timer, p.urgent = map[state.Key]due{}, nil, false
	if !hurried {
		return waiting, false
	}
	for key, each := range waiting {
		if !each.durable {
			p.waiting[key] = each
			delete(waiting, key)
		}
	}
	if len(p.waiting) > 0 {
		p.arm(time.Now())
	}
	return waiting, true
}

func (p *projector) flush() {
	waiting, hurried := p.take()
	began := time.Now()
	for key, each := range waiting {
		if err := p.write(each); err != nil {
			p.logger.Debug("the readable state was not written", "run", key.String(), "error", err)
		}
	}
	if hurried {
		return
	}
	p.mu.Lock()
	p.ended = time.Now()
	p.cost = p.ended.Sub(began)
	p.mu.Unlock()
}

func (p *projector) write(each due) error {
	l := each.run
	l.mu.Lock()
	if l.run == nil {
		l.mu.Unlock()
		return nil
	}
	copied := readable(l)
	l.mu.Unlock()
	snapshot, err := copied.encode()
	if err != nil {
		return err
	}
	return p.store.Project(context.Background(), l.key, snapshot, each.durable)
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
