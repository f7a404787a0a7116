package think

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// projector writes the readable state of runs behind the requests: the journal
// is the truth, so a lost projection loses nothing.
type projector struct {
	store  state.Store
	logger *slog.Logger
	every  time.Duration
	closed chan struct{}
	// room has statuses of long runs, to be written over: making room for them
	// takes longer than filling it, and the run is held meanwhile.
	room sync.Pool

	mu      sync.Mutex
	waiting map[state.Key]due
	// latest is the run of each workflow that moved last.
	latest map[string]string
	timer  *time.Timer
	busy   sync.WaitGroup
	// cost is how long the last writing took, and ended when.
	cost  time.Duration
	ended time.Time
	// urgent says that something durable waits, resting that nothing does but
	// what could not be written.
	urgent, resting bool
}

// due is a run whose readable state is to be written.
type due struct {
	run     *live
	durable bool
}

// longRun is the number of steps from which even a durable projection is
// written behind the request: it takes tens of milliseconds there.
const longRun = 500

// breath is the pause after each part of a long state. A step that comes while
// it is written meets a part of 0.2 ms, not the six milliseconds that 10,000
// steps take on one of two cores: of 10,000 steps without a pause one in a
// hundred would take more than three times as long as the others.
const breath = time.Millisecond

// rest is how long what could not be written waits, where no step comes.
const rest = time.Second

// writers is how many runs are written at once: each waits until the step of
// its run that is under way is durable, which takes long where many move.
const writers = 16

func newProjector(store state.Store, logger *slog.Logger, every time.Duration) *projector {
	return &projector{store: store, logger: logger, every: every, closed: make(chan struct{}), waiting: map[state.Key]due{}, latest: map[string]string{}}
}

// project writes a held run's readable state: at once where durable, behind
// the request else, or where the run is long.
func (e *Engine) project(l *live, durable bool) {
	if !durable || l.run.Size() > longRun {
		e.projects.later(l, durable)
		return
	}
	e.projects.moved(l.key)
	if err := e.Store.Project(context.Background(), l.key, snapshotOf(l), true); err != nil {
		e.projects.again(due{l, true}, err)
		e.Logger.Warn("the readable state was not written; the journal has all of it", "run", l.key.String(), "error", err)
	}
}

// snapshotOf returns the readable state of a held run.
func snapshotOf(l *live) state.Snapshot { return readable(l, nil).snapshot() }

// frozen is a run's state at one version, apart from the run.
type frozen struct {
	key     state.Key
	version int
	record  string
	whole   flow.Snapshot
}

