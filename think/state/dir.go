package state

import (
	"context"
	"sync"
	"time"

	"savant/fault"
)

// Dir is the Store in a folder: .savant below SAVANT_PATH. Several processes
// may use one folder at once; a lock on each journal orders them.
type Dir struct {
	disk disk
	now  func() time.Time
	// endSweep gives up the sweep that Open begins and waits for its end.
	endSweep func()
	group    group
	recovery recovery

	mu     sync.Mutex // guards what follows
	runs   *lru[*journal]
	tips   *lru[tip]
	synced map[string]bool // folders whose entries are known to be durable
}

var _ Store = (*Dir)(nil)

// Options of Open; the zero value is right for a program.
type Options struct {
	// MaxOpen bounds the journals kept open between steps; 128 when zero.
	MaxOpen int
	// Now is the clock that stamps records; time.Now when nil.
	Now func() time.Time
}

// maxTips bounds the closed journals whose verified end is remembered: about
// 300 bytes each, and 8 more for every record. Beyond, a journal is
// verified anew when it is opened.
const maxTips = 16384

// Open returns the store of the folder SAVANT_PATH, which must exist. Nothing
// is written before there is something to keep.
func Open(savantPath string, options Options) (*Dir, error) {
	target, err := openDisk(savantPath)
	if err != nil {
		return nil, notRead("SAVANT_PATH", err)
	}
	d := newDir(target, options)
	ctx, cancel := context.WithTimeout(context.Background(), recoveryPatience)
	defer cancel()
	_ = d.recovered(ctx, Key{}) // who only reads goes on without, who writes is told
	d.group.resting = restingLog
	d.sweepLater()
	return d, nil
}

func newDir(target disk, options Options) *Dir {
	if options.MaxOpen <= 0 {
		options.MaxOpen = 128
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	d := &Dir{disk: target, now: options.Now, synced: map[string]bool{}, endSweep: func() {}}
	d.group.dir, d.group.fewest = d, fewestTogether
	d.tips = newLRU(maxTips, func(tip) bool { return false }, func(Key, tip) {})
	d.runs = newLRU(options.MaxOpen, func(j *journal) bool { return j.users > 0 }, d.retire)
	return d
}

// retire closes a journal nobody uses and remembers where it ended.
func (d *Dir) retire(key Key, j *journal) {
	j.close()
	if j.tip.doubt || j.tip.file.identity != (identity{}) {
		d.tips.put(key, j.tip)
	}
}

// Close implements Store. Calls still running end first.
func (d *Dir) Close() error {
	d.endSweep()
	d.mu.Lock()
	journals := d.runs.all()
	d.mu.Unlock()
	for _, j := range journals {
		<-j.turn
		j.close()
		j.turn <- struct{}{}
	}
	d.group.end()
	return d.disk.Close()
}

// take returns the journal of a run for the caller alone, within this process.
func (d *Dir) take(ctx context.Context, key Key) (*journal, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	j := d.enlist(key)
	select {
	case <-j.turn:
		return j, nil
	default:
	}
	select {
	case <-j.turn:
		return j, nil
	case <-ctx.Done():
		d.leave(j)
		return nil, interrupted(ctx, j.name)
	}
}

// enlist finds or makes the journal and keeps it from being retired.
func (d *Dir) enlist(key Key) *journal {
	d.mu.Lock()
	defer d.mu.Unlock()
	j, ok := d.runs.get(key)
	if ok {
		j.users++
		return j
	}
	known, _ := d.tips.get(key)
	d.tips.remove(key)
	j = newJournal(d, key, known)
	j.users++
	d.runs.put(key, j)
	return j
}

func (d *Dir) leave(j *journal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.users--
	d.runs.trim()
}

// give returns a journal that was taken.
func (d *Dir) give(j *journal) {
	j.turn <- struct{}{}
	d.leave(j)
}

// with runs work while the journal is taken, held and up to date.
func (d *Dir) with(ctx context.Context, key Key, wanted mode, work func(*journal) error) error {
	return d.withGathering(ctx, key, wanted, nil, work)
}

// withGathering is with that fills gather with all records, where it has to go
// over all of them.
func (d *Dir) withGathering(ctx context.Context, key Key, wanted mode, gather *records, work func(*journal) error) error {
	if wanted != reading {
		if err := d.recovered(ctx, key); err != nil {
			return err
		}
	}
	j, err := d.take(ctx, key)
	if err != nil {
		return err
	}
	defer d.give(j)
	j.gather = gather
	defer func() { j.gather = nil }()
	release, err := j.hold(ctx, wanted)
	if err != nil && wanted == reading {
		return toReader(j.name, err)
	}
	if err != nil {
		return err
	}
	defer release()
	if j.tip.Version == 0 && (wanted == reading || wanted == writing) {
		return unknownRun(key)
	}
	return work(j)
}

// Create implements Store.
func (d *Dir) Create(ctx context.Context, key Key, first Record) (Record, error) {
	if err := key.Validate(); err != nil {
		return Record{}, err
	}
	if first.Version != 1 {
		return Record{}, fault.New(fault.InvalidParams, "the first record of a run has version 1, not %d", first.Version)
	}
	first, line, err := seal(key, Link{}, first, d.now())
	if err != nil {
		return Record{}, err
	}
	folder := runsFolder(key.Workflow)
	if err := d.ensureFolder(folder); err != nil {
		return Record{}, err
	}
	err = d.with(ctx, key, creating, func(j *journal) error {
		if j.tip.Version > 0 {
			return runExists(key, j.tip.Version)
		}
		if err := d.sweep(key); err != nil {
			return err
		}
		// The name first: then the append alone decides, as for any record.
		// A journal without a record is no run.
		if err := d.disk.SyncFolder(folder); err != nil {
			return notSaved(j.name, err)
		}
		return j.append(Link{first.Version, first.Hash}, line)
	})
	if err != nil {
		return Record{}, err
	}
	return first, nil
}

// Append implements Store.
func (d *Dir) Append(ctx context.Context, key Key, next Record) (Record, error) {
	var sealed Record
	err := d.with(ctx, key, writing, func(j *journal) error {
		record, line, err := seal(key, j.tip.Link, next, d.now())
		if err != nil {
			return err
		}
		sealed = record
		return j.append(Link{record.Version, record.Hash}, line)
	})
	if err != nil {
		return Record{}, err
	}
	return sealed, nil
}

// Records implements Store.
func (d *Dir) Records(ctx context.Context, key Key, after, limit int) ([]Record, error) {
	gathered := &records{name: journalName(key)}
	err := d.withGathering(ctx, key, reading, gathered, func(j *journal) (err error) {
		if after > 0 || limit > 0 || len(gathered.list) != j.tip.Version {
			gathered.list, err = j.records(after, limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return gathered.list, nil
}

// Head implements Store.
func (d *Dir) Head(ctx context.Context, key Key) (version int, hash string, err error) {
	j, err := d.take(ctx, key)
	if err != nil {
		return 0, "", err
	}
	now, err := d.disk.Stat(j.name)
	last, fresh := j.tip.Link, err == nil && j.tip.fresh(now)
	d.give(j)
	if fresh {
		return last.Version, last.Hash, nil
	}
	err = d.with(ctx, key, reading, func(j *journal) error {
		version, hash = j.tip.Version, j.tip.Hash
		return nil
	})
	return version, hash, err
}
