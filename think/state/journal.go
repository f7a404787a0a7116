package state

import (
	"context"
	"os"
	"sync"
	"time"

	"savant/fault"
)

// journal is one run's journal as this process knows it. Between steps it
// keeps the file open and remembers where it ends, so that a step reads
// nothing: a stat tells whether another process was there.
type journal struct {
	key   Key
	name  string
	disk  disk
	group *group
	// turn holds a token; who takes it out may use what follows.
	turn chan struct{}
	// users counts who has the journal or waits for it; the Dir's to guard.
	users    int
	file     file // nil while closed
	opened   identity
	writable bool
	tip      tip
	page     page
	// gather is what its holder wants of the journal beside its end: where all
	// of it has to be verified, it is read on the way.
	gather *records
}

// tip is the verified end of a journal and the file as it was then.
type tip struct {
	chain
	file stat
	// settled says that this process made the last record durable itself.
	settled bool
	// doubt says that a sync failed and left something behind: it has to be
	// settled before anyone is told of it.
	doubt bool
}

// fresh reports whether a file is as it was at the tip.
func (t tip) fresh(now stat) bool {
	return t.Version > 0 && t.end == now.size && t.file.same(now)
}

func (s stat) same(other stat) bool {
	return s.identity == other.identity && s.size == other.size && s.modified.Equal(other.modified)
}

// page orders the projections of a run within this process.
type page struct {
	sync.Mutex
	// version of the newest snapshot projected, of the journal that is file.
	version int
	file    identity
}

func newJournal(d *Dir, key Key, known tip) *journal {
	j := &journal{key: key, name: journalName(key), disk: d.disk, group: &d.group, turn: make(chan struct{}, 1), tip: known}
	j.turn <- struct{}{}
	return j
}

// mode is what the holder of a journal wants to do.
type mode int

const (
	reading mode = iota
	writing
	creating // as writing, and the file need not be there
	moving   // as writing, whatever the file holds
)

func (m mode) flags() int {
	switch m {
	case reading:
		return os.O_RDONLY
	case creating:
		return os.O_RDWR | os.O_CREATE
	default:
		return os.O_RDWR
	}
}

// hold locks the file of the run against other processes, opening it where
// needed, and brings the tip up to date, but for moving. The caller has the
// turn, and releases.
func (j *journal) hold(ctx context.Context, wanted mode) (release func(), err error) {
	if j.tip.doubt && wanted == reading {
		wanted = writing
	}
	for {
		if err := j.open(wanted); err != nil {
			return nil, err
		}
		if err := lock(ctx, j.name, j.file, wanted != reading); err != nil {
			j.close()
			return nil, err
		}
		now, err := j.disk.Stat(j.name)
		if err == nil && now.identity == j.opened {
			err = j.refresh(wanted, now)
		} else if err == nil || missing(err) {
			j.close() // deleted or replaced since it was opened
			continue
		} else {
			err = notRead(j.name, err)
		}
		if err != nil {
			j.close() // and with it the lock
			return nil, err
		}
		return j.release, nil
	}
}

func (j *journal) open(wanted mode) error {
	if j.file != nil && (j.writable || wanted == reading) {
		return nil
	}
	j.close()
	opened, info, err := openFile(j.disk, j.name, wanted.flags())
	switch {
	case err == nil:
		j.file, j.opened, j.writable = opened, info.identity, wanted != reading
		return nil
	case missing(err) && wanted != creating:
		j.tip = tip{}
		return unknownRun(j.key)
	case wanted == reading:
		return notRead(j.name, err)
	default:
		return notSaved(j.name, err)
	}
}

func (j *journal) release() {
	if j.file != nil && j.file.Unlock() != nil {
		j.close() // which unlocks
	}
}

// close lets go of the file. Nothing unsaved is in it, so its error is of no
// consequence.
func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}

// lock waits for the lock of a file. It asks again and again, since a lock
// that the system waits for could not be given up when ctx ends.
func lock(ctx context.Context, name string, target file, exclusive bool) error {
	const longest = 2 * time.Millisecond
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, longest) {
		got, err := target.TryLock(exclusive)
		if err != nil {
			return notSaved(name, err)
		}
		if got {
			return nil
		}
		select {
		case <-ctx.Done():
			return interrupted(ctx, name)
		case <-time.After(pause):
		}
	}
}

func interrupted(ctx context.Context, name string) error {
	return fault.New(fault.Internal, "gave up waiting for %s: %w", name, context.Cause(ctx))
}

// refresh reads what the file has that the tip does not know, and makes it
// durable: another process may have been killed between write and sync, and
// what is told to anyone from here on has to last. The caller has the lock.
func (j *journal) refresh(wanted mode, now stat) error {
	if wanted == moving {
		return nil
	}
	fresh := j.tip.fresh(now)
	if !fresh {
		if err := j.catchUp(now); err != nil {
			return err
		}
	}
	if wanted != reading {
		return j.settle()
	}
	if fresh || now.size == 0 {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return j.distrust(err)
	}
	return nil
}

// distrust forgets what is known of a file that could not be synced. Who calls
// closes it.
func (j *journal) distrust(err error) error {
	j.group.distrust()
	j.tip = tip{doubt: true}
	return notSaved(j.name, err)
}

// catchUp moves the tip to the end of the file.
func (j *journal) catchUp(now stat) error {
	known := j.tip.file.identity == now.identity
	from := chain{}
	if known && now.size > j.tip.file.size {
		from = j.tip.chain // only grown: what was verified stays so
	}
	found, err := j.scan(from, now.size)
	if err != nil {
		return err
	}
	if known && found.Version < j.tip.Version {
		return corrupt(j.name, "ends after record %d, though record %d was acknowledged", found.Version, j.tip.Version)
	}
	if !known {
		if err := j.shortened(found, now.size); err != nil {
			return err
		}
	}
	j.tip = tip{chain: found, file: now, doubt: j.tip.doubt}
	return nil
}

// shortened returns STATE_CORRUPT where the run's readable file stands for a
// record that the journal no longer has: one cut between two records is whole
// by itself. With the journal locked no projection can be ahead of it. Only
// the head of the readable file is read, unless it says so. An empty journal
// may be what a crash left of a Create over a run that was being deleted.
func (j *journal) shortened(found chain, size int64) error {
	name := snapshotName(j.key)
	if head, err := readHead(j.disk, name); err != nil || head.Version <= found.Version || size == 0 {
		return nil
	}
	snapshot, err := readSnapshot(j.disk, name, j.key)
	if err != nil || snapshot.Version <= found.Version {
		return nil // what is damaged tells nothing of the journal
	}
	return corrupt(j.name, "ends after record %d, but %s stands for record %d", found.Version, name, snapshot.Version)
}

func (j *journal) scan(from chain, size int64) (chain, error) {
	s := scanner{name: j.name, key: j.key, file: j.file, size: size}
	s.visit = func(Link, []byte) error { return nil }
	if j.gather != nil && from.Version == 0 {
		j.gather.list = []Record{}
		s.visit = j.gather.add
	}
	return s.scan(from, true)
}