// readable copies a held run's state, its steps into room; long values are named,
// not repeated: the journal and the artifacts have them.
func readable(l *live, room flow.Statuses) frozen {
	whole := l.run.SnapshotInto(room, maxVar)
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

// snapshot is the frozen state as a store takes it.
func (f frozen) snapshot() state.Snapshot {
	return state.Snapshot{Workflow: f.key.Workflow, Run: f.key.Run, Version: f.version, Status: string(f.whole.Status),
		Hash: f.whole.Hash, Record: f.record, WriteState: f.whole.WriteJSON}
}

// later has a run written soon.
func (p *projector) later(l *live, durable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest[l.key.Workflow] = l.key.Run
	p.waiting[l.key] = due{l, durable || p.waiting[l.key].durable}
	switch {
	case p.isClosed():
	case p.timer == nil:
		p.urgent = durable
		p.arm(time.Now())
	case (p.resting || durable && !p.urgent) && p.timer.Stop():
		p.urgent, p.resting = p.urgent || durable, false
		p.timer.Reset(p.delay(time.Now()))
	}
}

// again has a run written later that could not be, such as while a disk is full.
func (p *projector) again(each due, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := each.run.key
	if _, newer := p.waiting[key]; newer || p.isClosed() || !errors.Is(err, fault.StateNotSaved) {
		return
	}
	p.waiting[key] = each
	if p.timer == nil {
		p.resting = true
		p.armIn(rest)
	}
}

// moved notes that a run moved that is written at once.
func (p *projector) moved(key state.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest[key.Workflow] = key.Run
}

// passed says whether another run of the workflow has moved since.
func (p *projector) passed(key state.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest[key.Workflow] != key.Run
}

// waits says whether a run has moved since it was taken to be written.
func (p *projector) waits(key state.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waits := p.waiting[key]
	return waits
}

func (p *projector) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// arm has what waits written in a while; p.mu is held, and nothing is armed.
func (p *projector) arm(now time.Time) { p.armIn(p.delay(now)) }

func (p *projector) armIn(delay time.Duration) {
	p.busy.Add(1)
	p.timer = time.AfterFunc(delay, func() {
		defer p.busy.Done()
		p.flush()
	})
}

// delay returns how long the next writing waits: so long that it ends in time if
// it takes as long as the last one did, and that at most a third of the time
// goes by with writing, a quarter of that without a pause.
func (p *projector) delay(now time.Time) time.Duration {
	if p.urgent {
		return 0
	}
	const slack = 5 // a part of the time, for what may take longer
	return max(p.every-p.every/slack-p.cost, p.ended.Add(2*p.cost).Sub(now), 0)
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
	waiting, hurried = p.waiting, p.urgent && !p.isClosed()
	p.waiting, p.timer, p.urgent, p.resting = map[state.Key]due{}, nil, false, false
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
	var writing sync.WaitGroup
	slots := make(chan struct{}, writers)
	for key, each := range waiting {
		slots <- struct{}{}
		writing.Go(func() {
			defer func() { <-slots }()
			if err := p.write(each, breath/time.Duration(len(waiting))); err != nil {
				p.again(each, err)
				p.logger.Debug("the readable state was not written", "run", key.String(), "error", err)
			}
		})
	}
	writing.Wait()
	if hurried {
		return
	}
	p.mu.Lock()
	p.ended = time.Now()
	p.cost = p.ended.Sub(began)
	p.mu.Unlock()
}

// write writes a run, with pauses unless that is to be durable.
func (p *projector) write(each due, pause time.Duration) error {
	l := each.run
	var room flow.Statuses
	if free, ok := p.room.Get().(*flow.Statuses); ok {
		room = *free
	}
	l.mu.Lock()
	if l.run == nil {
		l.mu.Unlock()
		return nil
	}
	copied := readable(l, room)
	l.mu.Unlock()
	room = copied.whole.Steps
	defer p.room.Put(&room) // of the run nothing else is kept
	snapshot := copied.snapshot()
	snapshot.Passed = p.passed(l.key)
	if !each.durable && !p.isClosed() {
		late := func() bool { return p.waits(l.key) }
		snapshot.WriteState = func(out io.Writer) error {
			return copied.whole.WriteJSON(&unhurried{out: out, pause: pause, closed: p.closed, late: late})
		}
	}
	return p.store.Project(context.Background(), l.key, snapshot, each.durable)
}

// unhurried pauses between what is written to it. Once the projector is closed
// it does not, and gives up what a newer state follows at once.
type unhurried struct {
	out    io.Writer
	begun  bool
	pause  time.Duration
	closed <-chan struct{}
	late   func() bool
}

// shortestPause is what a timer can keep; below, there is none.
const shortestPause = 100 * time.Microsecond

func (u *unhurried) Write(part []byte) (int, error) {
	if u.begun && u.pause >= shortestPause {
		select {
		case <-u.closed:
		case <-time.After(u.pause):
		}
	}
	u.begun = true
	select {
	case <-u.closed:
		if u.late() {
			return 0, errLate
		}
	default:
	}
	return u.out.Write(part)
}

var errLate = errors.New("the program ends, and a newer state is to be written before")

// close writes what waits and returns when nothing is under way.
func (p *projector) close() {
	p.mu.Lock()
	if !p.isClosed() {
		close(p.closed)
	}
	if p.timer != nil && p.timer.Stop() {
		p.busy.Done()
	}
	p.mu.Unlock()
	p.busy.Wait()
	p.flush()
}
