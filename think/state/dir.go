package state

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Dir is the store in a folder: .savant below SAVANT_PATH. Several processes may use
// one folder concurrently; a lock on each journal serializes them.
type Dir struct {
	disk    disk
	options Options
	// endGC stops the garbage collection that Open begins, and waits for it.
	endGC func()

	mu     sync.Mutex // guards what follows
	runs   map[Key]*runJournal
	uses   int             // counts uses of journals
	synced map[string]bool // folders whose entries are known to be durable
	// listings caches the last listing of each workflow, by run.
	listings map[string]map[string]listed
}

var _ Backend = (*Dir)(nil)

// Options of Open; the zero value is right for a program.
type Options struct {
	// MaxOpen bounds the journals kept open between steps; 256 when zero. A
	// journal beyond is verified anew when it is used again.
	MaxOpen int
	// Now is the clock that stamps records; time.Now when nil.
	Now func() time.Time
}

// Open returns the store of the folder SAVANT_PATH, which must exist. It writes
// nothing.
func Open(savantPath string, options Options) (*Dir, error) {
	target, err := openDisk(savantPath)
	if err != nil {
		return nil, notRead("SAVANT_PATH", err)
	}
	d := newDir(target, options)
	d.gcLater()
	return d, nil
}

func newDir(target disk, options Options) *Dir {
	if options.Now == nil {
		options.Now = time.Now
	}
	options.MaxOpen = cmp.Or(options.MaxOpen, 256)
	return &Dir{disk: target, options: options, runs: map[Key]*runJournal{}, synced: map[string]bool{}, listings: map[string]map[string]listed{}, endGC: func() {}}
}

// Close closes the files of the store, after the calls that still run. What was
// acknowledged is durable already.
func (d *Dir) Close() error {
	d.endGC()
	d.mu.Lock()
	journals := slices.Collect(maps.Values(d.runs))
	d.mu.Unlock()
	for _, j := range journals {
		<-j.turn
		j.close()
		j.turn <- struct{}{}
	}
	return d.disk.Close()
}

// take returns the journal of a run for the caller alone, within this process.
func (d *Dir) take(ctx context.Context, key Key) (*runJournal, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	j := d.use(key)
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

// use finds or makes the journal of a run and keeps it until leave.
func (d *Dir) use(key Key) *runJournal {
	d.mu.Lock()
	defer d.mu.Unlock()
	j, ok := d.runs[key]
	if !ok {
		j = newJournal(d.disk, key)
		d.runs[key] = j
	}
	d.uses++
	j.users, j.used = j.users+1, d.uses
	return j
}

// leave ends a use. Beyond the limit it closes the journal used longest ago,
// but none with an unsynced record, which the next use has to recover.
func (d *Dir) leave(j *runJournal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.users--
	if len(d.runs) <= d.options.MaxOpen {
		return
	}
	var oldest *runJournal
	for _, each := range d.runs {
		if each.users == 0 && !each.verified.unsynced && (oldest == nil || each.used < oldest.used) {
			oldest = each
		}
	}
	if oldest != nil {
		oldest.close()
		delete(d.runs, oldest.key)
	}
}

// with runs work while the journal is taken, held and up to date.
func (d *Dir) with(ctx context.Context, key Key, wanted mode, work func(*runJournal) error) error {
	j, err := d.take(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		j.turn <- struct{}{}
		d.leave(j)
	}()
	release, err := j.hold(ctx, wanted)
	if err != nil && wanted.reads() {
		return toReader(j.name, err)
	}
	if err != nil {
		return err
	}
	defer release()
	if len(j.verified.chain) == 0 && (wanted.reads() || wanted == writing) {
		return unknownRun(key)
	}
	return work(j)
}

// Append implements Journal.
func (d *Dir) Append(ctx context.Context, key Key, record Record) (Record, error) {
	if record.Version == 1 {
		return d.begin(ctx, key, record)
	}
	err := d.with(ctx, key, writing, func(j *runJournal) error {
		sealed, line, err := Seal(key, j.verified.link(), record, d.options.Now())
		if err != nil {
			return err
		}
		if err := d.markOrigin(ctx, j); err != nil {
			return err
		}
		record = sealed
		return j.append(record.Hash, line)
	})
	if err != nil {
		return Record{}, err
	}
	return record, nil
}

// begin creates a run with its first record.
func (d *Dir) begin(ctx context.Context, key Key, first Record) (Record, error) {
	if err := key.Validate(); err != nil {
		return Record{}, err
	}
	first, line, err := Seal(key, Link{}, first, d.options.Now())
	if err != nil {
		return Record{}, err
	}
	folder := runsFolder(key.Workflow)
	if err := d.ensureFolder(folder); err != nil {
		return Record{}, err
	}
	err = d.with(ctx, key, creating, func(j *runJournal) error {
		if version := len(j.verified.chain); version > 0 {
			return runExists(key, version)
		}
		if err := d.trashRemains(key); err != nil {
			return err
		}
		// The name becomes durable first. Then the append alone decides, as for
		// any record: a journal without a record is no run.
		if err := d.disk.SyncFolder(folder); err != nil {
			return notSaved(j.name, err)
		}
		return j.append(first.Hash, line)
	})
	if err != nil {
		return Record{}, err
	}
	return first, nil
}

// Records implements Journal.
func (d *Dir) Records(ctx context.Context, key Key, after, limit int) ([]Record, error) {
	var found []Record
	err := d.with(ctx, key, replaying, func(j *runJournal) error {
		count := len(j.verified.chain) - max(after, 0)
		if limit > 0 {
			count = min(count, limit)
		}
		found = make([]Record, 0, max(count, 0))
		return j.replay(after, limit, func(link Link, line []byte) error {
			record, err := recordOf(line)
			if err != nil {
				return corruptRecord(j.name, link.Version, "is not JSON")
			}
			// The same texts as those in the chain, to save memory.
			record.Prev, record.Hash = j.verified.hashOf(link.Version-1), j.verified.hashOf(link.Version)
			found = append(found, record)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Head implements Journal.
func (d *Dir) Head(ctx context.Context, key Key) (version int, hash string, err error) {
	err = d.with(ctx, key, reading, func(j *runJournal) error {
		last := j.verified.link()
		version, hash = last.Version, last.Hash
		return nil
	})
	return version, hash, err
}

// ensureFolder makes a folder and those above it, durably.
func (d *Dir) ensureFolder(folder string) error {
	d.mu.Lock()
	known := d.synced[folder]
	d.mu.Unlock()
	if _, err := d.disk.Stat(folder); known && err == nil {
		return nil
	}
	made := "."
	for part := range strings.SplitSeq(folder, "/") {
		above := made
		made = path.Join(made, part)
		if err := d.disk.Mkdir(made); err != nil && !exists(err) {
			return notSaved(made, err)
		}
		// Also if it exists: who made it may have died before the sync.
		if err := d.disk.SyncFolder(above); err != nil {
			return notSaved(made, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced[folder] = true
	return nil
}
